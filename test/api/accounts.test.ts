/**
 * Accounts that may not send, the kill switch, confirmed recipients, keys that lose their right.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { setAccountStatus } from '../../src/flow/accounts/accounts.ts';
import { confirmRecipient } from '../../src/flow/accept/confirmed-recipients.ts';
import type { Account } from '../../src/store/rows.ts';
import { openBench, type Bench, type Sent } from './bench.ts';

let bench: Bench;
let account: Account;
let key: string;

beforeAll(async () => {
  bench = await openBench();
  account = await bench.account('states', 'fast');
  await bench.domain(account, 'own.example.com');
  key = await bench.key(account);
});

afterAll(() => bench.close());

const EMAIL = { from: 'a@own.example.com', to: 'b@example.net', subject: 's', text: 't' };
const sendEverywhere = (token = key): Promise<Sent[]> =>
  Promise.all([
    bench.ask({ path: '/emails', key: token, body: EMAIL }),
    bench.ask({ path: '/email/send', key: token, body: EMAIL }),
    bench.ask({ path: '/emails/batch', key: token, body: [EMAIL] }),
  ]);

test.each([
  ['paused', 403, 'account_paused'],
  ['payment_required', 402, 'payment_required'],
] as const)('a %s account reads, but does not send', async (status, code, word) => {
  await setAccountStatus(bench.ctx, account.id, status, 'Ask the operator.');
  for (const sent of await sendEverywhere()) {
    expect([sent.status, sent.json.code, sent.json.name]).toEqual([code, word, 'invalid_access']);
    expect(sent.json.message).toContain('Ask the operator.');
  }
  expect((await bench.ask({ path: '/emails', key })).status).toBe(200);
  await setAccountStatus(bench.ctx, account.id, 'active');
  expect((await sendEverywhere()).map((sent) => sent.status)).toEqual([200, 202, 200]);
});

test('while sending is halted every send is 503 with Retry-After; reads go on', async () => {
  await bench.ctx.halt.halt('Maintenance.');
  for (const sent of await sendEverywhere()) {
    expect([sent.status, sent.json.code, sent.json.name]).toEqual([
      503,
      'platform_halted',
      'application_error',
    ]);
    expect(sent.headers.get('retry-after')).toMatch(/^\d+$/);
  }
  expect((await bench.ask({ path: '/usage', key })).status).toBe(200);
  await bench.ctx.halt.resume();
  expect((await sendEverywhere()).map((sent) => sent.status)).toEqual([200, 202, 200]);
});

test('a replay gets its response although the account may no longer send', async () => {
  const headers = { 'idempotency-key': 'before the pause' };
  const first = await bench.ask({ path: '/emails', key, body: EMAIL, headers });
  await setAccountStatus(bench.ctx, account.id, 'paused');
  const second = await bench.ask({ path: '/emails', key, body: EMAIL, headers });
  expect([second.status, second.text]).toEqual([first.status, first.text]);
  await setAccountStatus(bench.ctx, account.id, 'active');
});

test('a plan for confirmed recipients refuses all others', async () => {
  const careful = await bench.account('careful', 'confirmed');
  await bench.domain(careful, 'own.example.com');
  const token = await bench.key(careful);
  for (const sent of await sendEverywhere(token)) {
    expect([sent.status, sent.json.code]).toEqual([403, 'recipient_not_confirmed']);
  }
  await confirmRecipient(bench.ctx, careful.id, 'B@example.net');
  expect((await sendEverywhere(token)).map((sent) => sent.status)).toEqual([200, 202, 200]);
});

test('a sandbox key creates sandbox keys only', async () => {
  const token = await bench.key(account, 'full_access', true);
  const made = await bench.ask({ path: '/api-keys', key: token, body: { name: 'child' } });
  expect(made.json.token).toStartWith('pr_test_');
});

test('a key that revokes itself gets a response and no longer works', async () => {
  const made = await bench.ask({ path: '/api-keys', key, body: { name: 'self', scope: 'full' } });
  const own = String(made.json.token);
  const removed = await bench.ask({
    path: `/api-keys/${made.json.id}`,
    method: 'DELETE',
    key: own,
  });
  expect(removed.status).toBe(200);
  expect((await bench.ask({ path: '/usage', key: own })).status).toBe(401);
});

test('a key has the permission that either spelling says; two that contradict each other are refused', async () => {
  const account = await bench.account('spellings');
  const own = await bench.key(account);
  const made = (body: object) =>
    bench.ask({ path: '/api-keys', key: own, body: { name: 'k', ...body } });
  for (const [body, permission, scope] of [
    [{}, 'sending_access', 'send'],
    [{ scope: 'full' }, 'full_access', 'full'],
    [{ permission: 'full_access' }, 'full_access', 'full'],
    [{ permission: 'sending_access', scope: 'send' }, 'sending_access', 'send'],
  ] as const) {
    const { status, json } = await made(body);
    expect([body, status, json.permission, json.scope]).toEqual([body, 201, permission, scope]);
  }
  for (const body of [
    { permission: 'full_access', scope: 'send' },
    { permission: 'sending_access', scope: 'full' },
  ]) {
    const { status, json } = await made(body);
    expect([status, json.detail.issues.map(({ path }: { path: string }) => path)]).toEqual([
      422,
      ['scope'],
    ]);
  }
});
