/** The handlers of the sends, called by themselves: what they give to the log, and what files by link may cost. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';

import { batchRoutes } from '../../../src/api/routes/batch.ts';
import { emailRoutes } from '../../../src/api/routes/emails.ts';
import { olderEmailRoutes } from '../../../src/api/routes/older-emails.ts';
import type { Call, Route, RouteResult } from '../../../src/api/routes/route.ts';
import { ApiError } from '../../../src/base/errors.ts';
import { planOf } from '../../../src/flow/accounts/plans.ts';
import { GuardedAgent } from '../../../src/wire/https/guarded-agent.ts';
import { parseNetworks } from '../../../src/wire/addresses/networks.ts';
import type { Account } from '../../../src/store/rows.ts';
import { testAuthority } from '../../rig/certificates.ts';
import { openBench, type Bench } from '../bench.ts';

const EMAIL = { from: 'a@own.example', to: 'b@example.net', subject: 's', text: 't' };
const certificate = testAuthority().issue(['files.rig.test']);
const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  tls: { key: certificate.key, cert: certificate.cert },
  fetch: () => new Response('the report'),
});

let bench: Bench;
let account: Account;
let agent: GuardedAgent;

beforeAll(async () => {
  bench = await openBench({ toml: '[api]\nsingle_send = "full"' });
  account = await bench.account('handlers', 'fast');
  await bench.domain(account, 'own.example');
  await bench.key(account);
  agent = new GuardedAgent({
    resolver: bench.ctx.resolver,
    allowNetworks: parseNetworks(['127.0.0.0/8']),
    ca: [testAuthority().cert],
  });
});
afterAll(async () => {
  agent.destroy();
  await server.stop(true);
  await bench.close();
});

const routeOf = (routes: readonly Route[], path: string): Route => {
  const route = routes.find((one) => one.method === 'POST' && one.path === path);
  if (route === undefined) throw new Error(`no route ${path}`);
  return route;
};

interface Options {
  headers?: Record<string, string>;
  attachmentBytes?: number;
  takes?: (bytes: number) => boolean;
}

/** The result of the handler of `path`, as the responder would call it. */
async function handle(path: string, value: unknown, options: Options = {}): Promise<RouteResult> {
  const route = routeOf([...emailRoutes, ...batchRoutes, ...olderEmailRoutes], path);
  const { ctx } = bench;
  const [key] = await ctx.store.keys(account.id);
  const plan = {
    ...planOf(ctx.config.live.plans, account),
    ...(options.attachmentBytes !== undefined && { attachmentBytes: options.attachmentBytes }),
  };
  const call = {
    api: {
      ctx,
      engines: { queue: { offerAccepted: () => 0, offerCalls: () => undefined } },
      agent,
    },
    identity: { account, key, plan },
    requestId: '01913c7e-89ab-7cde-8f01-23456789abcd',
    headers: new Headers(options.headers),
    params: {},
    query: undefined,
    body: route.body?.read(value, ctx.config),
    bodyHash: () => createHash('sha256').update(JSON.stringify(value)).digest('hex'),
    takes: options.takes ?? (() => true),
  } as unknown as Call;
  return route.handle(call);
}

const idsIn = (result: RouteResult): string[] =>
  Array.from(JSON.stringify(result.body).matchAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g), ([id]) => id);

test.each(['/emails', '/email', '/email/send'])(
  '%s names its message, and the content that the message keeps',
  async (path) => {
    const result = await handle(path, EMAIL);
    const [id] = idsIn(result);
    expect(Object.keys(result).toSorted()).toEqual(['body', 'content', 'messageId', 'status']);
    expect([result.status, result.messageId]).toEqual([path === '/email/send' ? 202 : 200, id]);
    expect(result.content).toMatchObject({ html: null, text: 't' });
  },
);

test('a batch names its first message, and content where it is one email alone', async () => {
  const permissive = { headers: { 'x-batch-validation': 'permissive' } };
  const bad = { ...EMAIL, to: 'nobody' };
  const keys = async (body: unknown, options?: Options): Promise<[string[], boolean]> => {
    const result = await handle('/emails/batch', body, options);
    return [Object.keys(result).toSorted(), result.messageId === idsIn(result)[0]];
  };
  expect(await keys([EMAIL])).toEqual([['body', 'content', 'messageId', 'status'], true]);
  expect(await keys([EMAIL, EMAIL])).toEqual([['body', 'messageId', 'status'], true]);
  expect(await keys([bad, EMAIL], permissive)).toEqual([['body', 'messageId', 'status'], true]);
  expect(await keys([bad], permissive)).toEqual([['body', 'status'], true]);
});

test('a repetition names no message, and says that it is one', async () => {
  const headers = { 'idempotency-key': 'again' };
  const first = await handle('/emails', EMAIL, { headers });
  const again = await handle('/emails', EMAIL, { headers });
  expect([first.headers, again.headers]).toEqual([undefined, { 'Idempotent-Replayed': 'true' }]);
  expect([again.status, again.body, again.messageId]).toEqual([200, first.body, undefined]);
});

test('files by link are fetched within the plan and the memory of the request', async () => {
  const path = `https://files.rig.test:${server.port}/report.pdf`;
  const email = { ...EMAIL, attachments: [{ path }] };
  const refusal = async (options: Options): Promise<string> => {
    const error: unknown = await handle('/emails', email, options).catch(
      (thrown: unknown) => thrown,
    );
    return error instanceof ApiError ? `${error.code} ${error.errorName}` : 'sent';
  };
  const taken: number[] = [];
  const takes = (bytes: number): boolean => taken.push(bytes) > 0;
  expect(await refusal({ attachmentBytes: 10, takes })).toBe('sent');
  expect(taken).toEqual([10]);
  expect(await refusal({ attachmentBytes: 9 })).toBe('validation_failed invalid_attachment');
  expect(await refusal({ takes: () => false })).toBe('platform_halted application_error');
});
