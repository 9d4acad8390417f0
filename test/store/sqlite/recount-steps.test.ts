/**
 * How the computing of counters goes on beside the mail: how large its steps are, how long it rests between them, what it
 * says in the log, and when it ends.
 */
import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test';
import type { Mock } from 'bun:test';

import type { Log } from '../../../src/base/log.ts';
import { startRecounting } from '../../../src/store/sqlite/recounting.ts';
import type { WriterClient } from '../../../src/store/sqlite/writer-client.ts';

const OLDEST = { outcomes: 11, harm: 22 };

let pauses: number[];
let nowMs: number;
let spies: Mock<never>[];
let mail: Database;

beforeEach(() => {
  pauses = [];
  nowMs = 0;
  mail = new Database(':memory:');
  mail.run('CREATE TABLE recounts (name TEXT PRIMARY KEY, seq INTEGER NOT NULL)');
  const timeout = spyOn(globalThis, 'setTimeout').mockImplementation(((
    then: () => void,
    ms: number,
  ) => {
    pauses.push(ms);
    queueMicrotask(then);
  }) as never);
  const now = spyOn(performance, 'now').mockImplementation(() => nowMs);
  spies = [timeout, now] as unknown as Mock<never>[];
});
afterEach(() => {
  for (const spy of spies) spy.mockRestore();
  mail.close();
});

/** Runs it to its end; `step` answers each request of the writer. */
async function run(names: string[], step: (...args: unknown[]) => unknown) {
  for (const name of names) mail.run('INSERT INTO recounts VALUES (?, 9)', [name]);
  const asked: unknown[][] = [];
  const lines: unknown[][] = [];
  const writer = {
    write: async (...args: unknown[]) => {
      asked.push(args);
      return step(...args);
    },
  } as unknown as WriterClient;
  const note =
    (level: string) =>
    (...line: unknown[]) =>
      void lines.push([level, ...line]);
  const log: Log = { info: note('info'), warn: note('warn'), error: note('error') };
  const recounting = startRecounting(mail, writer, log, OLDEST);
  return { asked, lines, recounting };
}

test('steps grow from ten rows to the most of their counter, one counter after the other', async () => {
  const left = [90, 80, 70, 60, 50, 40, 0, 30, 20, 20, 20, 20, 20, 20, 20, 0];
  const { asked, lines, recounting } = await run(['outcomes', 'harm'], () => left.shift());
  while (left.length > 0) await Promise.resolve();
  await recounting.stop();
  const harm = [10, 20, 40, 80, 160, 320, 640];
  const outcomes = [10, 20, 40, 80, 160, 200, 200, 200, 200];
  expect(asked).toEqual([
    ...harm.map((rows) => ['recountStep', 'harm', 22, rows]),
    ...outcomes.map((rows) => ['recountStep', 'outcomes', 11, rows]),
  ]);
  expect(lines).toEqual([
    ['info', 'counters_computing', { counter: 'harm', rows_left: 90 }],
    ['info', 'counters_computed', { counter: 'harm' }],
    ['info', 'counters_computing', { counter: 'outcomes', rows_left: 30 }],
    ['info', 'counters_computed', { counter: 'outcomes' }],
  ]);
  // Between steps, and not after the last one of a counter.
  expect(pauses).toEqual(Array.from({ length: 14 }, () => 15));
});

test('harm has at most a thousand rows a step, and each 500th step is told', async () => {
  const left = Array.from({ length: 1_002 }, (_, at) => 1_001 - at);
  const { asked, lines, recounting } = await run(['harm'], () => left.shift());
  while (left.length > 0) await Promise.resolve();
  await recounting.stop();
  expect(asked.slice(6, 10).map(([, , , rows]) => rows)).toEqual([640, 1_000, 1_000, 1_000]);
  expect(lines).toEqual([
    ['info', 'counters_computing', { counter: 'harm', rows_left: 1_001 }],
    ['info', 'counters_computing', { counter: 'harm', rows_left: 501 }],
    ['info', 'counters_computing', { counter: 'harm', rows_left: 1 }],
    ['info', 'counters_computed', { counter: 'harm' }],
  ]);
});

test('after a step of more than 25 ms the next one has half as many rows, and never fewer than ten', async () => {
  const times = [25, 25, 26, 26, 26, 26, 25, 0];
  const rows: unknown[] = [];
  const { recounting } = await run(['outcomes'], (...args) => {
    rows.push(args[3]);
    nowMs += times.shift() ?? 0;
    return times.length;
  });
  while (times.length > 0) await Promise.resolve();
  await recounting.stop();
  expect(rows).toEqual([10, 20, 40, 20, 10, 10, 10, 20]);
});

test('a failure is told with what is missing, and ends it', async () => {
  const error = new Error('the disk is full');
  const { asked, lines, recounting } = await run(['harm', 'outcomes'], () => {
    throw error;
  });
  await recounting.stop();
  expect(asked).toHaveLength(1);
  expect(lines).toEqual([
    [
      'warn',
      'counters_failed',
      {
        error,
        hint: 'Charts and the brake lack what was stored before the upgrade. The next start goes on; check the free disk space.',
      },
    ],
  ]);
});

test('stopping waits for the step under way, and none comes after it', async () => {
  const { promise, resolve } = Promise.withResolvers<number>();
  const { asked, recounting } = await run(['harm', 'outcomes'], () => promise);
  let hasStopped = false;
  const stopped = recounting.stop().then(() => (hasStopped = true));
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
  expect(hasStopped).toBe(false);
  resolve(50);
  await stopped;
  expect(asked).toEqual([['recountStep', 'harm', 22, 10]]);
});

test('where no counter is left to compute, nothing is asked', async () => {
  const { asked, lines, recounting } = await run([], () => 0);
  await recounting.stop();
  expect([asked, lines]).toEqual([[], []]);
});
