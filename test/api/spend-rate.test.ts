/** What a request counts against: whose window, how long, how many, what the headers say of the tightest. */
import { expect, test } from 'bun:test';
import type { Identity } from '../../src/flow/draft.ts';
import type { RateResult } from '../../src/api/rate-windows.ts';
import { mayHaveRow, spendRate } from '../../src/api/spend-rate.ts';
import { ApiError } from '../../src/base/errors.ts';

const caller = {
  key: { id: 'key', isTest: false },
  account: { id: 'account' },
  plan: { ratePerSecond: 2, readsPerMinute: 30, writesPerMinute: 40 },
} as unknown as Identity;

type Route = Parameters<typeof spendRate>[1];
const READ: Route = { method: 'GET', path: '/x', isSend: false, perMinute: null };
const WRITE: Route = { ...READ, method: 'POST' };

/** What is taken, the headers, and the refusal. `left`: what remains of each window, -1 for none. */
function spend(route: Route, left: readonly number[], retrySeconds = 7, who = caller) {
  const taken: [string, number, number][] = [];
  const progress = { headers: {} };
  let refusal: unknown = null;
  const take = (name: string, limit: number, windowMs: number): RateResult => {
    const remaining = left[taken.push([name, limit, windowMs]) - 1] ?? 9;
    const isAllowed = remaining >= 0;
    return {
      isAllowed,
      limit,
      remaining: Math.max(0, remaining),
      resetSeconds: 50 + taken.length,
      retrySeconds,
    };
  };
  try {
    spendRate({ take }, route, who, progress);
  } catch (error) {
    refusal = error;
  }
  return { taken, headers: progress.headers, refusal };
}

const headers = (limit: number, remaining: number, reset: number) => ({
  'RateLimit-Limit': String(limit),
  'RateLimit-Remaining': String(remaining),
  'RateLimit-Reset': String(reset),
});

test('a send counts by the second, a read by key and by account, a change by account', () => {
  const owner = 'account';
  expect(spend({ ...WRITE, isSend: true }, []).taken).toEqual([
    [expect.stringContaining(`send ${owner}`), 2, 1_000],
  ]);
  expect(spend(READ, []).taken).toEqual([
    ['read key', 30, 60_000],
    [expect.stringContaining(`reads ${owner}`), 300, 60_000],
  ]);
  expect(spend(WRITE, []).taken).toEqual([[expect.stringContaining(`write ${owner}`), 40, 60_000]]);
  expect(spend({ ...WRITE, perMinute: 6 }, []).taken).toEqual([
    [expect.stringContaining(`write ${owner}`), 40, 60_000],
    [expect.stringContaining(`POST /x ${owner}`), 6, 60_000],
  ]);
});

test('a sandbox key has windows of its own, and those of its account are shared by all of them', () => {
  const key = { ...caller.key, isTest: true };
  const another = { ...key, id: 'another', name: 'key' };
  const names = (route: Route, by: typeof key): string[] =>
    spend(route, [], 1, { ...caller, key: by }).taken.map(([name]) => name);
  const live = { ...caller.key, name: 'key' };
  for (const route of [{ ...WRITE, isSend: true }, WRITE, { ...WRITE, perMinute: 6 }]) {
    expect(names(route, key).filter((name) => names(route, live).includes(name))).toEqual([]);
    expect(names(route, another)).toEqual(names(route, key));
  }
  const [own, all] = names(READ, key);
  const [ownOther, allOther] = names(READ, another);
  expect([own === ownOther, all === allOther]).toEqual([false, true]);
  expect(names(READ, live)).not.toContain(all);
});

test('routes with a limit of their own have a window each', () => {
  const own = (change: object) =>
    spend({ ...WRITE, perMinute: 6, ...change }, []).taken.map(([name]) => name);
  const [shared, window] = own({});
  for (const other of [own({ path: '/y' }), own({ method: 'PATCH' })]) {
    expect(other[0]).toBe(shared);
    expect(other[1]).not.toBe(window);
  }
});

test('the headers are those of the window with the least left', () => {
  expect(spend(READ, [3, 5]).headers).toEqual(headers(30, 3, 51));
  expect(spend(READ, [5, 3]).headers).toEqual(headers(300, 3, 52));
  expect(spend(READ, [4, 4]).headers).toEqual(headers(30, 4, 51));
  // What refuses is shown, also beside one that has as little left.
  expect(spend(READ, [0, -1]).headers).toEqual(headers(300, 0, 52));
});

test.each([
  [{ ...WRITE, isSend: true }, [-1], 'This account can make 2 send requests per second.'],
  [READ, [-1], 'This key can make 30 read requests per minute.'],
  [READ, [1, -1], 'This account can make 300 read requests per minute.'],
  [WRITE, [-1], 'This account can make 40 changes per minute.'],
  [{ ...WRITE, perMinute: 6 }, [1, -1], 'This account can make 6 requests to POST /x per minute.'],
] as [Route, number[], string][])('%j with %j left: %s', (route, left, words) => {
  for (const [seconds, said] of [
    [7, '7 seconds'],
    [1, '1 second'],
  ] as const) {
    const { refusal, taken } = spend(route, left, seconds);
    if (!(refusal instanceof ApiError)) throw new Error('it was allowed');
    expect([refusal.status, refusal.code]).toEqual([429, 'rate_limited']);
    expect(refusal.message).toBe(`${words} Try again in ${said}.`);
    expect(refusal.headers).toEqual({ 'Retry-After': String(seconds) });
    // What was refused by one window is not counted in the next.
    expect(taken).toHaveLength(left.length);
  }
});

test('rows of the log about what counts against nothing: by account, sandbox keys apart, as many as one key reads', () => {
  const taken: [string, number, number][] = [];
  const take = (name: string, limit: number, windowMs: number): RateResult => {
    taken.push([name, limit, windowMs]);
    const isAllowed = taken.length === 1;
    return { isAllowed, limit, remaining: 0, resetSeconds: 1, retrySeconds: 1 };
  };
  const sandbox = { ...caller, key: { ...caller.key, isTest: true } };
  expect([mayHaveRow({ take }, caller), mayHaveRow({ take }, sandbox)]).toEqual([true, false]);
  expect(taken).toEqual([
    ['row account', 30, 60_000],
    ['row account sandbox', 30, 60_000],
  ]);
});
