/** Sliding windows: what is left, when the next request is allowed, when all of them are, and what a restart keeps. */
import { expect, test } from 'bun:test';

import { RateWindows } from '../../src/api/rate-windows.ts';
import { createLog } from '../../src/base/log.ts';
import { TestClock } from '../rig/clock.ts';

const MINUTE = 60_000;

function start(clock: TestClock, kept = new Map<string, string>()) {
  const store = {
    setting: async (name: string) => kept.get(name) ?? null,
    async setSetting(name: string, value: string | null) {
      if (value === null) kept.delete(name);
      else kept.set(name, value);
    },
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
