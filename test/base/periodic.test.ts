/**
 * A job that runs by the clock: one run at a time, never too late, and always stoppable; then the same by chance, from a
 * seed that a failure prints.
 */
import { describe, expect, test } from 'bun:test';

import { Activities } from '../../src/base/activities.ts';
import { createLog } from '../../src/base/log.ts';
import { Periodic, type Job } from '../../src/base/periodic.ts';
import { seeded } from '../mail/random.ts';
import { TestClock } from '../rig/clock.ts';

const FIRST_MS = 1_000;
const EVERY_MS = 60_000;

/** A periodic that runs `run`; `begun` lists the elapsed time at which each run began. */
function periodicOf(run: Job['run'], change: Partial<Job> = {}) {
  const clock = new TestClock();
  const logged: Record<string, unknown>[] = [];
  const log = createLog(
    (line) => logged.push(JSON.parse(line) as Record<string, unknown>),
    () => clock.now(),
  );
  const begun: number[] = [];
  const periodic = new Periodic(
    { clock, log },
    {
      firstMs: FIRST_MS,
      failure: { event: 'job_failed', hint: 'Nothing to do.' },
      everyMs: () => EVERY_MS,
      run(signal) {
        begun.push(clock.elapsedMs);
        return run(signal);
      },
      ...change,
    },
  );
  return { periodic, clock, logged, begun };
}

const nothing = async (): Promise<void> => {};

describe('a job', () => {
  test('runs first after its first wait, then at its interval', async () => {
    const { periodic, clock, begun } = periodicOf(nothing);
    periodic.start();
    await clock.advance(1);
    periodic.start();
    await clock.advance(FIRST_MS - 2);
    expect(begun).toEqual([]);
    await clock.advance(1 + 2 * EVERY_MS);
    expect(begun).toEqual([FIRST_MS, FIRST_MS + EVERY_MS, FIRST_MS + 2 * EVERY_MS]);
    await periodic.stop();
  });

  test('says after each run how long to wait for the next', async () => {
    let waitMs = 0;
    const { periodic, clock, begun } = periodicOf(nothing, { everyMs: () => (waitMs += 10) });
    periodic.start();
    await clock.advance(FIRST_MS + 60);
    expect(begun).toEqual([1_000, 1_010, 1_030, 1_060]);
    await periodic.stop();
  });

  test('that fails is logged once, with its hint, and runs again', async () => {
    const failures = [
      () => Promise.reject(new Error('later')),
      () => {
        throw new Error('at once');
      },
    ];
    const { periodic, clock, begun, logged } = periodicOf(() => (failures.shift() ?? nothing)());
    periodic.start();
    await clock.advance(FIRST_MS + 2 * EVERY_MS);
    expect(begun).toHaveLength(3);
    expect(logged).toMatchObject([
      { event: 'job_failed', level: 'error', error: { message: 'later' }, hint: 'Nothing to do.' },
      { event: 'job_failed', level: 'error', error: { message: 'at once' } },
    ]);
    await periodic.stop();
  });

  test('asked to run now does so, and waits its interval from there', async () => {
    const { periodic, clock, begun } = periodicOf(nothing);
    periodic.start();
    await periodic.runNow();
    await clock.advance(EVERY_MS);
    expect(begun).toEqual([0, EVERY_MS]);
    await periodic.stop();
  });

  test('comes in time when the wall clock is set back, and early when it leaps ahead', async () => {
    const { periodic, clock, begun } = periodicOf(nothing);
    periodic.start();
    clock.jump(-3_600_000);
    await clock.advance(FIRST_MS);
    expect(begun).toEqual([FIRST_MS]);
    clock.jump(3_600_000);
    await clock.advance(0);
    expect(begun).toEqual([FIRST_MS, FIRST_MS]);
    await periodic.stop();
  });

  test('under way is joined, not doubled', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { periodic, clock, begun } = periodicOf(() => promise);
    periodic.start();
    const all = Promise.all([periodic.runNow(), periodic.runNow()]);
    await clock.advance(10 * EVERY_MS);
    expect(begun).toHaveLength(1);
    resolve();
    await all;
    await periodic.stop();
  });

  test('not started runs when asked, and not by itself afterwards', async () => {
    const { periodic, clock, begun } = periodicOf(nothing);
    await periodic.runNow();
    expect(clock.pending()).toEqual([]);
    expect(begun).toHaveLength(1);
  });
});

test('a run is noted while it lasts, by the name of its failure without how it failed', async () => {
  const names: string[] = [];
  for (const [event, failing] of [
    ['job_failed', false],
    ['disk_space_unknown', true],
    ['other_event', false],
  ] as const) {
    const doing = new Activities();
    const log = createLog(
      () => undefined,
      () => 0,
    );
    const job: Job = {
      firstMs: 0,
      failure: { event, hint: '' },
      everyMs: () => EVERY_MS,
      run: (signal) => {
        names.push(doing.take(), String(signal.aborted));
        return failing ? Promise.reject(new Error('no')) : Promise.resolve();
      },
    };
    await new Periodic({ clock: new TestClock(), log, doing }, job).runNow();
    doing.forget();
    names.push(doing.take());
  }
  const shown = ['job', 'disk_space', 'other_event'].flatMap((name) => [name, 'false', '']);
  expect(names).toEqual(shown);
});

describe('stop', () => {
  test('tells the run under way, waits for it, and lets none follow', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    let isTold = false;
    const { periodic, clock, begun } = periodicOf((signal) => {
      signal.addEventListener('abort', () => (isTold = true));
      return promise;
    });
    periodic.start();
    await clock.advance(FIRST_MS);
    let isStopped = false;
    const stopped = periodic.stop().then(() => (isStopped = true));
    await clock.advance(EVERY_MS);
    expect([isTold, isStopped]).toEqual([true, false]);
    resolve();
    await stopped;
    await clock.advance(3 * EVERY_MS);
    expect(begun).toHaveLength(1);
  });

  test('before the start, twice, and before a new start', async () => {
    const { periodic, clock, begun } = periodicOf(nothing);
    await periodic.stop();
    periodic.start();
    await Promise.all([periodic.stop(), periodic.stop()]);
    expect(clock.pending()).toEqual([]);
    periodic.start();
    await clock.advance(FIRST_MS);
    expect(begun).toHaveLength(1);
    await periodic.stop();
  });
});

test('whatever fails, is slow or moves the clock: one run at a time, none too late, and stop resolves', async () => {
  const SEED = Date.now() % 1_000_000;
  for (let round = 0; round < 40; round += 1) {
    const seed = SEED + round;
    const random = seeded(seed);
    let [active, most, faults, freeAtMs] = [0, 0, 0, 0];
    let latestGapMs = 0;
    let isStopped = false;
    const lateRuns: number[] = [];
    const { periodic, clock, logged, begun } = periodicOf(async () => {
      if (isStopped) lateRuns.push(clock.elapsedMs);
      latestGapMs = Math.max(latestGapMs, clock.elapsedMs - freeAtMs);
      active += 1;
      most = Math.max(most, active);
      const kind = random.int(4);
      // Slow by real time, whatever the wall clock says; up to three intervals.
      if (kind > 1)
        await new Promise<void>((done) => void clock.after(random.int(3 * EVERY_MS), done));
      active -= 1;
      freeAtMs = clock.elapsedMs;
      if (kind % 2 === 0) return;
      faults += 1;
      throw new Error('by chance');
    });
    periodic.start();
    for (let step = 0; step < 60; step += 1) {
      const kind = random.int(5);
      if (kind === 0) clock.jump(random.int(20 * EVERY_MS) - 10 * EVERY_MS);
      else if (kind === 1) void periodic.runNow();
      else await clock.advance(random.int(2 * EVERY_MS));
    }
    const stopping = periodic.stop().then(() => (isStopped = true));
    await clock.advance(4 * EVERY_MS);
    await stopping;
    await clock.advance(10 * EVERY_MS);
    expect({ seed, most, lateRuns }).toEqual({ seed, most: 1, lateRuns: [] });
    expect({ seed, isInTime: latestGapMs <= EVERY_MS, latestGapMs }).toMatchObject({
      seed,
      isInTime: true,
    });
    expect({ seed, ran: begun.length > 1, logged: logged.length }).toEqual({
      seed,
      ran: true,
      logged: faults,
    });
  }
});
