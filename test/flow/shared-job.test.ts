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
  // The wall clock is an hour behind: all of this goes by the time that has really passed.
  clock.jump(-3_600_000);
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

test('what is asked of the store in a run, how long each lease is, and when the node asks again', async () => {
  const clock = new TestClock();
  const asked: unknown[][] = [];
  let isOurs = true;
  const store: JobStore = {
    async takeJob(...args) {
      asked.push(['take', clock.elapsedMs, ...args]);
      return isOurs;
    },
    async endJob(...args) {
      asked.push(['end', clock.elapsedMs, ...args]);
    },
  };
  const work = { end: (_failure?: Error): void => undefined };
  const signals: AbortSignal[] = [];
  const job: Job = {
    firstMs: 7,
    failure: { event: 'x_failed', hint: 'Look.' },
    everyMs: () => EVERY_MS,
    run: (signal) => {
      signals.push(signal);
      return new Promise<void>((resolve, reject) => {
        work.end = (failure) => (failure === undefined ? resolve() : reject(failure));
      });
    },
  };
  const shared = new SharedJob({ store, clock, holder: 'me' }, 'x', job);
  expect([shared.firstMs, shared.failure, shared.everyMs()]).toEqual([
    7,
    { event: 'x_failed', hint: 'Look.' },
    30_000,
  ]);
  const alive = new AbortController().signal;
  const first = shared.run(alive);
  await clock.advance(30_000);
  work.end();
  await first;
  expect([asked.splice(0), shared.everyMs()]).toEqual([
    [
      ['take', 0, 'x', 'me', 60_000],
      ['take', 15_000, 'x', 'me', 60_000],
      ['take', 30_000, 'x', 'me', 60_000],
      ['end', 30_000, 'x', 'me', EVERY_MS],
    ],
    EVERY_MS,
  ]);
  // No renewal is left behind.
  expect(clock.pending()).toEqual([]);
  // A run that fails ends like another; one that is cut short leaves the job to others at once.
  const failing = shared.run(alive);
  await clock.advance(0);
  work.end(new Error('no'));
  expect(await failing.catch((error: Error) => error.message)).toBe('no');
  const stopping = new AbortController();
  const cut = shared.run(stopping.signal);
  await clock.advance(0);
  stopping.abort();
  expect(signals.at(-1)?.aborted).toBe(true);
  work.end();
  await cut;
  expect(asked.splice(0).map(([what, , , , ms]) => [what, ms])).toEqual([
    ['take', 60_000],
    ['end', EVERY_MS],
    ['take', 60_000],
    ['end', 0],
  ]);
  expect(clock.pending()).toEqual([]);
  isOurs = false;
  await shared.run(alive);
  expect([asked.length, signals.length, shared.everyMs()]).toEqual([1, 3, 30_000]);
});

test('a job that comes more often than nodes ask keeps its own pace', () => {
  const clock = new TestClock();
  const job: Job = {
    firstMs: 0,
    failure: { event: 'x_failed', hint: '' },
    everyMs: () => 29_999,
    run: async () => undefined,
  };
  const shared = new SharedJob({ store: new Jobs(clock), clock, holder: 'me' }, 'x', job);
  expect(shared.everyMs()).toBe(29_999);
});

test('a lease that cannot be renewed is given up 15 seconds before its end, one that another has at once', async () => {
  const abortedAt = async (lose: (jobs: Jobs, clock: TestClock) => void): Promise<number> => {
    const { clock, store, runs, node } = setUp();
    const a = node('a', true);
    a.start();
    await clock.advance(0);
    lose(store, clock);
    while (runs[0]?.signal.aborted === false) await clock.advance(1_000);
    await a.stop();
    return clock.elapsedMs;
  };
  expect([
    await abortedAt((store) => (store.isAway = true)),
    await abortedAt((store, clock) => (store.kept = { holder: 'b', until: clock.steady() + 1e6 })),
  ]).toEqual([45_000, 15_000]);
});

/** A store whose renewals are answered when the test says so; `asked` has when each was asked. */
function slowStore(clock: TestClock) {
  const asked: number[] = [];
  const answers: PromiseWithResolvers<boolean>[] = [];
  const ended: number[] = [];
  const store: JobStore = {
    takeJob() {
      asked.push(clock.elapsedMs);
      const answer = Promise.withResolvers<boolean>();
      if (asked.length === 1) answer.resolve(true);
      else answers.push(answer);
      return answer.promise;
    },
    async endJob() {
      ended.push(clock.elapsedMs);
    },
  };
  const work = Promise.withResolvers<void>();
  const signals: AbortSignal[] = [];
  const job: Job = {
    firstMs: 0,
    failure: { event: 'x_failed', hint: '' },
    everyMs: () => EVERY_MS,
    run(signal) {
      signals.push(signal);
      return work.promise;
    },
  };
  const shared = new SharedJob({ store, clock, holder: 'me' }, 'x', job);
  const run = shared.run(new AbortController().signal);
  return { asked, answers, ended, work, signals, run };
}

test('a lease that was renewed late counts from the question', async () => {
  const clock = new TestClock();
  const { asked, answers, work, signals, run } = slowStore(clock);
  await clock.advance(40_000);
  answers[0]?.resolve(true);
  await clock.advance(15_000);
  answers[1]?.reject(new Error('away'));
  await clock.advance(14_999);
  expect(signals[0]?.aborted).toBe(false);
  await clock.advance(1);
  answers[2]?.reject(new Error('away'));
  await clock.advance(0);
  // Asked for at 15 s, for a minute; whoever cannot renew it gives it up at 70 s, not at 85 s.
  expect([asked, signals[0]?.aborted]).toEqual([[0, 15_000, 55_000, 70_000], true]);
  work.resolve();
  await run;
});

test('the end of a run waits for a renewal that is under way, and none follows it', async () => {
  const clock = new TestClock();
  const { asked, answers, ended, work, run } = slowStore(clock);
  await clock.advance(15_000);
  work.resolve();
  await clock.advance(5_000);
  expect(ended).toEqual([]);
  answers[0]?.resolve(true);
  await run;
  expect([ended, clock.pending()]).toEqual([[20_000], []]);
  await clock.advance(60_000);
  expect(asked).toEqual([0, 15_000]);
});

test('a run whose end the store does not take fails as the store does, after the job', async () => {
  const { clock, store } = setUp();
  const seen: string[] = [];
  store.endJob = async () => {
    seen.push('end');
    throw new Error('away');
  };
  const job: Job = {
    firstMs: 0,
    failure: { event: 'x_failed', hint: '' },
    everyMs: () => EVERY_MS,
    run: async () => void seen.push('run'),
  };
  const shared = new SharedJob({ store, clock, holder: 'a' }, 'x', job);
  expect(await shared.run(new AbortController().signal).catch(String)).toBe('Error: away');
  expect(seen).toEqual(['run', 'end']);
  // The lease is not renewed any more: another one may have it when it is over.
  expect(clock.pending()).toEqual([]);
});
