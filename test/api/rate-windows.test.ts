/** Sliding windows: what is left, when the next request is allowed, when all of them are, and what a restart keeps. */
import { expect, test } from 'bun:test';

import { RateWindows } from '../../src/api/rate-windows.ts';
import { createLog } from '../../src/base/log.ts';
import type { HeardTakes, Takes } from '../../src/store/rates.ts';
import { StoreAwayError } from '../../src/store/store.ts';
import { TestClock } from '../rig/clock.ts';

const MINUTE = 60_000;

/** What nodes tell each other, by the test's clock. */
class Told {
  readonly #clock: TestClock;
  readonly #rows: (HeardTakes & { node: string; toldAt: number })[] = [];
  isAway = false;

  constructor(clock: TestClock) {
    this.#clock = clock;
  }

  exchange(node: string, own: Takes | null, sinceMs: number): HeardTakes[] {
    if (this.isAway) throw new StoreAwayError('away');
    const toldAt = this.#clock.steady();
    const heard = this.#rows.filter((row) => row.node !== node && row.toldAt > toldAt - sinceMs);
    if (own !== null) this.#rows.push({ ...own, node, toldAt, id: this.#rows.length });
    return heard;
  }
}

function start(clock: TestClock, kept = new Map<string, string>(), others: Told | null = null) {
  const store = {
    setting: async (name: string) => kept.get(name) ?? null,
    async setSetting(name: string, value: string | null) {
      if (value === null) kept.delete(name);
      else kept.set(name, value);
    },
    exchangeTakes: async (node: string, own: Takes | null, sinceMs: number) =>
      others?.exchange(node, own, sinceMs) ?? null,
  };
  const log = createLog(
    () => undefined,
    () => clock.now(),
  );
  return new RateWindows({ clock, store, log });
}

test('the next request waits for the one that blocks it, not for the latest', async () => {
  const clock = new TestClock();
  const rates = start(clock);
  expect(rates.take('a', 3, MINUTE)).toMatchObject({ isAllowed: true, remaining: 2 });
  await clock.advance(10_000);
  rates.take('a', 3, MINUTE);
  await clock.advance(20_000);
  expect(rates.take('a', 3, MINUTE)).toMatchObject({ isAllowed: true, remaining: 0 });
  await clock.advance(5_000);
  const blocked = { isAllowed: false, remaining: 0, retrySeconds: 25, resetSeconds: 55 };
  expect(rates.take('a', 3, MINUTE)).toMatchObject(blocked);
  // A lower limit, as after a reload: one of the three must leave for 2, all of them for 1.
  expect(rates.take('a', 2, MINUTE)).toMatchObject({ isAllowed: false, retrySeconds: 35 });
  expect(rates.take('a', 1, MINUTE)).toMatchObject({ isAllowed: false, retrySeconds: 55 });
  expect(rates.take('b', 1, MINUTE).isAllowed).toBe(true);
  await clock.advance(25_000 - 1);
  expect(rates.take('a', 3, MINUTE).isAllowed).toBe(false);
  await clock.advance(1);
  expect(rates.take('a', 3, MINUTE).isAllowed).toBe(true);
});

test('a restart keeps the counts, whatever is done to the wall clock', async () => {
  const clock = new TestClock();
  const kept = new Map<string, string>();
  const before = start(clock, kept);
  before.take('a', 2, MINUTE);
  await clock.advance(30_000);
  before.take('a', 2, MINUTE);
  await before.save();

  const after = start(clock, kept);
  await after.load();
  expect(after.take('a', 2, MINUTE)).toMatchObject({ isAllowed: false, retrySeconds: 30 });
  clock.jump(-15_000);
  const stepped = start(clock, kept);
  await stepped.load();
  expect(stepped.take('a', 2, MINUTE)).toMatchObject({ isAllowed: false, retrySeconds: 30 });
  // A data directory from elsewhere may bring times that lie in the future: none counts.
  const elsewhere = start(new TestClock(0), kept);
  await elsewhere.load();
  expect(elsewhere.take('a', 2, MINUTE)).toMatchObject({ isAllowed: true, remaining: 1 });
  await clock.advance(MINUTE);
  const later = start(clock, kept);
  await later.load();
  expect(later.take('a', 2, MINUTE)).toMatchObject({ isAllowed: true, remaining: 1 });
});

test('a wall clock that is set neither opens a window nor keeps it closed', async () => {
  const clock = new TestClock();
  const rates = start(clock);
  rates.take('a', 1, MINUTE);
  clock.jump(-3_600_000);
  expect(rates.take('a', 1, MINUTE).isAllowed).toBe(false);
  clock.jump(2 * 3_600_000);
  expect(rates.take('a', 1, MINUTE).isAllowed).toBe(false);
  await clock.advance(MINUTE);
  expect(rates.take('a', 1, MINUTE).isAllowed).toBe(true);
});

test('what was taken is saved, also when the last request was refused', async () => {
  const clock = new TestClock();
  const kept = new Map<string, string>();
  const before = start(clock, kept);
  before.take('a', 1, MINUTE);
  expect(before.take('a', 1, MINUTE).isAllowed).toBe(false);
  await before.save();
  const after = start(clock, kept);
  await after.load();
  expect(after.take('a', 1, MINUTE).isAllowed).toBe(false);
});

test('a crash forgets no more than the last five seconds', async () => {
  const clock = new TestClock();
  const kept = new Map<string, string>();
  start(clock, kept).take('a', 1, MINUTE);
  await clock.advance(5_000);
  const after = start(clock, kept);
  await after.load();
  expect(after.take('a', 1, MINUTE).isAllowed).toBe(false);
});

/** Nodes that share what they count. */
async function startNodes(clock: TestClock, count: number): Promise<[Told, RateWindows[]]> {
  const told = new Told(clock);
  const nodes = Array.from({ length: count }, () => start(clock, new Map(), told));
  await Promise.all(nodes.map((node) => node.load()));
  return [told, nodes];
}

test('what one node let through counts on the others a quarter of a second later, once', async () => {
  const clock = new TestClock();
  const [, nodes] = await startNodes(clock, 3);
  const [a, b, c] = nodes as [RateWindows, RateWindows, RateWindows];
  for (let at = 0; at < 3; at += 1) a.take('k', 6, MINUTE);
  expect(b.take('k', 6, MINUTE).remaining).toBe(5);
  expect(c.take('other', 6, MINUTE).remaining).toBe(5);
  await clock.advance(250);
  expect(a.take('k', 6, MINUTE).remaining).toBe(2);
  // `a` told before `b` did.
  b.take('none', 1, MINUTE);
  await clock.advance(250);
  expect(b.take('k', 6, MINUTE)).toMatchObject({ isAllowed: true, remaining: 0 });
  a.take('none', 1, MINUTE);
  await clock.advance(250);
  expect(a.take('k', 6, MINUTE)).toMatchObject({ isAllowed: false, retrySeconds: 60 });
  for (let at = 0; at < 20; at += 1) {
    // Heard again and again, and counted once.
    c.take('other', 100, MINUTE);
    await clock.advance(250);
  }
  expect(c.take('k', 7, MINUTE)).toMatchObject({ isAllowed: true, remaining: 0 });
  await clock.advance(MINUTE);
  expect(a.take('k', 6, MINUTE).remaining).toBe(5);
});

test('of twice the limit through three nodes no more than a quarter a further node is let through', async () => {
  const clock = new TestClock();
  const [, nodes] = await startNodes(clock, 3);
  const limit = 100;
  const allowed: number[] = [];
  for (let step = 0; step < 2_000; step += 1) {
    // 200 a second.
    const node = nodes[step % nodes.length];
    if (node?.take('send', limit, 1_000).isAllowed === true) allowed.push(clock.steady());
    await clock.advance(5);
  }
  let most = 0;
  for (const [at, time] of allowed.entries()) {
    const within = allowed.findLastIndex((other) => other < time + 1_000) - at + 1;
    most = Math.max(most, within);
  }
  expect(most).toBeLessThanOrEqual(limit * 1.5);
  // The limit is used all the same.
  expect(allowed.length).toBeGreaterThanOrEqual(limit * 9);
});

test('a node that starts knows the last minute, also its own of before, and none is saved twice', async () => {
  const clock = new TestClock();
  const kept = new Map<string, string>();
  const told = new Told(clock);
  const before = start(clock, kept, told);
  await before.load();
  before.take('k', 2, MINUTE);
  await before.save();
  expect(kept.size).toBe(0);
  await clock.advance(30_000);
  const after = start(clock, kept, told);
  await after.load();
  expect(after.take('k', 2, MINUTE)).toMatchObject({ isAllowed: true, remaining: 0 });
  expect(after.take('k', 2, MINUTE)).toMatchObject({ isAllowed: false, retrySeconds: 30 });
});

test('while the store is away each node counts for itself', async () => {
  const clock = new TestClock();
  const [told, [node]] = await startNodes(clock, 1);
  if (node === undefined) throw new Error('no node');
  told.isAway = true;
  node.take('k', 2, MINUTE);
  await clock.advance(1_000);
  expect(node.take('k', 2, MINUTE)).toMatchObject({ isAllowed: true, remaining: 0 });
  await clock.advance(1_000);
  expect(node.take('k', 2, MINUTE).isAllowed).toBe(false);
});
