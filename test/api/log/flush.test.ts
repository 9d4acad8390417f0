/** The order of the request log's writes: who waits for the log finds every row that was added before. */
import { expect, test } from 'bun:test';

import { RequestLog } from '../../../src/api/log/request-log.ts';
import { createLog } from '../../../src/base/log.ts';
import type { LogRecord } from '../../../src/store/rows.ts';
import { TestClock } from '../../rig/clock.ts';
import { newLogRecord } from '../../store/samples.ts';

interface Write {
  rows: readonly LogRecord[];
  done: PromiseWithResolvers<void>;
}

function opened() {
  const writes: Write[] = [];
  const lines: string[] = [];
  const store = {
    appendLogs: (rows: readonly LogRecord[]) => {
      const done = Promise.withResolvers<void>();
      writes.push({ rows, done });
      return done.promise;
    },
  };
  const clock = new TestClock();
  const requests = new RequestLog({
    store,
    clock,
    log: createLog(
      (line) => lines.push(line),
      () => clock.now(),
    ),
  });
  return { requests, writes, lines, clock };
}

const row = () => newLogRecord('account', {});
const settled = async (promise: Promise<void>): Promise<boolean> =>
  Promise.race([promise.then(() => true), Bun.sleep(5).then(() => false)]);

test('a later flush waits for the write before it, and one with nothing new for the last', async () => {
  const { requests, writes } = opened();
  requests.add(row());
  const first = requests.flush();
  await Bun.sleep(0);
  requests.add(row());
  const second = requests.flush();
  const third = requests.flush();
  expect([await settled(first), await settled(second), await settled(third)]).toEqual([
    false,
    false,
    false,
  ]);
  // One after the other: the store is not given the second batch before it has the first.
  expect(writes).toHaveLength(1);
  writes[0]?.done.resolve();
  await first;
  while (writes.length < 2) await Bun.sleep(1);
  expect(await settled(third)).toBe(false);
  writes[1]?.done.resolve();
  await Promise.all([second, third]);
});

test('rows that cannot be written are counted in the log, and later ones are written', async () => {
  const { requests, writes, lines } = opened();
  requests.add(row());
  requests.add(row());
  const lost = requests.flush();
  while (writes.length < 1) await Bun.sleep(1);
  writes[0]?.done.reject(new Error('full'));
  await lost;
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ event: 'request_log_rows_lost', rows: 2 });
  requests.add(row());
  const kept = requests.flush();
  while (writes.length < 2) await Bun.sleep(1);
  writes[1]?.done.resolve();
  await kept;
  expect(lines).toHaveLength(1);
});

test('two hundred rows are written at once, fewer after half a second, and no row twice', async () => {
  const { requests, writes, clock } = opened();
  const rows = Array.from({ length: 202 }, row);
  const sizes = () => writes.map(({ rows: written }) => written.length);
  for (const one of rows.slice(0, 199)) requests.add(one);
  await Promise.resolve();
  expect(sizes()).toEqual([]);
  requests.add(rows[199] as LogRecord);
  await Promise.resolve();
  await Promise.resolve();
  expect(sizes()).toEqual([200]);
  writes[0]?.done.resolve();
  // What was due for them is so no more.
  await clock.advance(500);
  expect(sizes()).toEqual([200]);
  requests.add(rows[200] as LogRecord);
  await clock.advance(300);
  requests.add(rows[201] as LogRecord);
  await clock.advance(199);
  expect(sizes()).toEqual([200]);
  await clock.advance(1);
  expect(sizes()).toEqual([200, 2]);
  writes[1]?.done.resolve();
  await clock.advance(10_000);
  expect(writes.flatMap(({ rows: written }) => written)).toEqual(rows.slice(0, 202));
});

test('a flush that was asked for is not followed by the one that was due', async () => {
  const { requests, writes, clock } = opened();
  requests.add(row());
  await clock.advance(400);
  const first = requests.flush();
  await clock.advance(0);
  writes[0]?.done.resolve();
  await first;
  requests.add(row());
  await clock.advance(499);
  expect(writes).toHaveLength(1);
  await clock.advance(1);
  expect(writes).toHaveLength(2);
});

test('rows are written half a second after the first of them, and each batch has a half second of its own', async () => {
  const { requests, writes, clock } = opened();
  const counts = async (ms: number): Promise<number[]> => {
    await clock.advance(ms);
    for (const { done } of writes) done.resolve();
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
    return writes.map(({ rows }) => rows.length);
  };
  for (const ms of [200, 200, 99]) {
    requests.add(row());
    expect(await counts(ms)).toEqual([]);
  }
  expect(await counts(1)).toEqual([3]);
  expect(await counts(100)).toEqual([3]);
  requests.add(row());
  // None of the rows before it has a time of its own.
  expect(await counts(499)).toEqual([3]);
  expect(await counts(1)).toEqual([3, 1]);
});
