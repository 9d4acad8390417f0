/** A job that nodes share: once for all of them, by another when one has gone. */
import { expect, test } from 'bun:test';

import { Periodic } from '../../src/base/periodic.ts';
import type { Job } from '../../src/base/periodic.ts';
import { createLog } from '../../src/base/log.ts';
import { SharedJob } from '../../src/flow/shared-job.ts';
import type { JobStore } from '../../src/store/jobs.ts';
import { TestClock } from '../rig/clock.ts';

/** Jobs by the test's clock, as the database keeps them by its own. */
class Jobs implements JobStore {
  readonly #clock: TestClock;
  isAway = false;
  kept: { holder: string; until: number } = { holder: '', until: 0 };

  constructor(clock: TestClock) {
    this.#clock = clock;
  }

  async takeJob(_name: string, holder: string, forMs: number): Promise<boolean> {
    if (this.isAway) throw new Error('away');
    const { kept } = this;
    if (kept.holder !== holder && kept.until > this.#clock.steady()) return false;
    this.kept = { holder, until: this.#clock.steady() + forMs };
    return true;
  }

  async endJob(_name: string, holder: string, restMs: number): Promise<void> {
    if (this.kept.holder === holder)
      this.kept = { holder: '', until: this.#clock.steady() + restMs };
  }
}

const EVERY_MS = 600_000;

interface Run {
  by: string;
  atMs: number;
  signal: AbortSignal;
  end: () => void;
}

function setUp() {
  const clock = new TestClock();
  const store = new Jobs(clock);
  const runs: Run[] = [];
  const log = createLog(
    () => undefined,
    () => clock.now(),
  );
  /** `isLong`: its runs end when the test says so. */
  const node = (by: string, isLong = false): Periodic => {
    const job: Job = {
      firstMs: 0,
      failure: { event: 'x_failed', hint: '' },
      everyMs: () => EVERY_MS,
      run: (signal) =>
        new Promise((resolve) => {
          runs.push({ by, atMs: clock.elapsedMs, signal, end: resolve });
          if (!isLong) resolve();
          signal.addEventListener('abort', () => resolve());
        }),
    };
    return new Periodic({ clock, log }, new SharedJob({ store, clock, holder: by }, 'x', job));
  };
  return { clock, store, runs, node };
}

test('of three nodes one runs it each time, as often as one alone would', async () => {
  const { clock, runs, node } = setUp();
  const nodes = ['a', 'b', 'c'].map((by) => node(by));
  for (const one of nodes) one.start();
  await clock.advance(6 * EVERY_MS + 1_000);
  expect(runs.length).toBeGreaterThanOrEqual(6);
  expect(runs.length).toBeLessThanOrEqual(7);
  for (const [at, { atMs }] of runs.slice(1).entries()) {
    const gapMs = atMs - (runs[at]?.atMs ?? 0);
    expect(gapMs).toBeGreaterThanOrEqual(EVERY_MS);
    // The next one to ask may come a little later.
    expect(gapMs).toBeLessThanOrEqual(EVERY_MS + 31_000);
  }
  await Promise.all(nodes.map((one) => one.stop()));
});

test('a long run keeps it, and a node that is stopped leaves it to the next at once', async () => {
  const { clock, runs, node } = setUp();
  const [a, b] = [node('a', true), node('b')];
  a.start();
  await clock.advance(0);
  b.start();
  await clock.advance(10 * 60_000);
  expect(runs.map(({ by }) => by)).toEqual(['a']);
  expect(runs[0]?.signal.aborted).toBe(false);
  await a.stop();
  await clock.advance(31_000);
  expect(runs.map(({ by }) => by)).toEqual(['a', 'b']);
  await b.stop();
});

test('a node that vanished in a run is followed within a minute and a half', async () => {
  const { clock, store, runs, node } = setUp();
  // What a process has left that was killed just now.
  await store.takeJob('x', 'dead', 60_000);
  const b = node('b');
  b.start();
  await clock.advance(59_000);
  expect(runs).toEqual([]);
  await clock.advance(31_000);
  expect(runs.map(({ by }) => by)).toEqual(['b']);
  await b.stop();
});

test('a run ends where another node has taken over, or the store is away for longer than it was given', async () => {
  for (const lose of ['taken', 'away'] as const) {
    const { clock, store, runs, node } = setUp();
    const a = node('a', true);
    a.start();
    await clock.advance(20_000);
    expect(runs[0]?.signal.aborted).toBe(false);
    if (lose === 'taken') store.kept = { holder: 'b', until: clock.steady() + 60_000 };
    else store.isAway = true;
    await clock.advance(10_000);
    if (lose === 'away') {
      // It was given for a minute, fifteen seconds ago.
      expect(runs[0]?.signal.aborted).toBe(false);
      await clock.advance(40_000);
    }
    expect(runs[0]?.signal.aborted).toBe(true);
    expect(runs).toHaveLength(1);
    await a.stop();
  }
});
