/** Failed logins: how many, for how long, of whom, and what a clock that jumps makes of them. */
import { expect, test } from 'bun:test';

import { FailedLogins } from '../../src/smtp/limits.ts';
import { TestClock } from '../rig/clock.ts';

const MINUTE = 60_000;
const PEER = '192.0.2.1';

function blocked(): { clock: TestClock; failures: FailedLogins } {
  const clock = new TestClock();
  clock.jump(24 * 60 * MINUTE);
  const failures = new FailedLogins(clock);
  for (let n = 0; n < 10; n += 1) {
    expect(failures.isBlocked(PEER)).toBe(false);
    failures.note(PEER);
  }
  expect(failures.isBlocked(PEER)).toBe(true);
  return { clock, failures };
}

test('ten of one address block it for fifteen minutes from the first, and no other', async () => {
  const { clock, failures } = blocked();
  expect(failures.isBlocked('192.0.2.2')).toBe(false);
  await clock.advance(15 * MINUTE - 1);
  expect(failures.isBlocked(PEER)).toBe(true);
  await clock.advance(1);
  expect(failures.isBlocked(PEER)).toBe(false);
  failures.note(PEER);
  expect(failures.isBlocked(PEER)).toBe(false);
});

test.each([-24 * 60 * MINUTE, -15 * MINUTE, 15 * MINUTE])(
  'a wall clock that is set by %p ms neither ends the block nor lengthens it',
  async (ms) => {
    const { clock, failures } = blocked();
    clock.jump(ms);
    await clock.advance(15 * MINUTE - 1);
    expect(failures.isBlocked(PEER)).toBe(true);
    await clock.advance(1);
    expect(failures.isBlocked(PEER)).toBe(false);
  },
);

test('the window begins with the first of them: nine in a quarter of an hour never block', async () => {
  const clock = new TestClock();
  const failures = new FailedLogins(clock);
  for (let n = 0; n < 40; n += 1) {
    failures.note(PEER);
    expect([n, failures.isBlocked(PEER)]).toEqual([n, false]);
    await clock.advance(2 * MINUTE);
  }
});

test('failures after the first do not lengthen the block', async () => {
  const clock = new TestClock();
  const failures = new FailedLogins(clock);
  failures.note(PEER);
  await clock.advance(14 * MINUTE);
  for (let n = 0; n < 9; n += 1) failures.note(PEER);
  expect(failures.isBlocked(PEER)).toBe(true);
  await clock.advance(MINUTE);
  expect(failures.isBlocked(PEER)).toBe(false);
});

test('the window after it is counted like the first: ten block again, for as long', async () => {
  const { clock, failures } = blocked();
  await clock.advance(15 * MINUTE);
  for (let n = 0; n < 10; n += 1) {
    expect([n, failures.isBlocked(PEER)]).toEqual([n, false]);
    failures.note(PEER);
  }
  await clock.advance(15 * MINUTE - 1);
  expect(failures.isBlocked(PEER)).toBe(true);
  await clock.advance(1);
  expect(failures.isBlocked(PEER)).toBe(false);
});

/** Notes one failure each of so many other addresses. */
function flood(failures: FailedLogins, count: number, net: number): void {
  for (let n = 0; n < count; n += 1) failures.note(`10.${net}.${Math.floor(n / 256)}.${n % 256}`);
}

test('a block outlasts 19,999 other addresses, and no more', () => {
  const { failures } = blocked();
  flood(failures, 19_999, 0);
  expect(failures.isBlocked(PEER)).toBe(true);
  flood(failures, 1, 1);
  expect(failures.isBlocked(PEER)).toBe(false);
});

test('an address whose window begins anew is among the newest, not where it once was', async () => {
  const clock = new TestClock();
  const failures = new FailedLogins(clock);
  failures.note(PEER);
  flood(failures, 19_998, 0);
  await clock.advance(15 * MINUTE);
  for (let n = 0; n < 10; n += 1) failures.note(PEER);
  flood(failures, 2, 1);
  expect(failures.isBlocked(PEER)).toBe(true);
});
