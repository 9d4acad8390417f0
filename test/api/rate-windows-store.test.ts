/** What rate windows write and tell, word for word: when, to whom, and what is forgotten. */
import { beforeEach, expect, test } from 'bun:test';

import { RateWindows } from '../../src/api/rate-windows.ts';
import { createLog } from '../../src/base/log.ts';
import type { HeardTakes, Takes } from '../../src/store/rates.ts';
import { StoreFullError } from '../../src/store/store.ts';
import { TestClock } from '../rig/clock.ts';

const SECOND = 1_000;
const MINUTE = 60_000;

let clock: TestClock;
let lines: Record<string, unknown>[];
/** What the store was asked to keep, in order. */
let kept: [name: string, value: string | null][];
/** What it was asked to tell. */
let told: { node: string; own: Takes | null; sinceMs: number }[];
/** What it has heard; null: there are no other nodes. */
let heard: HeardTakes[] | null;
let stored: string | null;
let fault: Error | null;

beforeEach(() => {
  clock = new TestClock();
  [lines, kept, told] = [[], [], []];
  [heard, stored, fault] = [null, null, null];
});

/** Windows that are loaded. */
async function start(): Promise<RateWindows> {
  const rates = new RateWindows({
    clock,
    log: createLog(
      (line) => lines.push(JSON.parse(line) as Record<string, unknown>),
      () => clock.now(),
    ),
    store: {
      setting: (name) => Promise.resolve(name === 'rate_windows' ? stored : 'another setting'),
      async setSetting(name, value) {
        if (fault !== null) throw fault;
        kept.push([name, value]);
      },
      async exchangeTakes(node, own, sinceMs) {
        if (fault !== null) throw fault;
        told.push({ node, own, sinceMs });
        return heard;
      },
    },
  });
  await rates.load();
  return rates;
}

test('the counts are written five seconds after the first request, and not again before there are new ones', async () => {
  const rates = await start();
  const at = clock.steady();
  expect(told).toEqual([{ node: expect.any(String), own: null, sinceMs: 62_000 }]);
  rates.take('a', 2, MINUTE);
  await clock.advance(1);
  rates.take('a', 2, MINUTE);
  rates.take('b', 1, SECOND);
  await clock.advance(4_998);
  expect(kept).toEqual([]);
  await clock.advance(1);
  // The window of a second is over by now.
  const rows = [['a', MINUTE, [at, at + 1]]];
  expect(kept).toEqual([['rate_windows', JSON.stringify(rows)]]);
  // Alone nobody is told anything.
  expect(told).toHaveLength(1);
  // What is refused counts nothing.
  expect(rates.take('a', 2, MINUTE).isAllowed).toBe(false);
  await clock.advance(5_000);
  await rates.save();
  expect(kept).toHaveLength(1);
  await clock.advance(MINUTE);
  rates.take('c', 1, SECOND);
  await clock.advance(5_000);
  expect(kept.slice(1)).toEqual([['rate_windows', null]]);
  expect(lines).toEqual([]);
});

test('a save that is asked for stands for the one that was due', async () => {
  const rates = await start();
  rates.take('a', 5, MINUTE);
  await rates.save();
  expect(kept).toHaveLength(1);
  await clock.advance(4_000);
  rates.take('a', 5, MINUTE);
  await clock.advance(4_999);
  expect(kept).toHaveLength(1);
  await clock.advance(1);
  expect(kept).toHaveLength(2);
});

test('counts that cannot be written are lost, with a warning, and requests go on', async () => {
  const rates = await start();
  fault = new StoreFullError();
  rates.take('a', 2, MINUTE);
  await rates.save();
  expect(lines).toMatchObject([
    { level: 'warn', event: 'rate_limits_not_saved', error: { name: 'StoreFullError' } },
  ]);
  fault = null;
  await rates.save();
  expect(kept).toEqual([]);
  expect(rates.take('a', 2, MINUTE)).toMatchObject({ isAllowed: true, remaining: 0 });
  await rates.save();
  expect(kept).toHaveLength(1);
});

test('what was saved is loaded without what is over or lies in the future', async () => {
  const at = clock.steady();
  stored = JSON.stringify([
    ['a', MINUTE, [at - MINUTE, at - MINUTE + 1, at, at + 1]],
    ['over', SECOND, [at - SECOND]],
    ['longer', 10 * MINUTE, [at - MINUTE, at - MINUTE + 1]],
  ]);
  const rates = await start();
  expect(rates.take('a', 3, MINUTE)).toEqual({
    isAllowed: true,
    limit: 3,
    remaining: 0,
    resetSeconds: 60,
    retrySeconds: 1,
  });
  await rates.save();
  const rows = [
    ['a', MINUTE, [at - MINUTE + 1, at, at]],
    ['longer', 10 * MINUTE, [at - MINUTE + 1]],
  ];
  expect(kept).toEqual([['rate_windows', JSON.stringify(rows)]]);
});

test('many requests that are over are forgotten in one step, and those that count stay', async () => {
  const rates = await start();
  for (let count = 0; count < 1_500; count += 1) rates.take('a', 5_000, MINUTE);
  await clock.advance(30_000);
  for (let count = 0; count < 400; count += 1) rates.take('a', 5_000, MINUTE);
  await clock.advance(30_000);
  const at = clock.steady();
  expect(rates.take('a', 402, MINUTE)).toMatchObject({ remaining: 1, resetSeconds: 60 });
  expect(rates.take('a', 402, MINUTE)).toMatchObject({ remaining: 0, retrySeconds: 30 });
  expect(rates.take('a', 402, MINUTE)).toMatchObject({ isAllowed: false, retrySeconds: 30 });
  await rates.save();
  const times = [...Array.from({ length: 400 }, () => at - 30_000), at, at];
  expect(kept.at(-1)).toEqual(['rate_windows', JSON.stringify([['a', MINUTE, times]])]);
});

test('other nodes are told eight times a second what was let through, once, and asked for all since the last time', async () => {
  heard = [];
  const rates = await start();
  const at = clock.steady();
  await clock.advance(500);
  rates.take('a', 2, MINUTE);
  rates.take('b', 2, SECOND);
  rates.take('a', 2, MINUTE);
  rates.take('a', 2, MINUTE);
  await clock.advance(124);
  expect(told).toHaveLength(1);
  await clock.advance(1);
  await clock.advance(10_000);
  await rates.save();
  await clock.advance(2 * MINUTE);
  await rates.save();
  const node = told[0]?.node ?? '';
  expect(node).toMatch(/^[0-9a-f-]{36}$/);
  expect(told).toEqual([
    { node, own: null, sinceMs: 62_000 },
    {
      node,
      own: {
        at: at + 625,
        windows: [
          ['a', MINUTE, 2],
          ['b', SECOND, 1],
        ],
      },
      sinceMs: 2_625,
    },
    { node, own: null, sinceMs: 12_000 },
    { node, own: null, sinceMs: 62_000 },
  ]);
  expect(kept).toEqual([]);
});

test('what is heard counts from its own time on, and what is over or far ahead does not mislead', async () => {
  heard = [];
  const rates = await start();
  rates.take('k', 9, MINUTE);
  await clock.advance(30_000);
  rates.take('k', 9, MINUTE);
  const now = clock.steady();
  heard = [
    { id: 1, at: now - MINUTE, windows: [['k', MINUTE, 5]] },
    { id: 2, at: now - MINUTE + 1, windows: [['k', MINUTE, 1]] },
    { id: 3, at: now - 10_000, windows: [['k', MINUTE, 2]] },
    // A clock that is ahead.
    { id: 4, at: now + 5_000, windows: [['k', MINUTE, 1]] },
    { id: 5, at: now - SECOND + 1, windows: [['s', SECOND, 1]] },
    { id: 6, at: now - SECOND, windows: [['t', SECOND, 1]] },
  ];
  await rates.save();
  expect(rates.take('s', 2, SECOND)).toMatchObject({ isAllowed: true, remaining: 0 });
  expect(rates.take('t', 2, SECOND)).toMatchObject({ isAllowed: true, remaining: 1 });
  // In their order: one 1 ms from its end, own of 30 s ago, two of 10 s ago, own of now, one from ahead.
  const waits = [6, 5, 4, 3, 2, 1].map((limit) => rates.take('k', limit, MINUTE).retrySeconds);
  expect(waits).toEqual([1, 30, 50, 50, 60, 60]);
  await clock.advance(1);
  expect(rates.take('k', 6, MINUTE)).toMatchObject({ isAllowed: true, remaining: 0 });
});

test('what is heard behind many that are over stands behind them', async () => {
  heard = [];
  const rates = await start();
  for (let count = 0; count < 10; count += 1) rates.take('k', 50, MINUTE);
  await clock.advance(MINUTE - 1);
  rates.take('k', 50, MINUTE);
  await clock.advance(1);
  heard = [{ id: 1, at: clock.steady() - 30_000, windows: [['k', MINUTE, 3]] }];
  await rates.save();
  expect(rates.take('k', 4, MINUTE)).toMatchObject({ isAllowed: false, retrySeconds: 30 });
  expect(rates.take('k', 5, MINUTE)).toMatchObject({ isAllowed: true, remaining: 0 });
});

test('what was heard is known again for 62 seconds', async () => {
  const takes = (id: number): HeardTakes => ({
    id,
    at: clock.steady(),
    windows: [['k', MINUTE, 1]],
  });
  heard = [takes(1)];
  const rates = await start();
  await clock.advance(62_000);
  heard = [];
  await rates.save();
  heard = [takes(1)];
  await rates.save();
  expect(rates.take('k', 9, MINUTE).remaining).toBe(8);
  heard = [];
  await clock.advance(62_001);
  await rates.save();
  heard = [takes(1)];
  await rates.save();
  expect(rates.take('k', 9, MINUTE).remaining).toBe(7);
});

test('while the store is away nothing is said and nothing is kept for later; any other fault is told', async () => {
  heard = [];
  const rates = await start();
  rates.take('a', 9, MINUTE);
  fault = new StoreFullError();
  await rates.save();
  expect(lines).toEqual([]);
  rates.take('a', 9, MINUTE);
  fault = new Error('another fault');
  await rates.save();
  expect(lines).toMatchObject([
    { level: 'warn', event: 'rate_limits_not_saved', error: { message: 'another fault' } },
  ]);
  fault = null;
  await clock.advance(3_000);
  rates.take('a', 9, MINUTE);
  await rates.save();
  // Since the last time that it was heard.
  expect(told.slice(1)).toEqual([
    {
      node: expect.any(String),
      own: { at: clock.steady(), windows: [['a', MINUTE, 1]] },
      sinceMs: 5_000,
    },
  ]);
  expect(rates.take('a', 9, MINUTE).remaining).toBe(5);
});

test('a limit that was lowered leaves nothing, and one of nothing lets nothing through', async () => {
  const rates = await start();
  for (let count = 0; count < 3; count += 1) rates.take('a', 3, MINUTE);
  await clock.advance(1_001);
  const refused = { isAllowed: false, remaining: 0, resetSeconds: 59, retrySeconds: 59 };
  expect(rates.take('a', 2, MINUTE)).toEqual({ ...refused, limit: 2 });
  expect(rates.take('a', 0, MINUTE)).toEqual({ ...refused, limit: 0 });
  expect(rates.take('b', 0, MINUTE)).toEqual({
    isAllowed: false,
    limit: 0,
    remaining: 0,
    resetSeconds: 60,
    retrySeconds: 60,
  });
  rates.take('c', 2, MINUTE);
  await clock.advance(10_000);
  rates.take('c', 2, MINUTE);
  // The newest of them would have to leave, and then still nothing is let through.
  expect(rates.take('c', 0, MINUTE)).toMatchObject({ isAllowed: false, retrySeconds: 60 });
  // A window that became shorter forgets what is older.
  expect(rates.take('a', 2, SECOND)).toMatchObject({ isAllowed: true, remaining: 1 });
  expect(rates.take('a', 2, SECOND)).toEqual({
    isAllowed: true,
    limit: 2,
    remaining: 0,
    resetSeconds: 1,
    retrySeconds: 1,
  });
});
