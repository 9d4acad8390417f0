/** The main thread's side of the writer: what it sends, which promise each result settles, and how the process ends. */
import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test';

import type { Log } from '../../../src/base/log.ts';
import { OperatorError } from '../../../src/base/errors.ts';
import { WriterClient } from '../../../src/store/sqlite/writer-client.ts';
import { StoreFullError } from '../../../src/store/store.ts';
import { StubWorker, threads } from './stub-worker.ts';

const RealWorker = globalThis.Worker;

let lines: unknown[][];
let commits: unknown[][];
let client: WriterClient;

function thread(): StubWorker {
  const [first] = threads;
  if (first === undefined) throw new Error('no thread was started');
  return first;
}

beforeEach(() => {
  threads.length = 0;
  lines = [];
  commits = [];
  globalThis.Worker = StubWorker as unknown as typeof RealWorker;
  const note =
    (level: string) =>
    (...line: unknown[]) =>
      void lines.push([level, ...line]);
  const log: Log = { info: note('info'), warn: note('warn'), error: note('error') };
  client = new WriterClient(log, (...commit) => void commits.push(commit));
});
const undo: (() => void)[] = [];
afterEach(() => {
  globalThis.Worker = RealWorker;
  for (const step of undo.splice(0)) step();
});

/** Opens it as the writer does. */
async function open(): Promise<void> {
  const opening = client.open('/data', 5);
  await thread().received.atLeast(1);
  thread().say({ kind: 'ready' });
  await opening;
}

test('what is asked in one tick travels together, in its order, and each result settles its own promise', async () => {
  expect(client.write('scrubMail')).rejects.toThrow('the store is closed');
  await open();
  const writes = [
    client.write('revokeKey', 'a', 'k', 1),
    client.writeLog('dropAccountLogsStep', 'a', 9),
    client.write('renameKey', 'a', 'k', 'name'),
  ];
  await thread().received.atLeast(2);
  const later = client.write('retryStep', { id: null, domain: null }, 3, 'id', 4);
  await thread().received.atLeast(3);
  expect(threads.map(({ file }) => file)).toEqual(['writer.ts']);
  expect(thread().received.items).toEqual([
    [{ kind: 'open', dataDir: '/data', now: 5 }],
    [
      { kind: 'write', ticket: 1, request: { name: 'revokeKey', args: ['a', 'k', 1] } },
      { kind: 'write', ticket: 2, request: { name: 'dropAccountLogsStep', args: ['a', 9] } },
      { kind: 'write', ticket: 3, request: { name: 'renameKey', args: ['a', 'k', 'name'] } },
    ],
    [
      {
        kind: 'write',
        ticket: 4,
        request: { name: 'retryStep', args: [{ id: null, domain: null }, 3, 'id', 4] },
      },
    ],
  ]);
  const full = { name: 'StoreFullError', message: 'the disk is full' };
  thread().say({
    kind: 'done',
    commitMs: 7,
    results: [
      { ticket: 3, value: false },
      { ticket: 1, error: full },
    ],
  });
  thread().say({ kind: 'done', commitMs: null, results: [{ ticket: 2, value: 6 }] });
  const [first, second, third] = await Promise.allSettled(writes);
  expect(first).toEqual({ status: 'rejected', reason: new StoreFullError('the disk is full') });
  expect([second, third]).toEqual([
    { status: 'fulfilled', value: 6 },
    { status: 'fulfilled', value: false },
  ]);
  thread().say({ kind: 'done', commitMs: 8, results: [{ ticket: 4, value: null }] });
  expect(await later).toBeNull();
  // Commits of the log are not durable, and are not told.
  expect(commits).toEqual([
    [7, 2],
    [8, 1],
  ]);
  expect(lines).toEqual([]);
});

/** Timers of ten milliseconds, which are over when they are called; and how many of them were cleared. */
function keptTimers() {
  const timers: (() => void)[] = [];
  const cleared: unknown[] = [];
  const [real, end] = [globalThis.setTimeout, globalThis.clearTimeout];
  const set = spyOn(globalThis, 'setTimeout').mockImplementation(((
    fire: () => void,
    waitMs: number,
  ) => (waitMs === 10 ? timers.push(fire) : real(fire, waitMs))) as typeof setTimeout);
  const clear = spyOn(globalThis, 'clearTimeout').mockImplementation((timer) => {
    if (typeof timer === 'number') cleared.push(timer);
    else end(timer as Timer);
  });
  undo.push(
    () => set.mockRestore(),
    () => clear.mockRestore(),
  );
  return { timers, cleared };
}

const round = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
/** The names of what the writer was sent, one list a message, without its opening. */
const sent = (): string[][] =>
  (thread().received.items as { request?: { name: string }; kind: string }[][])
    .slice(1)
    .map((batch) => batch.map(({ request, kind }) => request?.name ?? kind));
const done = (...tickets: number[]): void =>
  thread().say({
    kind: 'done',
    commitMs: 1,
    results: tickets.map((ticket) => ({ ticket, value: ticket })),
  });

test('what may wait goes with the next write, ahead of it, and is answered with it', async () => {
  await open();
  const { timers, cleared } = keptTimers();
  const first: Promise<unknown> = client.writeWithNext('revokeKey', 'a', 'k', 1);
  await round();
  expect([sent(), timers.length]).toEqual([[], 1]);
  const next: Promise<unknown> = client.write('renameKey', 'a', 'k', 'name');
  expect(cleared).toEqual([1]);
  await thread().received.atLeast(2);
  expect(sent()).toEqual([['revokeKey', 'renameKey']]);
  done(1, 2);
  expect([await first, await next]).toEqual([1, 2]);
});

test('what may wait goes alone after ten milliseconds, and at once while the writer is at work', async () => {
  await open();
  const { timers } = keptTimers();
  const first = client.writeWithNext('revokeKey', 'a', 'k', 1);
  timers[0]?.();
  expect(sent()).toEqual([['revokeKey']]);
  void client.writeWithNext('renameKey', 'a', 'k', 'name');
  await thread().received.atLeast(3);
  expect(sent()).toEqual([['revokeKey'], ['renameKey']]);
  done(1, 2);
  await first;
  void client.writeWithNext('revokeKey', 'a', 'k', 2);
  await round();
  expect([sent().length, timers.length]).toEqual([2, 2]);
  // A second one is the next write of the first.
  void client.writeWithNext('revokeKey', 'a', 'k', 3);
  await thread().received.atLeast(4);
  expect(sent().at(-1)).toEqual(['revokeKey', 'revokeKey']);
});

test('what waits is sent before the end', async () => {
  await open();
  keptTimers();
  void client.writeWithNext('revokeKey', 'a', 'k', 1);
  const closing = client.close();
  await thread().received.atLeast(2);
  expect(sent()).toEqual([['revokeKey', 'close']]);
  thread().say({ kind: 'closed' });
  await closing;
});

test('a writer that has closed takes no more, and the process may end without it', async () => {
  await open();
  expect(thread().isLeft).toBe(false);
  const before = client.write('scrubMail');
  const closing = client.close();
  // It would wait for ever: the writer ends with what was asked before.
  expect(await client.write('scrubMail').catch(String)).toBe('Error: the store is closed');
  await thread().received.atLeast(2);
  expect(thread().received.items.at(-1)).toEqual([
    { kind: 'write', ticket: 1, request: { name: 'scrubMail', args: [] } },
    { kind: 'close' },
  ]);
  thread().say({ kind: 'done', commitMs: null, results: [{ ticket: 1, value: undefined }] });
  expect(await before).toBeUndefined();
  expect(thread().isLeft).toBe(false);
  thread().say({ kind: 'closed' });
  await closing;
  expect(thread().isLeft).toBe(true);
  expect(client.write('scrubMail')).rejects.toThrow('the store is closed');
  expect(thread().received.items).toHaveLength(2);
});

test('what fails before it is open is the fault of opening, and ends no process', async () => {
  const opening = client.open('/data', 5);
  const error = { name: 'OperatorError', message: 'newer', hint: 'Run it.', exitCode: 78 };
  thread().say({ kind: 'fatal', error });
  expect(await opening.catch((reason: unknown) => reason)).toEqual(
    new OperatorError('newer', 'Run it.', 78),
  );
  const again = client.open('/data', 5);
  thread().die('no such file');
  expect(again).rejects.toThrow('no such file');
  expect(lines).toEqual([]);
  client.abandon();
  expect(thread().isLeft).toBe(true);
});

test('a failure while it closes ends the process, as what was asked before has no result', async () => {
  await open();
  const exit = spyOn(process, 'exit').mockImplementation((() => undefined) as never);
  let isSettled = false;
  void client.close().finally(() => (isSettled = true));
  thread().say({ kind: 'fatal', error: { name: 'Error', message: 'disk I/O error' } });
  await new Promise((resolve) => setImmediate(resolve));
  const exits = exit.mock.calls;
  exit.mockRestore();
  expect([exits, isSettled]).toEqual([[[1]], false]);
  expect(lines.map(([level, event]) => [level, event])).toEqual([['error', 'store_failed']]);
});

test('a step of the schema is told while it is opened', async () => {
  const opening = client.open('/data', 5);
  await thread().received.atLeast(1);
  const step = { database: 'mail.db', step: 2, of: 3, name: 'two' };
  thread().say({ kind: 'schema_step', step });
  expect(lines).toEqual([['info', 'schema_step', step]]);
  thread().say({ kind: 'ready' });
  await opening;
});

test('readers that keep a checkpoint from ending are told with the size of the WAL', async () => {
  await open();
  thread().say({ kind: 'checkpoint_blocked', frames: 8_001 });
  expect(lines).toEqual([
    [
      'warn',
      'checkpoint_blocked',
      {
        wal_frames: 8_001,
        hint: 'A program keeps reading the database: a backup tool or a shell. The WAL file grows until it stops.',
      },
    ],
  ]);
});

test.each(['fatal', 'death'])(
  'after a failure of the open writer (%s) the process ends with 1, and no write is answered',
  async (kind) => {
    await open();
    const exits: unknown[] = [];
    const exit = spyOn(process, 'exit').mockImplementation(((code: unknown) => {
      exits.push(code);
    }) as never);
    let isAnswered = false;
    void client.write('scrubMail').finally(() => (isAnswered = true));
    await thread().received.atLeast(2);
    const error = { name: 'Error', message: 'disk I/O error' };
    if (kind === 'fatal') thread().say({ kind: 'fatal', error });
    else thread().die('disk I/O error');
    await new Promise((resolve) => setImmediate(resolve));
    exit.mockRestore();
    expect(exits).toEqual([1]);
    expect(isAnswered).toBe(false);
    expect(lines).toEqual([
      [
        'error',
        'store_failed',
        {
          error,
          hint: 'The database could not be written. Check the disk and its file system. The server ends and restarts.',
        },
      ],
    ]);
  },
);
