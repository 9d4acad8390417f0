/** When the store is looked at: once at a time, again when asked meanwhile, in time whatever the wall clock does. */
import { expect, test } from 'bun:test';

import { Looks } from '../../../src/flow/due/looks.ts';
import { TestClock } from '../../rig/clock.ts';

const MINUTE = 60_000;

function start(next: () => number | null | Promise<number | null>, shortestMs = 0, rest?: number) {
  const clock = new TestClock();
  // The wall clock is an hour behind: all of this goes by the time that has really passed.
  clock.jump(-3_600_000);
  const at: number[] = [];
  const faults: unknown[] = [];
  const beganAt = clock.steady();
  const looks = new Looks({
    clock,
    shortestMs,
    rest,
    async look() {
      at.push(clock.steady() - beganAt);
      return next();
    },
    failed: (error) => faults.push(error),
  });
  return { clock, at, faults, looks, beganAt };
}

test('follows the next due time, not faster than the shortest pause and not slower than a minute', async () => {
  const waits = [10, 1_000, 59_000, 300_000, null, 5];
  const { clock, at, looks } = start(() => {
    const wait = waits.shift();
    return wait === undefined || wait === null ? null : clock.steady() + wait;
  }, 250);
  looks.start();
  await clock.advance(4 * MINUTE);
  expect(at).toEqual([0, 250, 1_250, 60_250, 120_250, 180_250, 180_500]);
});

test('what came due while a look lasted is looked at without a further pause', async () => {
  let finish: (next: number | null) => void = () => undefined;
  const { clock, at, looks, beganAt } = start(
    () => new Promise<number | null>((resolve) => (finish = resolve)),
    250,
  );
  looks.start();
  await clock.advance(1_000);
  finish(beganAt + 600);
  await clock.advance(0);
  expect(at).toEqual([0, 1_000]);
  // The pause counts from the beginning of a look, also where the next row is due at once.
  finish(beganAt + 1_000);
  await clock.advance(249);
  expect(at).toEqual([0, 1_000]);
  await clock.advance(1);
  expect(at).toEqual([0, 1_000, 1_250]);
});

test('a look that is asked for while another reads begins when that one ends, once', async () => {
  let finish: (next: null) => void = () => undefined;
  const { clock, at, looks } = start(() => new Promise<null>((resolve) => (finish = resolve)));
  looks.start();
  await clock.advance(0);
  for (let time = 0; time < 5; time += 1) looks.soon();
  await clock.advance(1_000);
  expect(at).toEqual([0]);
  finish(null);
  await clock.advance(0);
  expect(at).toEqual([0, 1_000]);
  finish(null);
  await clock.advance(MINUTE - 1);
  expect(at).toEqual([0, 1_000]);
});

test('an earlier time replaces a later one, and a later one changes nothing', async () => {
  const { clock, at, looks, beganAt } = start(() => null);
  looks.start();
  await clock.advance(0);
  looks.by(beganAt + 9_000);
  looks.by(beganAt + 3_000);
  looks.by(beganAt + 6_000);
  await clock.advance(30_000);
  expect(at).toEqual([0, 3_000]);
});

test('a look that is asked for before its time is followed by the next one a minute after it', async () => {
  const { clock, at, looks } = start(() => null);
  looks.start();
  await clock.advance(30_000);
  looks.soon();
  await clock.advance(MINUTE);
  expect(at).toEqual([0, 30_000, 90_000]);
});

test('a time that is told while a look reads counts where it is earlier than what the look finds', async () => {
  let finish: (next: number | null) => void = () => undefined;
  const { clock, at, looks, beganAt } = start(
    () => new Promise<number | null>((resolve) => (finish = resolve)),
  );
  looks.start();
  await clock.advance(0);
  looks.by(beganAt + 3_000);
  finish(beganAt + 9_000);
  await clock.advance(3_000);
  expect(at).toEqual([0, 3_000]);
  looks.by(beganAt + 9_000);
  finish(beganAt + 5_000);
  await clock.advance(2_000);
  expect(at).toEqual([0, 3_000, 5_000]);
});

test('a time that comes while a look reads is followed by others, too', async () => {
  let finish: (next: null) => void = () => undefined;
  const { clock, at, looks, beganAt } = start(
    () => new Promise<null>((resolve) => (finish = resolve)),
  );
  looks.start();
  await clock.advance(0);
  looks.by(beganAt + 3_000);
  await clock.advance(5_000);
  expect(at).toEqual([0]);
  finish(null);
  await clock.advance(0);
  finish(null);
  await clock.advance(MINUTE);
  expect(at).toEqual([0, 5_000, 65_000]);
});

test('a wall clock that is set back delays no look', async () => {
  const { clock, at, looks } = start(() => null);
  looks.start();
  await clock.advance(1_000);
  clock.jump(-3_600_000);
  await clock.advance(MINUTE);
  expect(at).toHaveLength(2);
});

test('a look that fails is reported and made again in 5 s', async () => {
  let faults = 2;
  const {
    clock,
    at,
    faults: seen,
    looks,
  } = start(() => {
    if (faults-- > 0) throw new Error('no store');
    return null;
  });
  looks.start();
  await clock.advance(30_000);
  expect(at).toEqual([0, 5_000, 10_000]);
  expect(seen).toHaveLength(2);
});

test('after the end nothing is read, and the end waits for the look under way', async () => {
  let finish: (next: null) => void = () => undefined;
  const { clock, at, looks } = start(() => new Promise<null>((resolve) => (finish = resolve)));
  looks.start();
  let isOver = false;
  const stopped = looks.stop().then(() => (isOver = true));
  looks.soon();
  await clock.advance(1_000);
  expect(isOver).toBe(false);
  finish(null);
  await stopped;
  await clock.advance(10 * MINUTE);
  expect(at).toEqual([0]);
});

test('an end leaves no timer behind, neither of a time that was told nor of the next look', async () => {
  const { clock, looks, beganAt } = start(() => null);
  looks.start();
  await clock.advance(0);
  expect(clock.pending()).toHaveLength(1);
  looks.by(beganAt + 3_000);
  expect(clock.pending()).toHaveLength(1);
  await looks.stop();
  looks.by(beganAt + 3_000);
  expect(clock.pending()).toEqual([]);
});

/** Each look lasts until it is told its end: a time after the start, null, or a fault. */
function startLong(shortestMs = 0) {
  let end: { with: (next: number | null) => void; badly: () => void } | null = null;
  const parts = start(
    () =>
      new Promise<number | null>((resolve, reject) => {
        end = { with: resolve, badly: () => reject(new Error('no store')) };
      }),
    shortestMs,
  );
  const after = async (ms: number, how: (ends: NonNullable<typeof end>) => void) => {
    await parts.clock.advance(ms);
    if (end !== null) how(end);
    await parts.clock.advance(0);
  };
  return { ...parts, after };
}

test('after a long look the longest pause, and that after a fault, begin at its end', async () => {
  const { at, looks, after } = startLong();
  looks.start();
  await after(20_000, (end) => end.with(null));
  await after(MINUTE - 1, () => undefined);
  expect(at).toEqual([0]);
  await after(1, () => undefined);
  expect(at).toEqual([0, 80_000]);
  await after(20_000, (end) => end.badly());
  await after(4_999, () => undefined);
  expect(at).toEqual([0, 80_000]);
  await after(1, () => undefined);
  expect(at).toEqual([0, 80_000, 105_000]);
});

test('of a look and its repetition the last one says when the next is due, and the pause begins with it', async () => {
  const { at, looks, after, beganAt } = startLong(250);
  looks.start();
  looks.soon();
  looks.soon();
  await after(1_000, (end) => end.with(beganAt + 2_000));
  expect(at).toEqual([0, 1_000]);
  // What was to come at 2,000 is there already: this look has seen all that was due then.
  await after(10, (end) => end.with(beganAt + 1_020));
  await after(239, () => undefined);
  expect(at).toEqual([0, 1_000]);
  await after(1, () => undefined);
  expect(at).toEqual([0, 1_000, 1_250]);
  looks.soon();
  await after(0, (end) => end.with(beganAt + 2_000));
  expect(at).toEqual([0, 1_000, 1_250, 1_250]);
  await after(0, (end) => end.with(null));
  await after(MINUTE - 1, () => undefined);
  expect(at).toEqual([0, 1_000, 1_250, 1_250]);
});

test('a look that failed and was asked for again meanwhile is made at once, and then in its own time', async () => {
  const { at, faults, looks, after, beganAt } = startLong();
  looks.start();
  await after(0, () => looks.soon());
  await after(0, (end) => end.badly());
  expect([at, faults.length]).toEqual([[0, 0], 1]);
  await after(0, (end) => end.with(beganAt + 30_000));
  await after(29_999, () => undefined);
  expect(at).toEqual([0, 0]);
  await after(1, () => undefined);
  expect(at).toEqual([0, 0, 30_000]);
});

test('a look that was asked for before the end is not begun behind the one under way', async () => {
  const { at, looks, after } = startLong();
  looks.start();
  await after(0, () => looks.soon());
  const stopped = looks.stop();
  await after(1_000, (end) => end.with(null));
  await stopped;
  await after(2 * MINUTE, () => undefined);
  expect(at).toEqual([0]);
});

test('is at work from its start to its stop', async () => {
  const { looks, clock } = start(() => null);
  expect(looks.isRunning).toBe(false);
  looks.soon();
  looks.by(clock.steady());
  expect(clock.pending()).toEqual([]);
  looks.start();
  expect(looks.isRunning).toBe(true);
  await looks.stop();
  expect([looks.isRunning, clock.pending()]).toEqual([false, []]);
});

test('a look rests for as many times as long as it took, and five seconds at most, whoever asks meanwhile', async () => {
  let end: (next: number | null) => void = () => undefined;
  const { clock, at, looks, beganAt } = start(
    () => new Promise<number | null>((resolve) => (end = resolve)),
    0,
    4,
  );
  const lasts = async (ms: number, next: number | null = null) => {
    await clock.advance(ms);
    end(next);
    await clock.advance(0);
  };
  looks.start();
  // Asked for while it read, by its own result and afterwards: all of them wait.
  await clock.advance(50);
  looks.soon();
  await lasts(50, beganAt + 101);
  looks.soon();
  looks.by(beganAt + 102);
  await clock.advance(399);
  expect(at).toEqual([0]);
  await clock.advance(1);
  expect(at).toEqual([0, 500]);
  // What takes no time asks for no rest.
  await lasts(0, beganAt + 600);
  looks.soon();
  await lasts(0);
  expect(at).toEqual([0, 500, 500]);
  looks.soon();
  await lasts(60_000);
  looks.soon();
  await clock.advance(4_999);
  expect(at).toHaveLength(4);
  await clock.advance(1);
  expect(at).toEqual([0, 500, 500, 500, 65_500]);
});
