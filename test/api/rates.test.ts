/**
 * What each key and each account may ask for: writes by account, reads over all keys of an account, costly routes by
 * themselves, keys in number; sandbox keys spend nothing of it.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { MAX_KEYS } from '../../src/flow/accounts/keys.ts';
import { ROUTES } from '../../src/api/routes/routes.ts';
import { TestClock } from '../rig/clock.ts';
import { openBench, type Bench, type Sent } from './bench.ts';

let bench: Bench;
const clock = new TestClock();

beforeAll(async () => {
  bench = await openBench({
    clock,
    toml: `
[[plans]]
id = "narrow"
reads_per_minute = 3
writes_per_minute = 5
rate_per_second = 2`,
  });
});

afterAll(() => bench.close());

function refused(sent: Sent): void {
  expect([sent.status, sent.json.code]).toEqual([429, 'rate_limited']);
  expect(Number(sent.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(sent.headers.get('ratelimit-remaining')).toBe('0');
}

const WRITES = ROUTES.filter(({ method, isSend }) => method !== 'GET' && !isSend);

test.each(WRITES.map(({ method, path }) => [method, path]))(
  '%s %s counts against the writes of its account, whatever the key',
  async (method, path) => {
    const account = await bench.account(`${method} ${path}`, 'narrow');
    const keys = [await bench.key(account), await bench.key(account)];
    const target = path.replaceAll(/:\w+/g, '01913c7e-89ab-7cde-8f01-23456789abcd');
    const ask = (n: number): Promise<Sent> =>
      bench.ask({ method, path: target, key: keys[n % 2] ?? null, body: {} });
    for (let n = 0; n < 5; n += 1) expect((await ask(n)).status).not.toBe(429);
    refused(await ask(5));
    refused(await ask(6));
  },
);

test('all keys of an account read at most ten times what one may', async () => {
  const account = await bench.account('readers', 'narrow');
  const keys = await Promise.all(Array.from({ length: 12 }, () => bench.key(account)));
  const statuses = new Map<number, number>();
  for (const key of keys) {
    for (let n = 0; n < 3; n += 1) {
      const { status } = await bench.ask({ path: '/usage', key });
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  }
  expect(Object.fromEntries(statuses)).toEqual({ 200: 30, 429: 6 });
  const late = await bench.key(account);
  for (let n = 0; n < 3; n += 1) {
    const sent = await bench.ask({ path: '/usage', key: late });
    refused(sent);
    // What refuses is the account's limit, also where the key has used up its own.
    expect(sent.headers.get('ratelimit-limit')).toBe('30');
  }
  await clock.advance(60_000);
  expect((await bench.ask({ path: '/usage', key: keys[0] ?? null })).status).toBe(200);
});

test('a sandbox key that spends all of its rates leaves those of live keys alone', async () => {
  const account = await bench.account('shared', 'narrow');
  await bench.domain(account, 'own.example.com');
  const live = await bench.key(account);
  const sandbox = await bench.key(account, 'full_access', true);
  const body = { from: 'a@own.example.com', to: 'b@example.net', subject: 's', text: 't' };
  for (let n = 0; n < 3; n += 1) await bench.ask({ path: '/emails', key: sandbox, body });
  refused(await bench.ask({ path: '/emails', key: sandbox, body }));
  for (let n = 0; n < 6; n += 1) await bench.ask({ path: '/api-keys', key: sandbox, body: {} });
  refused(await bench.ask({ path: '/api-keys', key: sandbox, body: {} }));
  expect((await bench.ask({ path: '/emails', key: live, body })).status).toBe(200);
  const made = await bench.ask({ path: '/api-keys', key: live, body: { name: 'made' } });
  expect(made.status).toBe(201);
});

test('routes that cost much have a limit of their own', () => {
  const limited = ROUTES.filter(({ perMinute }) => perMinute !== null);
  expect(limited.map(({ method, path, perMinute }) => [`${method} ${path}`, perMinute])).toEqual([
    ['POST /domains', 60],
    ['POST /domains/:id/verify', 60],
    ['POST /webhooks/:id/test', 60],
  ]);
});

test('an account has at most 100 unrevoked keys of each kind', async () => {
  const account = await bench.account('keys', 'fast');
  const first = await bench.key(account);
  for (let n = 1; n < MAX_KEYS; n += 1) await bench.key(account);
  const name = { name: 'one more' };
  const more = await bench.ask({ path: '/api-keys', key: first, body: name });
  expect([more.status, more.json.code]).toEqual([403, 'forbidden']);
  const list = await bench.ask({ path: '/api-keys', key: first });
  await bench.ask({ path: `/api-keys/${list.json.data[5].id}`, method: 'DELETE', key: first });
  expect((await bench.ask({ path: '/api-keys', key: first, body: name })).status).toBe(201);
  expect(await bench.key(account, 'full_access', true)).toStartWith('pr_test_');
});

test('what counts against no limit fills no log: as many rows a minute as one key may read', async () => {
  const account = await bench.account('noisy', 'narrow');
  const keys = [await bench.key(account), await bench.key(account, 'sending_access')];
  const key = keys[0] ?? null;
  const logged = async (): Promise<Record<string, number>> => {
    await clock.advance(60_000);
    const { json } = await bench.ask({ path: '/logs?limit=100', key });
    const rows: { path: string; status: number }[] = json.data;
    const labels = rows.map(({ path, status }) => `${status} ${path}`);
    return Object.fromEntries(
      Map.groupBy(labels, (label) => label)
        .entries()
        .map(([label, all]) => [label, all.length]),
    );
  };
  // An unknown path, a route that the key may not use, and what is beyond a limit, by both keys.
  for (let n = 0; n < 4; n += 1) {
    expect((await bench.ask({ path: '/nowhere', key: keys[n % 2] ?? null })).status).toBe(404);
  }
  expect(await logged()).toEqual({ '404 /nowhere': 3 });
  const forbidden = { path: '/domains', key: keys[1] ?? null };
  for (let n = 0; n < 5; n += 1) expect((await bench.ask(forbidden)).status).toBe(403);
  expect(await logged()).toMatchObject({ '404 /nowhere': 3, '403 /domains': 3 });
  await clock.advance(60_000);
  for (let n = 0; n < 3; n += 1) await bench.ask({ path: '/usage', key });
  for (let n = 0; n < 5; n += 1) refused(await bench.ask({ path: '/usage', key }));
  expect(await logged()).toEqual({
    '404 /nowhere': 3,
    '403 /domains': 3,
    '200 /logs': 2,
    '200 /usage': 3,
    '429 /usage': 3,
  });
  const other = await bench.key(await bench.account('quiet', 'narrow'));
  await bench.ask({ path: '/nowhere', key: other });
  const { json } = await bench.ask({ path: '/logs', key: other });
  expect(json.data).toHaveLength(1);
});
