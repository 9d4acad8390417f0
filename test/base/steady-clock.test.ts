/** Steady time: what the wall clock does, sleep, and restarts in the same boot and in another one. */
import { describe, expect, spyOn, test } from 'bun:test';

import { systemClock, wallTime } from '../../src/base/clock.ts';
import { parseMark, SteadyClock } from '../../src/base/steady-clock.ts';
import type { TimeMark } from '../../src/base/steady-clock.ts';
import { TestClock } from '../rig/clock.ts';

const HOUR_MS = 3_600_000;
const STEPS_MS = [HOUR_MS, 24 * HOUR_MS, 365 * 24 * HOUR_MS].flatMap((ms) => [-ms, ms]);
const START_MS = Date.UTC(2026, 0, 15);

/** A machine that booted long ago, and shows `wallMs`. */
async function machine(wallMs: number, uptimeMs: number, boot = 'boot'): Promise<TestClock> {
  const clock = new TestClock(wallMs - uptimeMs);
  await clock.advance(uptimeMs);
  clock.bootId = () => boot;
  return clock;
}

test('goes on with the time that passes, whatever is done to the wall clock', async () => {
  const clock = await machine(START_MS, HOUR_MS);
  const steady = new SteadyClock(clock, null);
  expect(steady.steady()).toBe(START_MS);
  let passedMs = 0;
  for (const stepMs of STEPS_MS) {
    clock.jump(stepMs);
    expect(steady.steady()).toBe(START_MS + passedMs);
    await clock.advance(1_234);
    passedMs += 1_234;
    expect(steady.steady()).toBe(START_MS + passedMs);
    expect(wallTime(steady, steady.steady() + 5_000)).toBe(clock.now() + 5_000);
  }
});

test('counts the time in which the machine slept', async () => {
  const clock = await machine(START_MS, HOUR_MS);
  const steady = new SteadyClock(clock, null);
  clock.sleep(10 * 60_000);
  await clock.advance(1_000);
  expect(steady.steady()).toBe(START_MS + 10 * 60_000 + 1_000);
});

test('an uptime that is exact to the second only is no sleep', async () => {
  const clock = await machine(START_MS, HOUR_MS);
  const exact = clock.uptime.bind(clock);
  clock.uptime = () => Math.floor(exact() / 1_000) * 1_000;
  await clock.advance(999);
  const steady = new SteadyClock(clock, null);
  // By the rounded figure, most of these seconds are longer or shorter than they were.
  for (let passedMs = 1_001; passedMs < 30_000; passedMs += 1_001) {
    await clock.advance(1_001);
    expect(steady.steady()).toBe(START_MS + 999 + passedMs);
  }
});

test.each(STEPS_MS)(
  'a wait ends when its time has passed, with a step of %p ms',
  async (stepMs) => {
    const clock = await machine(START_MS, HOUR_MS);
    const steady = new SteadyClock(clock, null);
    let firedAt: number | null = null;
    steady.after(60_000, () => (firedAt = steady.steady() - START_MS));
    const cancel = steady.after(60_000, () => expect.unreachable());
    await clock.advance(1_000);
    clock.jump(stepMs);
    await clock.advance(58_999);
    expect(firedAt).toBeNull();
    cancel();
    await clock.advance(1);
    expect(Number(firedAt)).toBe(60_000);
  },
);

describe('after a restart', () => {
  const RESTED_MS = 7 * 60_000;

  async function markOf(clock: TestClock): Promise<TimeMark> {
    const steady = new SteadyClock(clock, null);
    await clock.advance(HOUR_MS);
    return steady.mark();
  }

  test.each([0, ...STEPS_MS])(
    'in the same boot, with a step of %p ms meanwhile',
    async (stepMs) => {
      const mark = await markOf(await machine(START_MS, HOUR_MS));
      const after = await machine(mark.wall + RESTED_MS + stepMs, mark.uptime + RESTED_MS);
      const steady = new SteadyClock(after, mark);
      expect(steady.steady()).toBe(mark.steady + RESTED_MS);
      // And over a further one, when somebody has set the clock right.
      const again = steady.mark();
      const right = await machine(again.wall - stepMs, again.uptime);
      expect(new SteadyClock(right, again).steady()).toBe(mark.steady + RESTED_MS);
    },
  );

  test.each([
    [0, RESTED_MS],
    // Nobody knows how long it rested: not longer than no time at all, so nothing waits for the step.
    [-HOUR_MS, 0],
    [HOUR_MS, HOUR_MS + RESTED_MS],
  ])('in another boot, with a step of %p ms meanwhile', async (stepMs, expectedMs) => {
    const mark = await markOf(await machine(START_MS, HOUR_MS));
    const after = await machine(mark.wall + RESTED_MS + stepMs, 60_000, 'other');
    expect(new SteadyClock(after, mark).steady() - mark.steady).toBe(expectedMs);
  });

  test('where the boot has no id, or its uptime is less, the wall clock decides', async () => {
    const mark = await markOf(await machine(START_MS, HOUR_MS));
    const short = await machine(mark.wall + RESTED_MS, 60_000);
    expect(new SteadyClock(short, mark).steady()).toBe(mark.steady + RESTED_MS);
    const nameless = await machine(mark.wall + RESTED_MS, mark.uptime + 1_000_000);
    const steady = new SteadyClock(nameless, { ...mark, bootId: null });
    expect(steady.steady()).toBe(mark.steady + RESTED_MS);
    // Two boots without an id need not be the same.
    const again = Object.assign(nameless, { bootId: () => null });
    const unsure = new SteadyClock(again, { ...mark, bootId: null });
    expect(unsure.steady()).toBe(mark.steady + RESTED_MS);
  });
});

test('in the same boot the wall clock is believed where it agrees with the uptime, to a second and a half', async () => {
  const mark: TimeMark = { steady: START_MS, wall: START_MS, uptime: HOUR_MS, bootId: 'boot' };
  const startedAt = async (wallMs: number): Promise<number> => {
    const clock = await machine(START_MS + wallMs, HOUR_MS + 60_000);
    return new SteadyClock(clock, mark).steady() - START_MS;
  };
  const starts = [58_500, 58_501, 59_300, 60_700, 61_499, 61_500].map(startedAt);
  expect(await Promise.all(starts)).toEqual([60_000, 58_501, 59_300, 60_700, 61_499, 60_000]);
});

test('an uptime a little less than the mark is the same boot, and time never goes back behind it', async () => {
  const mark: TimeMark = { steady: START_MS, wall: START_MS, uptime: HOUR_MS, bootId: 'boot' };
  const startedAt = async (wallMs: number, uptimeMs: number): Promise<number> => {
    const clock = await machine(START_MS + wallMs, HOUR_MS + uptimeMs);
    return new SteadyClock(clock, mark).steady() - START_MS;
  };
  expect(await startedAt(HOUR_MS, -1_500)).toBe(0);
  expect(await startedAt(HOUR_MS, -1_501)).toBe(HOUR_MS);
  expect(await startedAt(-1_000, 0)).toBe(0);
});

test('a sleep of a second and a half counts, a shorter one is within what the uptime knows', async () => {
  for (const [sleptMs, countedMs] of [
    [1_499, 0],
    [1_500, 1_500],
  ] as const) {
    const clock = await machine(START_MS, HOUR_MS);
    const steady = new SteadyClock(clock, null);
    clock.sleep(sleptMs);
    await clock.advance(1_000);
    expect(steady.steady() - START_MS).toBe(1_000 + countedMs);
    // What was counted is not counted again.
    await clock.advance(1_000);
    expect(steady.steady() - START_MS).toBe(2_000 + countedMs);
  }
});

test('the machine is asked for its uptime once a second, however often the time is wanted', async () => {
  const clock = await machine(START_MS, HOUR_MS);
  const steady = new SteadyClock(clock, null);
  const uptime = spyOn(clock, 'uptime');
  for (let ms = 0; ms < 3_000; ms += 100) {
    await clock.advance(100);
    steady.steady();
    steady.steady();
  }
  expect(uptime).toHaveBeenCalledTimes(3);
});

test('boots of different names are different, also where the machine was up for longer', async () => {
  const mark: TimeMark = { steady: START_MS, wall: START_MS, uptime: HOUR_MS, bootId: 'one' };
  const later = await machine(START_MS + 24 * HOUR_MS, 3 * HOUR_MS, 'two');
  expect(new SteadyClock(later, mark).steady()).toBe(START_MS + 24 * HOUR_MS);
  const same = await machine(START_MS + 24 * HOUR_MS, 3 * HOUR_MS, 'one');
  expect(new SteadyClock(same, mark).steady()).toBe(START_MS + 2 * HOUR_MS);
});

test('what this machine marks is read back, with the id of its boot', () => {
  const mark = new SteadyClock(systemClock, null).mark();
  expect(mark.bootId).not.toBeNull();
  expect(parseMark(JSON.stringify(mark))).toEqual(mark);
});

test('a mark that is none is no mark', () => {
  const mark: TimeMark = { steady: 1, wall: 2, uptime: 3, bootId: null };
  expect(parseMark(JSON.stringify(mark))).toEqual(mark);
  for (const text of [
    null,
    'null',
    '5',
    '{}',
    '{"steady":1,"wall":2,"uptime":"x","bootId":null}',
    '{"steady":1,"wall":2,"uptime":3,"bootId":5}',
  ]) {
    expect(parseMark(text)).toBeNull();
  }
});

test('it is a whole number of milliseconds, the nearest, whatever the machine counts in', async () => {
  const clock = await machine(START_MS, HOUR_MS);
  const exact = clock.uptime.bind(clock);
  const steady = new SteadyClock(clock, null);
  clock.uptime = () => exact() + 10_000.6;
  await clock.advance(1_000);
  expect(steady.steady()).toBe(START_MS + 11_001);
});
