/**
 * What parallel requests cannot break: idempotency, quotas, rate limits, paging.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { RateWindows } from '../../src/api/rate-windows.ts';
import type { Account } from '../../src/store/rows.ts';
import { seeded } from '../mail/random.ts';
import { TestClock } from '../rig/clock.ts';
import { openBench, type Bench, type Sent } from './bench.ts';

let bench: Bench;
let account: Account;
let key: string;

beforeAll(async () => {
  bench = await openBench();
  account = await bench.account('parallel', 'fast');
  await bench.domain(account, 'own.example.com');
  key = await bench.key(account);
});

afterAll(() => bench.close());

const email = (over: object = {}): object => ({
  from: 'a@own.example.com',
  to: 'delivered@sandbox.test',
  subject: 'Parallel',
  text: 't',
  ...over,
});

const count = async (q: string): Promise<number> => {
  const sent = await bench.ask({ path: `/emails?limit=100&q=${encodeURIComponent(q)}`, key });
  return sent.json.data.length;
};

test('50 parallel requests with one Idempotency-Key create one batch and get 50 equal responses', async () => {
  const subject = 'once and only once';
  const body = [email({ subject }), email({ subject }), email({ subject })];
  const headers = { 'idempotency-key': 'fifty' };
  const answers = await Promise.all(
    Array.from({ length: 50 }, () => bench.ask({ path: '/emails/batch', key, body, headers })),
  );
  expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  expect(answers[0]?.json.data).toHaveLength(3);
  const replays = answers.filter((one) => one.headers.get('idempotent-replayed') === 'true');
  expect(replays).toHaveLength(49);
  expect(await count(subject)).toBe(3);
});

test('an idempotency key belongs to its account', async () => {
  const neighbour = await bench.account('other keys', 'fast');
  await bench.domain(neighbour, 'own.example.com');
  const headers = { 'idempotency-key': 'shared' };
  const first = await bench.ask({ path: '/emails', key, body: email(), headers });
  const other = await bench.ask({
    path: '/emails',
    key: await bench.key(neighbour),
    body: email(),
    headers,
  });
  expect(other.status).toBe(200);
  expect(other.json.id).not.toBe(first.json.id);
});

test('a refused request does not use up its idempotency key', async () => {
  const headers = { 'idempotency-key': 'second try' };
  const refused = await bench.ask({ path: '/emails', key, body: email({ subject: '' }), headers });
  expect(refused.status).toBe(422);
  const accepted = await bench.ask({ path: '/emails', key, body: email(), headers });
  expect(accepted.status).toBe(200);
});

test('parallel requests cannot go beyond a daily limit', async () => {
  const small = await bench.account('quota', 'daily');
  await bench.domain(small, 'own.example.com');
  const token = await bench.key(small);
  const sent = await Promise.all(
    Array.from({ length: 40 }, (_, at) =>
      bench.ask({ path: '/emails', key: token, body: email({ to: `r${at}@example.com` }) }),
    ),
  );
  expect(sent.filter(({ status }) => status === 200)).toHaveLength(7);
  const over = sent.filter(({ status }) => status === 429);
  expect(over.every(({ json }) => json.code === 'quota_exceeded')).toBe(true);
  expect(over).toHaveLength(33);
});

test('paging while 1,000 rows arrive: no row twice, none left out', async () => {
  const subject = 'before the flood';
  for (let batch = 0; batch < 4; batch += 1) {
    const body = Array.from({ length: 100 }, () => email({ subject }));
    await bench.ask({ path: '/emails/batch', key, body });
  }
  const flood = Promise.all(
    Array.from({ length: 20 }, async (_, at) => {
      const body = Array.from({ length: 50 }, () => email({ subject: `flood ${at}` }));
      return bench.ask({ path: '/emails/batch', key, body });
    }),
  );
  const seen: string[] = [];
  let path = '/emails?limit=17';
  for (;;) {
    const page: Sent = await bench.ask({ path, key });
    seen.push(...page.json.data.map(({ id }: { id: string }) => id));
    if (page.json.has_more === false) break;
    path = `/emails?limit=17&after=${page.json.next}`;
  }
  await flood;
  expect(new Set(seen).size).toBe(seen.length);
  expect([...seen].sort().toReversed()).toEqual(seen);
  const all = await allIds('/emails?limit=100');
  const oldest = seen.at(-1) ?? '';
  const newest = seen[0] ?? '';
  // Every row between the first and the last one shown is there, each once.
  expect(seen).toEqual(all.filter((id) => id >= oldest && id <= newest));
  expect(all.filter((id) => id < oldest)).toEqual([]);
});

async function allIds(first: string): Promise<string[]> {
  const ids: string[] = [];
  let path = first;
  for (;;) {
    const { json } = await bench.ask({ path, key });
    ids.push(...json.data.map(({ id }: { id: string }) => id));
    if (json.has_more === false) return ids;
    path = `${first}&after=${json.next}`;
  }
}

test('no window of a rate limit counts more than its limit, wherever it begins', () => {
  const seed = Number(process.env['RATE_SEED'] ?? Date.now() % 1_000_000);
  const random = seeded(seed);
  const clock = new TestClock();
  const rates = new RateWindows({ clock, log: bench.ctx.log, store: bench.ctx.store });
  const allowed: number[] = [];
  for (let round = 0; round < 5_000; round += 1) {
    clock.pass(random.int(40));
    const verdict = rates.take('k', 10, 1_000);
    if (verdict.isAllowed) allowed.push(clock.now());
    expect(verdict.remaining).toBeGreaterThanOrEqual(0);
  }
  for (const [at, time] of allowed.entries()) {
    const tenLater = allowed[at + 10];
    if (tenLater !== undefined && tenLater - time < 1_000) throw new Error(`seed ${seed}: ${time}`);
  }
  // A steady caller gets nearly all of the limit.
  expect(allowed.length).toBeGreaterThan(500);
});

test('rate limits survive a restart, and a clock that steps back does not block for ever', async () => {
  const clock = new TestClock();
  const parts = { clock, log: bench.ctx.log, store: bench.ctx.store };
  const before = new RateWindows(parts);
  for (let round = 0; round < 5; round += 1) before.take('read k', 5, 60_000);
  clock.pass(20_000);
  await before.save();
  const after = new RateWindows(parts);
  await after.load();
  expect(after.take('read k', 5, 60_000)).toMatchObject({ isAllowed: false, retrySeconds: 40 });
  clock.pass(40_001);
  expect(after.take('read k', 5, 60_000).isAllowed).toBe(true);
  clock.jump(-3_600_000);
  for (let round = 0; round < 5; round += 1) after.take('read k', 5, 60_000);
  clock.pass(60_001);
  expect(after.take('read k', 5, 60_000).isAllowed).toBe(true);
});
