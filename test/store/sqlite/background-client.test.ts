/**
 * The main thread's side of the background thread: when it asks for indexing and when not, that reads and backups reach the
 * right thread, and what it says of failures. The test plays the threads and the timers.
 */
import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
// oxlint-disable-next-line import/no-namespace -- one function of it is watched
import * as promises from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Log } from '../../../src/base/log.ts';
import { BackgroundClient } from '../../../src/store/sqlite/background-client.ts';
import { SearchUnreadyError } from '../../../src/store/store.ts';
import { Arrivals } from '../../rig/arrivals.ts';
import { StubWorker, threads } from './stub-worker.ts';

const RealWorker = globalThis.Worker;

interface Timer {
  ms: number | undefined;
  state: 'waits' | 'fired' | 'cleared';
  isLeft: boolean;
  fire(): void;
}

let lines: unknown[][];
let timers: Timer[];
let client: BackgroundClient;

beforeEach(() => {
  threads.length = 0;
  lines = [];
  timers = [];
  globalThis.Worker = StubWorker as unknown as typeof RealWorker;
  spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, ms?: number) => {
    const timer: Timer = {
      ms,
      state: 'waits',
      isLeft: false,
      fire() {
        timer.state = 'fired';
        run();
      },
    };
    timers.push(timer);
    return Object.assign(timer, { unref: () => void (timer.isLeft = true) });
  }) as unknown as typeof setTimeout);
  spyOn(globalThis, 'clearTimeout').mockImplementation(((timer: Timer) => {
    timer.state = 'cleared';
  }) as unknown as typeof clearTimeout);
  const note =
    (level: string) =>
    (...line: unknown[]) =>
      void lines.push([level, ...line]);
  const log: Log = { info: note('info'), warn: note('warn'), error: note('error') };
  client = new BackgroundClient(log);
});

afterEach(() => {
  spyOn(globalThis, 'setTimeout').mockRestore();
  spyOn(globalThis, 'clearTimeout').mockRestore();
  globalThis.Worker = RealWorker;
});

function thread(at: number): StubWorker {
  const found = threads[at];
  if (found === undefined) throw new Error(`no thread ${at}`);
  return found;
}

/** Lets what was settled go on. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function answer(ticket: number, value: unknown = null, at = 0): Promise<void> {
  thread(at).say({ ticket, value });
  await settled();
}

async function fail(ticket: number, message: string, at = 0): Promise<void> {
  thread(at).say({ ticket, error: { name: 'Error', message } });
  await settled();
}

/** Fires the last timer. */
async function fire(): Promise<void> {
  timers.at(-1)?.fire();
  await settled();
}

async function open(): Promise<void> {
  const opening = client.open('/data', 5);
  await answer(1);
  await opening;
}

const waits = (): unknown[] =>
  timers.filter(({ state }) => state === 'waits').map(({ ms, isLeft }) => [ms, isLeft]);

const asked = (at = 0): unknown[] => thread(at).received.items;

test('rows are gathered for a second; those that come while the index is brought up to date are for the next time', async () => {
  client.noteRows();
  expect([threads, timers]).toEqual([[], []]);
  await open();
  expect(asked()).toEqual([{ ticket: 1, request: { kind: 'open', dataDir: '/data', now: 5 } }]);
  // What was stored before the start is indexed, too; the process may end meanwhile.
  client.noteRows();
  client.noteRows();
  expect(waits()).toEqual([[1_000, true]]);
  await fire();
  expect(asked().slice(1)).toEqual([{ ticket: 2, request: { kind: 'index' } }]);
  expect(waits()).toEqual([]);
  client.noteRows();
  expect(waits()).toEqual([]);
  await answer(2);
  expect(waits()).toEqual([[1_000, true]]);
  await fire();
  await answer(3);
  expect([waits(), asked()]).toEqual([
    [],
    [expect.anything(), expect.anything(), expect.anything()],
  ]);
  client.noteRows();
  expect(waits()).toEqual([[1_000, true]]);
  const closing = client.close();
  expect(waits()).toEqual([]);
  await settled();
  await answer(4);
  await closing;
  expect(lines).toEqual([]);
});

test('an index that fails is said and tried again after half a minute, not sooner, whatever comes', async () => {
  await open();
  await fire();
  await fail(2, 'the disk is full');
  expect(lines).toEqual([
    [
      'warn',
      'search_index_failed',
      {
        error: new Error('the disk is full'),
        hint: 'Searches find everything, only slower. The next try is in 30 seconds; check the free disk space.',
      },
    ],
  ]);
  expect(waits()).toEqual([[30_000, true]]);
  client.noteRows();
  expect(waits()).toEqual([[30_000, true]]);
  await fire();
  await answer(3);
  expect([lines.length, waits()]).toEqual([1, []]);
  client.noteRows();
  expect(waits()).toEqual([[1_000, true]]);
});

test('each long read goes to the thread by its name, and its result or its failure comes back', async () => {
  await open();
  const reads = client.reads();
  const names = Object.keys(reads);
  expect(names.toSorted()).toEqual(
    (
      'attemptDetail audit body callAttempts countsByStatus domains dueRows emails emailsByPage harm harmedAccounts listedBody' +
      ' logs messageForDelivery openCalls outcomes queue queueCounts retryCount sandboxCountsByStatus suppressions'
    ).split(' '),
  );
  const verbs: object = reads;
  const answers = Object.entries(verbs).map(
    ([name, verb]: [string, (...args: unknown[]) => unknown]) => verb(name, [1], null),
  );
  expect(asked().slice(1)).toEqual(
    names.map((name, at) => ({
      ticket: at + 2,
      request: { kind: 'read', name, args: [name, [1], null] },
    })),
  );
  // The last first: each has a number.
  for (let at = names.length - 1; at > 0; at -= 1) await answer(at + 2, `of ${names[at]}`);
  thread(0).say({ ticket: 2, error: { name: 'SearchUnreadyError', message: '' } });
  expect(await Promise.allSettled(answers)).toEqual([
    { status: 'rejected', reason: new SearchUnreadyError() },
    ...names.slice(1).map((name) => ({ status: 'fulfilled' as const, value: `of ${name}` })),
  ]);
});

test('a thread that dies is said; what it was asked fails, and the next one is opened before it is asked', async () => {
  await open();
  await fire();
  const waiting = client.reads().queueCounts(null, 9);
  thread(0).die('out of memory');
  expect(await Promise.allSettled([waiting])).toEqual([
    { status: 'rejected', reason: new Error('out of memory') },
  ]);
  await settled();
  expect(lines).toEqual([
    [
      'error',
      'background_thread_died',
      {
        cause: 'out of memory',
        hint: 'Lists and searches under way have failed; the next one starts another thread. Report it if it repeats.',
      },
    ],
    ['warn', 'search_index_failed', expect.anything()],
  ]);
  expect(threads).toHaveLength(1);
  await fire();
  expect([asked(1), thread(1).file]).toEqual([
    [
      { ticket: 4, request: { kind: 'open', dataDir: '/data', now: 5 } },
      { ticket: 5, request: { kind: 'index' } },
    ],
    'background.ts',
  ]);
  // An opening that fails is heard of by what comes after it.
  await fail(4, 'no file', 1);
  await fail(5, 'not open', 1);
  expect(lines.at(-1)).toEqual([
    'warn',
    'search_index_failed',
    { error: new Error('not open'), hint: expect.any(String) },
  ]);
  expect(threads).toHaveLength(2);
});

test('a backup has a thread of its own, which goes after it; closing waits for it', async () => {
  const looks: unknown[] = [];
  const every = spyOn(globalThis, 'setInterval').mockImplementation(((_: unknown, ms: number) => {
    looks.push(ms);
    return looks.length;
  }) as unknown as typeof setInterval);
  const ended: unknown[] = [];
  const end = spyOn(globalThis, 'clearInterval').mockImplementation((look) => {
    ended.push(look);
  });
  await open();
  await fire();
  await answer(2);
  const copies = ['/one', '/two'].map((file) => client.backUp('/data', file, () => undefined));
  const ends = Promise.allSettled(copies);
  expect(threads.map(({ file }) => file)).toEqual([
    'background.ts',
    'backup-thread.ts',
    'backup-thread.ts',
  ]);
  expect([asked(1), asked(2)]).toEqual([
    [{ ticket: 1, request: { dataDir: '/data', file: '/one' } }],
    [{ ticket: 1, request: { dataDir: '/data', file: '/two' } }],
  ]);
  const closing = client.close();
  await settled();
  expect(waits()).toEqual([]);
  await answer(1, { file: '/one', bytes: 1, rows: {} }, 1);
  expect(await copies[0]).toEqual({ file: '/one', bytes: 1, rows: {} });
  // How far it is, is looked at every ten seconds until it has ended.
  expect([looks, ended]).toEqual([[10_000, 10_000], [1]]);
  expect([threads.map(({ isLeft }) => isLeft), asked()]).toEqual([
    [false, true, false],
    [expect.anything(), expect.anything()],
  ]);
  await fail(1, 'it does not fit', 2);
  expect(await ends).toEqual([
    expect.objectContaining({ status: 'fulfilled' }),
    { status: 'rejected', reason: new Error('it does not fit') },
  ]);
  expect(ended).toEqual([1, 2]);
  for (const spy of [every, end]) spy.mockRestore();
  await settled();
  expect(asked().slice(2)).toEqual([{ ticket: 3, request: { kind: 'close' } }]);
  expect(threads.map(({ isLeft }) => isLeft)).toEqual([false, true, true]);
  await answer(3);
  await closing;
  expect(threads.map(({ isLeft }) => isLeft)).toEqual([true, true, true]);
  client.noteRows();
  expect(waits()).toEqual([]);
});

test('of a backup it is told how long its draft is, which is flushed meanwhile', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-progress-'));
  const file = join(folder, 'one.backup');
  writeFileSync(`${file}.part`, 'x'.repeat(300));
  let look: unknown = null;
  const every = spyOn(globalThis, 'setInterval').mockImplementation(((run: unknown) => {
    look = run;
    return 1;
  }) as unknown as typeof setInterval);
  const told = new Arrivals<unknown>('words of progress');
  const opening = spyOn(promises, 'open');
  const copy = client.backUp('/data', file, (progress) => told.push(progress));
  every.mockRestore();
  if (typeof look !== 'function') throw new Error('nobody looks');
  look();
  await told.atLeast(1);
  expect(told.items).toEqual([300]);
  await answer(1, { file, bytes: 300, rows: {} });
  await copy;
  expect(opening.mock.calls[0]?.[0]).toBe(`${file}.part`);
  opening.mockRestore();
  rmSync(folder, { recursive: true });
});

test('a store that could not be opened lets the process end', async () => {
  const opening = Promise.allSettled([client.open('/data', 5)]);
  await fail(1, 'no such file');
  expect(await opening).toEqual([{ status: 'rejected', reason: new Error('no such file') }]);
  expect([thread(0).isLeft, waits()]).toEqual([false, []]);
  client.abandon();
  expect(thread(0).isLeft).toBe(true);
});
