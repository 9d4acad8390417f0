/** The engine for due work at its limits: pauses to the millisecond, what a stop finds under way, and when it looks. */
import { expect, test } from 'bun:test';

import { DueWork } from '../../../src/flow/due/due-work.ts';
import type { DueWorkOptions } from '../../../src/flow/due/due-work.ts';
import { StoreFullError } from '../../../src/store/store.ts';
import { TestClock } from '../../rig/clock.ts';

interface Row {
  id: string;
}

/** An engine that writes down all it does, each with the milliseconds since its beginning. */
function start(change: Partial<DueWorkOptions<string, Row>> = {}) {
  const clock = new TestClock();
  // The wall clock is an hour behind: all of this goes by the time that has really passed.
  clock.jump(-3_600_000);
  const beganAt = clock.steady();
  const line: string[] = [];
  const seen: string[] = [];
  const note = (what: string): void => void seen.push(`${clock.steady() - beganAt} ${what}`);
  const due = new DueWork<string, Row>({
    clock,
    owner: 'me',
    leaseMs: 90_000,
    shortestLookMs: 250,
    isCurrent: () => true,
    async look() {
      note('look');
      return null;
    },
    pick: () => line.splice(0),
    idOf: (id) => id,
    async begin(claims) {
      note(`begin ${claims.join()}`);
      return claims.map((id) => ({ id }));
    },
    run: (_, { id }) => note(`run ${id}`),
    release: (id) => note(`release ${id}`),
    forgotten: () => note('forgotten'),
    failed: (fault, error) => note(`${fault}: ${error instanceof Error ? error.message : ''}`),
    ...change,
  });
  const wakeWith = async (id: string): Promise<void> => {
    line.push(id);
    due.wake();
    await clock.advance(0);
  };
  return { clock, beganAt, line, seen, due, wakeWith };
}

const FULL = new StoreFullError('the disk is full');

test('a full disk pauses claims for exactly 2 s from its last report, and is told once a pause', async () => {
  const { clock, seen, due, wakeWith } = start();
  due.start();
  await clock.advance(0);
  due.pauseForFullDisk(FULL);
  await clock.advance(1_500);
  due.pauseForFullDisk(FULL);
  expect(clock.pending()).toHaveLength(2);
  await clock.advance(1_999);
  await wakeWith('a');
  expect(seen).toEqual(['0 look', '0 full: the disk is full']);
  await clock.advance(1);
  await wakeWith('b');
  // The timer of the first report has gone on to the end of another pause: it looks then.
  await clock.advance(500);
  expect(seen.slice(2)).toEqual(['3500 begin a,b', '3500 run a', '3500 run b', '4000 look']);
  await clock.advance(10_000);
  expect(seen).toHaveLength(6);
});

test('a disk that is full again as the pause ends is told again, and a row that waits is begun after it', async () => {
  const { clock, seen, due, line } = start();
  due.start();
  await clock.advance(0);
  due.pauseForFullDisk(FULL);
  line.push('a');
  await clock.advance(1_999);
  clock.pass(1);
  due.pauseForFullDisk(FULL);
  await clock.advance(2_000);
  expect(seen).toEqual([
    '0 look',
    '0 full: the disk is full',
    '2000 full: the disk is full',
    '4000 look',
    '4000 begin a',
    '4000 run a',
  ]);
});

test('what is not its own is neither looked for nor begun', async () => {
  let isCurrent = false;
  const { clock, seen, due, line, wakeWith } = start({ isCurrent: () => isCurrent });
  due.start();
  await wakeWith('a');
  due.lookSoon();
  await clock.advance(1_000);
  expect([seen, line]).toEqual([[], ['a']]);
  isCurrent = true;
  due.lookSoon();
  due.wake();
  await clock.advance(0);
  expect(seen).toEqual(['1000 look', '1000 begin a', '1000 run a']);
});

test('it looks by the times it is given: not faster than the shortest, not slower than the longest', async () => {
  let next: number | null = 0;
  const looks: number[] = [];
  const options = { clock: new TestClock(), longestLookMs: 1_000 };
  const beganAt = options.clock.steady();
  const { clock, due } = start({
    ...options,
    async look() {
      looks.push(options.clock.steady() - beganAt);
      return next;
    },
  });
  expect([due.owner, due.isRunning, clock.pending()]).toEqual(['me', false, []]);
  due.start();
  expect(due.isRunning).toBe(true);
  await options.clock.advance(500);
  next = null;
  await options.clock.advance(2_250);
  due.lookBy(beganAt + 3_000);
  await options.clock.advance(249);
  expect(looks).toEqual([0, 250, 500, 750, 1_750, 2_750]);
  await options.clock.advance(1);
  expect(looks.slice(6)).toEqual([3_000]);
});

test('a look that fails is told, and stops no claim', async () => {
  const { seen, due, wakeWith } = start({
    look: () => Promise.reject(new Error('no such table')),
  });
  due.start();
  await wakeWith('a');
  expect(seen).toEqual(['0 look: no such table', '0 begin a', '0 run a']);
});

test('before its start, and after its end, it begins nothing and looks for nothing', async () => {
  const { clock, seen, due, line, wakeWith } = start();
  due.lookSoon();
  due.lookBy(0);
  await wakeWith('a');
  due.start();
  due.wake();
  await due.drain();
  expect([due.isRunning, due.inFlight]).toEqual([false, 0]);
  due.lookSoon();
  due.lookBy(0);
  await wakeWith('b');
  await clock.advance(60 * 60_000);
  // The wake before the end came to nothing after it.
  expect([seen, line, clock.pending()]).toEqual([['0 look'], ['a', 'b'], []]);
});

test('the end waits for each row under way, and for claims that are being marked', async () => {
  const marked = Promise.withResolvers<undefined>();
  const { seen, due, wakeWith } = start({
    async begin(claims) {
      await marked.promise;
      return claims.map((id) => ({ id }));
    },
  });
  due.start();
  await wakeWith('a');
  due.runBegun('b', { id: 'b' });
  expect(due.inFlight).toBe(2);
  let isOver = false;
  const drained = due.drain().then(() => (isOver = true));
  due.ended();
  marked.resolve(undefined);
  await new Promise((resolve) => setImmediate(resolve));
  expect([seen, due.inFlight, isOver]).toEqual([['0 look', '0 run b', '0 run a'], 1, false]);
  due.ended();
  await drained;
  expect(due.inFlight).toBe(0);
});

test('the end waits for the look, and for what ended while it waited for that', async () => {
  for (const hasWork of [false, true]) {
    const looked = Promise.withResolvers<null>();
    const { due, clock } = start({ look: () => looked.promise });
    due.start();
    await clock.advance(0);
    if (hasWork) due.runBegun('a', { id: 'a' });
    let isOver = false;
    const drained = due.drain().then(() => (isOver = true));
    if (hasWork) due.ended();
    await new Promise((resolve) => setImmediate(resolve));
    expect(isOver).toBe(false);
    looked.resolve(null);
    await drained;
  }
});

test('claims whose marking fails as it ends are released at once, and nothing is left to wait for', async () => {
  const marked = Promise.withResolvers<undefined>();
  const { clock, seen, due, wakeWith } = start({
    async begin() {
      await marked.promise;
      throw new Error('a bug of ours');
    },
  });
  due.start();
  await wakeWith('a');
  const drained = due.drain();
  marked.resolve(undefined);
  await drained;
  expect(seen.slice(1)).toEqual(['0 begin: a bug of ours', '0 release a', '0 forgotten']);
  expect(clock.pending()).toEqual([]);
});

test('claims that keep their slots after a fault give each back once, by time or by the end', async () => {
  const { clock, seen, due, wakeWith } = start({
    begin: () => Promise.reject(new Error('a bug of ours')),
  });
  due.start();
  await wakeWith('a');
  await clock.advance(4_999);
  await wakeWith('b');
  expect([due.inFlight, seen.length]).toEqual([2, 3]);
  await clock.advance(1);
  expect(seen.slice(3)).toEqual(['5000 release a', '5000 forgotten', '5000 look']);
  await due.drain();
  expect(seen.slice(6)).toEqual(['5000 release b', '5000 forgotten']);
  expect([due.inFlight, clock.pending()]).toEqual([0, []]);
  await clock.advance(10_000);
  expect(seen).toHaveLength(8);
});

test('what a claim gives back lets what waits begin: it wakes again', async () => {
  const { seen, due, line, wakeWith } = start({
    begin: (claims) => Promise.resolve(claims.filter((id) => id !== 'a').map((id) => ({ id }))),
    release(id) {
      line.push(`${id} again`);
    },
  });
  due.start();
  await wakeWith('a');
  expect(seen).toEqual(['0 look', '0 run a again']);
  line.push('c');
  due.ended();
  await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
  expect(seen.slice(2)).toEqual(['0 run c']);
});
