/** The steps of a request in their order: which of two faults refuses it, what it spends, and what is noted of it. */
import { afterAll, beforeAll, beforeEach, expect, spyOn, test } from 'bun:test';

import type { Account } from '../../src/store/rows.ts';
import { TestClock } from '../rig/clock.ts';
import { openBench, type Ask, type Bench } from './bench.ts';

const UNKNOWN = '01913c7e-89ab-7cde-8f01-23456789abcd';
const EMAIL = { from: 'a@own.example', to: 'b@example.net', subject: 's', text: 't' };
const TOO_LONG = { 'content-length': '14680065' };

const clock = new TestClock();
let bench: Bench;
let account: Account;
let spent: Account;
let keys: Record<string, string | null>;

beforeAll(async () => {
  bench = await openBench({
    clock,
    toml: `
[[plans]]
id = "narrow"
writes_per_minute = 1
rate_per_second = 1`,
  });
  account = await bench.account('steps', 'fast');
  await bench.domain(account, 'own.example');
  spent = await bench.account('spent', 'narrow');
  await bench.domain(spent, 'own.example');
  keys = {
    full: await bench.key(account),
    sending: await bench.key(account, 'sending_access'),
    sandbox: await bench.key(account, 'full_access', true),
    sendingSandbox: await bench.key(account, 'sending_access', true),
    spent: await bench.key(spent),
    spentSandbox: await bench.key(spent, 'full_access', true),
    none: null,
    wrong: 'pr_live_x',
  };
});
afterAll(() => bench.close());

beforeEach(async () => {
  // Nothing is left to the narrow plan.
  const body = { name: 'x' };
  await clock.advance(60_000);
  for (const key of [keys['spent'], keys['spentSandbox']]) {
    await bench.ask({ path: '/api-keys', key: key ?? null, body });
    const sent = { ...EMAIL, to: 'delivered@sandbox.test' };
    expect((await bench.ask({ path: '/emails', key: key ?? null, body: sent })).status).toBe(200);
  }
});

const RATE = 'ratelimit-remaining';

/** Whose key, the request, the code of its refusal, and what the rate headers say is left. */
const ROWS: [who: string, what: Ask, code: string, left: string | null][] = [
  ['none', { path: '/domains', raw: '{}', headers: TOO_LONG }, 'payload_too_large', null],
  ['wrong', { path: '/domains', raw: '{' }, 'unauthorized', null],
  ['sending', { path: '/domains', raw: '{}', headers: TOO_LONG }, 'payload_too_large', null],
  ['sending', { path: '/domains', raw: '{' }, 'forbidden', null],
  ['sandbox', { path: '/domains', raw: '{' }, 'forbidden', '59'],
  ['sandbox', { path: `/domains/${UNKNOWN}/verify`, method: 'POST' }, 'not_found', '59'],
  // What a key may not ask for is neither looked for nor counted.
  ['sendingSandbox', { path: `/domains/${UNKNOWN}/verify`, method: 'POST' }, 'forbidden', null],
  ['sending', { path: `/domains/${UNKNOWN}` }, 'forbidden', null],
  ['spent', { path: `/domains/${UNKNOWN}/verify`, method: 'POST' }, 'rate_limited', '0'],
  ['spentSandbox', { path: `/webhooks/${UNKNOWN}/test`, method: 'POST' }, 'rate_limited', '0'],
  ['spent', { path: '/domains', raw: '{' }, 'rate_limited', '0'],
  ['spent', { path: '/emails', raw: '{' }, 'rate_limited', '0'],
  ['spentSandbox', { path: '/domains', raw: '{' }, 'rate_limited', '0'],
  ['full', { path: '/domains', raw: '{' }, 'validation_failed', '59'],
  ['full', { path: '/emails?limit=0' }, 'validation_failed', '99999'],
  ['full', { path: '/emails', raw: '{' }, 'validation_failed', '99999'],
  ['none', { path: '/emails/x/attachments/y/content' }, 'validation_failed', null],
];

test.each(ROWS)('%s asks %j: %s, %p left', async (who, what, code, left) => {
  const sent = await bench.ask({ ...what, key: keys[who] ?? null });
  expect([sent.json.code, sent.headers.get(RATE)]).toEqual([code, left]);
});

test('a refusal is sent before the body is read', async () => {
  let isRead = false;
  const raw = () =>
    new ReadableStream(
      {
        pull(controller) {
          isRead = true;
          controller.close();
        },
      },
      { highWaterMark: 0 },
    );
  const headers = { 'user-agent': 'resend-go/2.0' };
  for (const who of ['wrong', 'sending', 'sandbox', 'spent', 'full']) {
    const path = '/domains';
    const sent = await bench.ask({ path, raw: raw(), headers, key: keys[who] ?? null });
    expect([who, sent.status >= 400, isRead]).toEqual([who, true, who === 'full']);
  }
});

test('what is refused before its body is read stands in the log without it, and in no audit', async () => {
  const { store } = bench.ctx;
  const before = await store.audit({ limit: 1, before: null, who: null });
  for (const [who, status] of [
    ['sending', 403],
    ['sandbox', 403],
    ['spent', 429],
  ] as const) {
    const key = keys[who] ?? null;
    const sent = await bench.ask({ path: '/domains', key, body: { name: 'a.example' } });
    const id = sent.json.request_id;
    await bench.ask({ path: '/logs', key: keys['full'] ?? null });
    const owner = who === 'spent' ? spent : account;
    expect([sent.status, await store.log(owner.id, id)]).toEqual([
      status,
      expect.objectContaining({
        id,
        status,
        path: '/domains',
        isSandbox: who === 'sandbox',
        keyPermission: who === 'sending' ? 'sending_access' : 'full_access',
        requestBody: null,
        responseBody: sent.text,
      }),
    ]);
  }
  expect(await store.audit({ limit: 1, before: null, who: null })).toEqual(before);
});

test('a body of a request that takes none is not read', async () => {
  const sent = await bench.ask({
    path: `/api-keys/${UNKNOWN}`,
    method: 'DELETE',
    raw: '{',
    headers: { 'content-encoding': 'gzip' },
    key: keys['full'] ?? null,
  });
  expect([sent.status, sent.json.message]).toEqual([404, 'There is no such API key.']);
});

test('what is asked with a key is asked of the accounts as they are now; sends compare in their commit', async () => {
  const check = spyOn(bench.ctx.revision, 'check');
  const counted: [string, number][] = [];
  for (const [name, what] of [
    ['a read', { path: '/usage' }],
    ['a change', { path: '/api-keys', body: {} }],
    ['an unknown path', { path: '/nowhere' }],
    ['a send', { path: '/emails', body: EMAIL }],
    ['a batch', { path: '/emails/batch', body: [EMAIL] }],
    ['no key', { path: '/usage', key: null }],
    ['the reference', { path: '/openapi.json', key: null }],
  ] as [string, Ask][]) {
    check.mockClear();
    await bench.ask({ key: keys['full'] ?? null, ...what });
    counted.push([name, check.mock.calls.length]);
  }
  check.mockRestore();
  expect(counted).toEqual([
    ['a read', 1],
    ['a change', 1],
    ['an unknown path', 1],
    ['a send', 0],
    ['a batch', 0],
    ['no key', 0],
    ['the reference', 0],
  ]);
});

test('a change is noted whole in the audit log, with what its path and its body named', async () => {
  const own = await bench.account('noted', 'fast');
  const key = await bench.key(own);
  const ask = async (what: Ask) => {
    await clock.advance(1_000);
    const sent = await bench.ask({ key, headers: { 'x-forwarded-for': '203.0.113.7' }, ...what });
    expect([what.path, sent.status < 300]).toEqual([what.path, true]);
    return sent.json;
  };
  const { id } = await ask({ path: '/api-keys', body: { name: 'one', scope: 'full' } });
  await ask({ path: `/api-keys/${id}`, method: 'PATCH', body: { name: 'two' } });
  // What the path names counts, and an address is that of the client.
  const body = { name: 'two', id: 'another' };
  await bench.ask({ path: `/api-keys/${id}`, method: 'PATCH', body, key });
  await ask({ path: '/suppressions/batch/add', body: { emails: ['a@x.example'] } });
  await ask({ path: `/api-keys/${id}`, method: 'DELETE' });
  const all = await bench.ctx.store.audit({ limit: 100, before: null, who: null });
  const rows = all.filter(({ accountId }) => accountId === own.id);
  const seq = expect.any(Number);
  const common = { seq, via: 'api', who: 'bench', accountId: own.id, address: '203.0.113.7' };
  const at = clock.now();
  expect(rows as unknown[]).toEqual([
    { ...common, action: 'revokeApiKey', at, target: `id=${id}` },
    { ...common, action: 'addSuppressions', at: at - 1_000, target: '' },
    {
      ...common,
      action: 'renameApiKey',
      at: at - 2_000,
      target: `id=${id} name=two`,
      address: '127.0.0.1',
    },
    { ...common, action: 'renameApiKey', at: at - 2_000, target: `id=${id} name=two` },
    { ...common, action: 'createApiKey', at: at - 3_000, target: 'name=one' },
  ]);
});

test('the time of a request is from its arrival to its response, in the metrics and in its row', async () => {
  const sumOf = async (): Promise<number> => {
    const text = await bench.ctx.metrics.render();
    const line = /^postrider_http_request_seconds_sum\{method="POST",status="2xx"\} (.*)$/m;
    return Number(line.exec(text)?.[1]);
  };
  const before = await sumOf();
  const raw = new ReadableStream({
    pull(controller) {
      clock.pass(1_500);
      controller.enqueue(Buffer.from(JSON.stringify(EMAIL)));
      controller.close();
    },
  });
  const at = clock.now();
  const headers = { 'user-agent': 'resend-go/2.0' };
  const key = keys['full'] ?? null;
  const sent = await bench.ask({ path: '/emails', key, raw, headers });
  expect(sent.status).toBe(200);
  expect((await sumOf()) - before).toBeCloseTo(1.5, 6);
  const row = await bench.ask({ path: `/logs/${sent.headers.get('x-request-id')}`, key });
  expect(row.json).toMatchObject({
    duration_ms: 1_500,
    created_at: new Date(at).toISOString(),
    message_id: sent.json.id,
  });
});

test('a clock that is set back makes no time below nothing', async () => {
  const raw = new ReadableStream({
    pull(controller) {
      clock.jump(-5_000);
      controller.enqueue(Buffer.from(JSON.stringify(EMAIL)));
      controller.close();
    },
  });
  const key = keys['full'] ?? null;
  const headers = { 'user-agent': 'resend-go/2.0' };
  const sent = await bench.ask({ path: '/emails', key, raw, headers });
  clock.jump(5_000);
  const row = await bench.ask({ path: `/logs/${sent.headers.get('x-request-id')}`, key });
  expect([sent.status, row.json.duration_ms]).toEqual([200, 0]);
});
