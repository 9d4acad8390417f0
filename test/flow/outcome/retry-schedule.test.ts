/** The retry schedule: dense at first, sparse later, never beyond the expiry. */
import { expect, test } from 'bun:test';

import {
  dueAfterCrash,
  nextAttemptAt,
  waitAfter,
} from '../../../src/flow/outcome/retry-schedule.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Times of all attempts from 0 until the expiry, with a fixed `random`. */
function attemptTimes(expiresAt: number, random: number): number[] {
  const times = [0];
  for (;;) {
    const next = nextAttemptAt(times.length, times.at(-1) ?? 0, expiresAt, random);
    if (next === null) return times;
    times.push(next);
  }
}

test('tries several times within the first hour, so that greylisting lets it in', () => {
  for (const random of [0, 0.5, 0.999]) {
    const early = attemptTimes(48 * HOUR, random).filter((time) => time <= HOUR);
    expect(early.length).toBeGreaterThanOrEqual(5);
  }
});

test('waits never get shorter, and stay within their jitter', () => {
  for (let number = 1; number < 30; number += 1) {
    expect(waitAfter(number + 1)).toBeGreaterThanOrEqual(waitAfter(number));
    for (const random of [0, 0.25, 0.999_999]) {
      const waited = (nextAttemptAt(number, 0, Infinity, random) ?? 0) / waitAfter(number);
      expect(waited).toBeGreaterThanOrEqual(0.899);
      expect(waited).toBeLessThanOrEqual(1.101);
    }
  }
});

test('the last attempt is at the expiry, and there is none after it', () => {
  const times = attemptTimes(48 * HOUR, 0.5);
  expect(times.at(-1)).toBe(48 * HOUR);
  expect(nextAttemptAt(20, 48 * HOUR, 48 * HOUR, 0.5)).toBeNull();
  expect(times.length).toBeLessThan(30);
});

test('an attempt that dies with the process is due soon, but not at once', () => {
  const wait = dueAfterCrash(1_000_000) - 1_000_000;
  expect(wait).toBeGreaterThan(0);
  expect(wait).toBeLessThanOrEqual(waitAfter(1));
});

test('without chance the waits are those that are documented, in minutes', () => {
  const minutes = Array.from({ length: 11 }, (_, at) => waitAfter(at + 1) / MINUTE);
  expect(minutes).toEqual([1, 5, 10, 15, 30, 60, 120, 180, 240, 240, 240]);
  expect([waitAfter(0), waitAfter(-1)]).toEqual([MINUTE, MINUTE]);
});

test('chance moves a wait by a tenth at most, either way', () => {
  expect([0, 0.5, 1].map((random) => nextAttemptAt(3, 0, Infinity, random))).toEqual([
    9 * MINUTE,
    10 * MINUTE,
    11 * MINUTE,
  ]);
});

test('the next time is a whole millisecond, whatever chance says', () => {
  expect(nextAttemptAt(1, 1_000, Infinity, 0.123_456_7)).toBe(1_000 + 55_481);
});

test('an attempt that dies with the process is due in fifteen seconds', () => {
  expect(dueAfterCrash(1_000)).toBe(16_000);
});
