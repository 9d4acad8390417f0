/**
 * Stories of webhook calls: what an endpoint answers, and everything that it leaves behind, as it stands in stories.txt.
 *
 *   bun test/flow/webhooks/stories.ts
 *
 * writes stories.txt anew.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { ApiError } from '../../../src/base/errors.ts';
import { removeEndpoint, rotateEndpointSecret } from '../../../src/flow/webhooks/endpoints.ts';
import { replayCalls } from '../../../src/flow/webhooks/dispatcher.ts';
import type { Endpoint } from '../../../src/store/rows.ts';
import { TestClock } from '../../rig/clock.ts';
import { startHook } from '../../rig/hook.ts';
import type { Hook, HookAnswer } from '../../rig/hook.ts';
import { StoryText } from '../story-text.ts';
import { startWebhookRig } from './webhook-rig.ts';
import type { WebhookRig } from './webhook-rig.ts';

export const STORIES_FILE = join(import.meta.dir, 'stories.txt');

interface Teller {
  rig: WebhookRig;
  hook: Hook;
  clock: TestClock;
  endpoint: Endpoint;
  /** Lets one event happen and its call be attempted. */
  happen: () => Promise<void>;
  /** Lets time pass until the next attempt has ended. */
  next: () => Promise<void>;
  /** Writes down what a `webhook.test` returns. */
  test: (id: string) => Promise<void>;
}

/** One call, which gets this answer. */
const answered =
  (answer: HookAnswer) =>
  async ({ hook, happen }: Teller): Promise<void> => {
    hook.script.answer = () => answer;
    await happen();
  };

export const STORIES: Readonly<Record<string, (teller: Teller) => Promise<void>>> = {
  'taken with 200 and a body': answered({ status: 200, body: 'thank you' }),
  'taken with 204': answered({ status: 204 }),
  'a redirect': answered({ status: 302, headers: { location: 'https://elsewhere.example/' } }),
  'refused with 400': answered({ status: 400, body: '{"error":"no"}' }),
  'gone with 410': answered({ status: 410 }),
  'busy with 429 and Retry-After in seconds': answered({
    status: 429,
    headers: { 'retry-after': '600' },
  }),
  'busy with 503 and Retry-After as a date': answered({
    status: 503,
    headers: { 'retry-after': 'Thu, 15 Jan 2026 14:00:00 GMT' },
  }),
  'closed without an answer': answered('drop'),
  'failed, and taken when it is posted again': async ({ hook, happen, next }) => {
    hook.script.answer = () => ({ status: 500 });
    await happen();
    await next();
    hook.script.answer = () => ({ status: 200 });
    await next();
  },
  'failed until it is given up, then opened again': async (teller) => {
    const { rig, hook, endpoint, happen, next } = teller;
    hook.script.answer = () => ({ status: 500 });
    await happen();
    for (let attempt = 2; attempt <= 10; attempt += 1) await next();
    hook.script.answer = () => ({ status: 200 });
    const ended = rig.ended.items.length;
    const { ctx, dispatcher, accountId } = rig;
    await replayCalls(ctx, dispatcher, accountId, endpoint.id, { failedSince: 0 });
    await rig.ended.atLeast(ended + 1);
  },
  'a test, and a test of an endpoint that is not there': async ({ hook, endpoint, test }) => {
    hook.script.answer = () => ({ status: 418, body: 'teapot' });
    await test(endpoint.id);
    await test('01913c7e-89ab-7cde-8f01-23456789abce');
  },
  'the secret is rotated: both sign for a day': async ({ rig, clock, endpoint, happen }) => {
    await rotateEndpointSecret(rig.ctx, rig.dispatcher, rig.accountId, endpoint.id);
    await happen();
    await clock.advance(24 * 3_600_000);
    await happen();
  },
  'removed while a call waits for its next attempt': async ({
    rig,
    hook,
    clock,
    endpoint,
    happen,
  }) => {
    hook.script.answer = () => ({ status: 500 });
    await happen();
    await removeEndpoint(rig.ctx, rig.dispatcher, rig.accountId, endpoint.id);
    await clock.advance(3_600_000);
  },
};

/** One story, told on a store and an endpoint of its own. */
export async function tell(name: string): Promise<string> {
  const clock = new TestClock();
  const rig = await startWebhookRig({ clock, dispatcher: { random: () => 0.5 } });
  const hook = await startHook();
  const text = new StoryText();
  const story = STORIES[name];
  if (story === undefined) throw new Error(`there is no story ${name}`);
  try {
    const { endpoint } = await rig.endpoint(hook.url);
    await story({
      rig,
      hook,
      clock,
      endpoint,
      async happen() {
        const ended = rig.ended.items.length;
        await rig.happen(1);
        await rig.ended.atLeast(ended + 1);
      },
      async next() {
        const ended = rig.ended.items.length;
        const due = rig.ended.items.at(-1)?.nextAttemptAt;
        if (due === null || due === undefined) throw new Error('there is no further attempt');
        await clock.advance(due - clock.now());
        await rig.ended.atLeast(ended + 1);
      },
      async test(id) {
        try {
          text.add('test', await rig.dispatcher.test(rig.accountId, id));
        } catch (error) {
          if (!(error instanceof ApiError)) throw error;
          text.add('test', [error.code, error.status, error.message]);
        }
      },
    });
    text.add('heard', hook.calls.items.map(heard));
    text.add('ended', rig.ended.items);
    const { store, metrics } = rig.ctx;
    const endpoints = await store.endpoints(rig.accountId);
    for (const { sealedSecret: _, sealedPreviousSecret, ...row } of endpoints) {
      text.add('endpoint', { ...row, hasPreviousSecret: sealedPreviousSecret !== null });
      const page = { limit: 20, after: null, before: null };
      text.add('listed', (await store.callAttempts(row.id, page)).rows);
    }
    const logged = rig.logLines.map((line) => JSON.parse(line) as Record<string, unknown>);
    // The log of the rig has the time of the machine.
    text.add(
      'log',
      logged.map((line) => ({ ...line, time: undefined })),
    );
    const counted = (await metrics.render()).split('\n');
    text.add(
      'metrics',
      counted.filter((line) => /^postrider_webhook_\w+_count/.test(line)),
    );
  } finally {
    await rig.stop();
    await hook.stop();
  }
  const told = text
    .toString()
    .replaceAll(/("(?:durationMs|duration_ms)":)[\d.]+/g, '$1…')
    .replaceAll(hook.url, 'https://hook.rig.test/hook')
    .replaceAll(`hook.rig.test:${hook.port}`, 'hook.rig.test');
  return `> ${name}\n${told}`;
}

/** A post as the endpoint gets it, without what no two runs have in common. */
function heard({ method, path, headers, body }: Hook['calls']['items'][number]): unknown {
  const shown = Object.entries(headers).map(([name, value]) => {
    const isSignature = name.endsWith('-signature');
    return [name, isSignature ? String(value).replaceAll(/[\w+/=]{40,}/g, '…') : value] as const;
  });
  return { method, path, headers: Object.fromEntries(shown), body };
}

if (import.meta.main) {
  const told: string[] = [];
  for (const name of Object.keys(STORIES)) told.push(await tell(name));
  writeFileSync(STORIES_FILE, told.join('\n'));
}
