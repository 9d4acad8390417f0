/**
 * One account's rows under another account's path: no page shows them, no form changes them.
 *
 * Goes through every page there is, so that a new one is asked too: a page with an id that this file does not know fails.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { PAGES } from '../../../src/dashboard/pages/routes.ts';
import { createAccount } from '../../../src/flow/accounts/accounts.ts';
import { addEndpoint } from '../../../src/flow/webhooks/endpoints.ts';
import { addSuppression } from '../../../src/flow/suppressions/suppressions.ts';
import { newId } from '../../rig/ids.ts';
import { type DashboardRig, startDashboardRig } from '../dashboard-rig.ts';

/** In every text of the first account. */
const MARK = 'first-account-only';

let rig: DashboardRig;
let other: string;
/** Ids of the first account's objects, by the segment before the id. */
const ids = new Map<string, string>();
beforeAll(async () => {
  rig = await startDashboardRig({ config: '[webhooks]\nallow_networks = ["127.0.0.0/8"]\n' });
  const { ctx } = rig.rig.appliance;
  const account = rig.rig.account;
  other = (await createAccount(ctx, { name: 'other' })).id;
  const [domain] = await ctx.store.domains(account);
  const [key] = await ctx.store.keys(account);
  const url = `https://127.0.0.1/${MARK}`;
  const { endpoint } = await addEndpoint(ctx, account, { url, events: ['email.complained'] });
  const attempt = newId(Date.now());
  await ctx.store.recordTestCall({
    id: attempt,
    callId: null,
    endpointId: endpoint.id,
    eventType: MARK,
    messageId: null,
    attempt: 1,
    statusCode: 500,
    ok: false,
    error: MARK,
    durationMs: 1,
    createdAt: Date.now(),
  });
  await addSuppression(ctx, account, { email: `${MARK}@receiver.example` });
  const email = await rig.send({
    from: 'a@sender.example',
    to: 'delivered@sandbox.test',
    subject: MARK,
    text: MARK,
  });
  const log = (await ctx.store.message(account, email))?.logId ?? '';
  while ((await ctx.store.log(account, log)) === null) await Bun.sleep(5);
  for (const [name, id] of Object.entries({
    domains: domain?.id,
    keys: key?.id,
    webhooks: endpoint.id,
    attempts: attempt,
    emails: email,
    logs: log,
  })) {
    ids.set(name, id ?? '');
  }
});
afterAll(() => rig.stop());

/** The path of a page in the other account, with the first account's ids. */
function foreignPath(pattern: string): string {
  const parts = pattern.split('/');
  return parts
    .map((part, at) => {
      if (part === ':account') return other;
      if (!part.startsWith(':')) return part;
      const id = ids.get(parts[at - 1] ?? '');
      // A number counts attachments and the like below an object, which is refused before.
      return id ?? (/^:(at|number|index)$/.test(part) ? '0' : expect.unreachable(pattern));
    })
    .join('/');
}

const ofAccounts = PAGES.filter(({ path }) => path.startsWith('/accounts/:account'));

test.each(ofAccounts.filter(({ method }) => method === 'GET').map(({ path }) => path))(
  '%s shows nothing of another account',
  async (pattern) => {
    const { status, text } = await rig.visit(foreignPath(pattern));
    if (/:(?!account)/.test(pattern)) expect(status).toBe(404);
    expect(text).not.toContain(MARK);
    expect(text).not.toContain('sender.example');
  },
);

test('no form changes anything of another account', async () => {
  const { store } = rig.rig.appliance.ctx;
  const account = rig.rig.account;
  const state = async (): Promise<unknown> => [
    await store.domains(account),
    (await store.keys(account)).map(({ id, name, revokedAt }) => [id, name, revokedAt]),
    await store.endpoints(account),
    await store.suppressions(account, null, { limit: 100, after: null, before: null }),
    await store.account(account),
    await store.nextDkimKey(ids.get('domains') ?? ''),
    await store.openCalls(),
    (await store.emailsByPage(account, 1, 100)).length,
  ];
  const before = await state();
  const fields = {
    email: `${MARK}@receiver.example`,
    to: 'me@receiver.example',
    endpoint: 'https://127.0.0.1/changed',
    events: 'email.sent',
    name: 'changed',
    event_id: newId(Date.now()),
    hours: '24',
  };
  for (const { path: pattern } of ofAccounts.filter(({ method }) => method === 'POST')) {
    const answer = await rig.submit(foreignPath(pattern), fields);
    expect([pattern, answer.text.includes(MARK)]).toEqual([pattern, false]);
    if (/:(?!account)/.test(pattern)) expect([pattern, answer.status]).toEqual([pattern, 404]);
  }
  expect(await state()).toEqual(before);
});
