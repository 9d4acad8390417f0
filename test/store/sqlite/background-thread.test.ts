/**
 * The background thread's program, told what the main thread asks: that indexing gives way to reads, stops for a full disk,
 * and tidies up in quiet times alone. The test plays the timers and the time that a step takes.
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect, spyOn, test } from 'bun:test';
import { copyFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { DiskReserve } from '../../../src/store/disk-reserve.ts';
import { Indexer } from '../../../src/store/sqlite/indexer.ts';
import { newAccount, newSuppression } from '../samples.ts';
import { openTestStore } from '../test-store.ts';
import { openIn } from './open-files.ts';
import { threadAtHand } from './thread-at-hand.ts';
import type { ThreadAtHand } from './thread-at-hand.ts';
import { rowsIn } from './writer-told.ts';

interface Timer {
  ms: number | undefined;
  isCleared: boolean;
  fire(): void;
}

const account = newAccount('default');
let thread: ThreadAtHand;
let dir: string;
let ticket: number;
let timers: Timer[];
/** What the indexer was asked for, and what it answers next; the last answer again and again. */
let done: string[];
let answers: boolean[];
const spies: { mockRestore(): void }[] = [];

beforeAll(async () => {
  thread = await threadAtHand(() => import('../../../src/store/sqlite/background.ts'));
  dir = mkdtempSync(join(tmpdir(), 'postrider-background-'));
  const store = await openTestStore(dir);
  await store.createAccount(account);
  await store.addSuppressions(
    Array.from({ length: 2_001 }, (_, at) => newSuppression(account.id, `r${at}@x.example`)),
  );
  await store.close();
});
afterAll(() => {
  thread.leave();
  rmSync(dir, { recursive: true });
});

beforeEach(async () => {
  thread.said.clear();
  thread.ended.length = 0;
  ticket = 0;
  timers = [];
  done = [];
  answers = [false];
  const next = (what: string): boolean => {
    done.push(what);
    return (answers.length > 1 ? answers.shift() : answers[0]) ?? false;
  };
  spies.push(
    spyOn(Indexer.prototype, 'step').mockImplementation(() => next('step')),
    spyOn(Indexer.prototype, 'tidyStep').mockImplementation(() => next('tidy')),
  );
  await ask({ kind: 'open', dataDir: dir, now: 5 });
  spies.push(
    spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, ms?: number) => {
      const timer: Timer = { ms, isCleared: false, fire: run };
      timers.push(timer);
      return timer;
    }) as unknown as typeof setTimeout),
    spyOn(globalThis, 'clearTimeout').mockImplementation(((timer?: Timer) => {
      if (timer !== undefined) timer.isCleared = true;
    }) as unknown as typeof clearTimeout),
  );
});

afterEach(async () => {
  if (thread.ended.length === 0) await ask({ kind: 'close' });
  for (const spy of spies.splice(0)) spy.mockRestore();
});

const immediately = setImmediate;
const tick = (): Promise<void> => new Promise((resolve) => immediately(resolve));

function tell(request: unknown): number {
  thread.tell({ ticket: ++ticket, request });
  return ticket;
}

/** What it answers, with the stack of an error left out. */
async function ask(request: unknown): Promise<unknown> {
  const asked = tell(request);
  for (;;) {
    const told = thread.said.items.find((item) => (item as { ticket: number }).ticket === asked);
    if (told !== undefined) {
      const { value, error } = told as {
        value?: unknown;
        error?: { name: string; message: string };
      };
      return error === undefined ? value : `${error.name}: ${error.message}`;
    }
    await tick();
  }
}

const lists = (q: string): unknown => ({
  kind: 'read',
  name: 'suppressions',
  args: [account.id, q, { limit: 1, after: null, before: null }],
});

test('steps until the index has caught up, then is tidied after five quiet seconds, step by step', async () => {
  answers = [true, true, false];
  expect(await ask({ kind: 'index' })).toBeNull();
  expect([done, timers.map(({ ms }) => ms)]).toEqual([['step', 'step', 'step'], [5_000]]);
  answers = [true, true, false];
  for (let at = 0; at < 3; at += 1) timers[at]?.fire();
  expect(done.slice(3)).toEqual(['tidy', 'tidy', 'tidy']);
  expect(timers.map(({ ms }) => ms)).toEqual([5_000, 0, 0]);
  // New rows put the tidying off.
  await ask({ kind: 'index' });
  await ask({ kind: 'index' });
  expect(timers.slice(2).map(({ ms, isCleared }) => [ms, isCleared])).toEqual([
    [0, true],
    [5_000, true],
    [5_000, false],
  ]);
});

test('a failed tidying is not tried again before the next indexing', async () => {
  await ask({ kind: 'index' });
  spies.push(
    spyOn(Indexer.prototype, 'tidyStep').mockImplementation(() => {
      throw new Error('the disk is full');
    }),
  );
  timers[0]?.fire();
  expect(timers).toHaveLength(1);
  await ask({ kind: 'index' });
  expect(timers).toHaveLength(2);
});

test('nothing is indexed or tidied while the disk reserve is short', async () => {
  await ask({ kind: 'index' });
  const isShort = spyOn(DiskReserve.prototype, 'isShort').mockReturnValue(true);
  spies.push(isShort);
  timers[0]?.fire();
  expect(await ask({ kind: 'index' })).toBe('StoreFullError: the disk is full');
  expect([done, timers.length]).toEqual([['step'], 1]);
  isShort.mockReturnValue(false);
  expect(await ask({ kind: 'index' })).toBeNull();
  expect(done).toEqual(['step', 'step']);
});

test('while somebody reads, the next step comes a quarter of a second after the one before', async () => {
  let now = 1_000;
  const paused: (() => void)[] = [];
  spies.push(
    spyOn(performance, 'now').mockImplementation(() => now),
    spyOn(globalThis, 'setImmediate').mockImplementation(((run: () => void) => {
      paused.push(run);
    }) as unknown as typeof setImmediate),
  );
  answers = [true];
  // It looks through more rows than those of one step, and lets others in between.
  const read = tell(lists('nobody'));
  const [goOn] = paused;
  expect(paused).toHaveLength(1);
  tell({ kind: 'index' });
  await tick();
  const seen: unknown[] = [];
  const pass = async (ms: number): Promise<void> => {
    now += ms;
    paused.at(-1)?.();
    await tick();
    seen.push([ms, done.length]);
  };
  for (const ms of [0, 249, 1, 249]) await pass(ms);
  goOn?.();
  await tick();
  expect(thread.said.items.at(-1)).toEqual({ ticket: read, value: { rows: [], hasMore: false } });
  for (const ms of [0, 0]) await pass(ms);
  expect(seen).toEqual([
    [0, 1],
    [249, 1],
    [1, 2],
    [249, 2],
    [0, 3],
    [0, 4],
  ]);
  answers = [false];
  await pass(0);
  expect(thread.said.items.at(-1)).toEqual({ ticket: read + 1, value: null });
});

test('a read that has failed is no longer under way: the steps of indexing wait for nobody', async () => {
  // It has no page, and fails within its verb.
  const broken = { kind: 'read', name: 'suppressions', args: [account.id, 'x'] };
  expect(await ask(broken)).toStartWith('TypeError');
  expect(await ask({ kind: 'read', name: 'nothing', args: [] })).toBe('Error: no read nothing');
  let now = 1_000;
  spies.push(spyOn(performance, 'now').mockImplementation(() => (now += 1)));
  answers = [true, true, false];
  await ask({ kind: 'index' });
  // The time was asked once for each step.
  expect([done.length, now]).toEqual([3, 1_003]);
});

test('an index that is not there is made when the thread is opened, at the time that it is told', async () => {
  await ask({ kind: 'close' });
  const other = mkdtempSync(join(tmpdir(), 'postrider-background-'));
  for (const name of ['mail.db', 'log.db']) copyFileSync(join(dir, name), join(other, name));
  await ask({ kind: 'open', dataDir: other, now: 77 });
  expect(rowsIn(other, 'SELECT DISTINCT applied_at FROM migrations', 'search.db')).toEqual([
    { applied_at: 77 },
  ]);
  expect(await ask(lists('r5'))).toMatchObject({ rows: [{ email: 'r599@x.example' }] });
  // Nothing of it stays open after the end.
  expect(openIn(other).length).toBeGreaterThan(0);
  await ask({ kind: 'close' });
  expect(openIn(other)).toEqual([]);
  rmSync(other, { recursive: true });
});

test('a read that is not known fails, and so does each after the end', async () => {
  expect(await ask({ kind: 'read', name: 'nothing', args: [] })).toBe('Error: no read nothing');
  expect(await ask(lists('nobody'))).toEqual({ rows: [], hasMore: false });
  await ask({ kind: 'index' });
  expect(await ask({ kind: 'close' })).toBeNull();
  expect([thread.ended, timers[0]?.isCleared]).toEqual([[0], true]);
  // Readers go before the index is closed, which empties its log then.
  expect(readdirSync(dir).filter((name) => name.startsWith('search'))).toEqual(['search.db']);
  expect(await ask(lists('nobody'))).toBe('Error: no read suppressions');
  // Late words of timers and of the main thread find nothing open.
  timers[0]?.fire();
  expect(await ask({ kind: 'index' })).toBeNull();
  expect(done).toEqual(['step']);
});
