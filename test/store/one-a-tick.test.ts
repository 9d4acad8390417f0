/** Reads that are asked for together pass one by one, each in a round of the event loop of its own. */
import { expect, test } from 'bun:test';
import { setImmediate as nextTick } from 'node:timers/promises';

import { listReads } from '../../src/store/sql/lists.ts';
import { OneATick } from '../../src/store/sql/one-a-tick.ts';
import type { SqlReader } from '../../src/store/sql/reader.ts';

/** How many have passed after each round of the event loop, until all have. */
async function passedAfterEachRound(gate: OneATick, count: number): Promise<number[]> {
  const passed: number[] = [];
  const after: number[] = [];
  for (let at = 0; at < count; at += 1) void gate.pass().then(() => passed.push(at));
  while (passed.length < count) {
    await nextTick();
    after.push(passed.length);
  }
  expect(passed).toEqual(Array.from({ length: count }, (_, at) => at));
  return after;
}

test('one passes in each round, in their order', async () => {
  const after = await passedAfterEachRound(new OneATick(), 5);
  for (const [at, passed] of after.entries())
    expect(passed - (after[at - 1] ?? 0)).toBeLessThanOrEqual(1);
  expect(after.at(-1)).toBe(5);
});

test('one that comes alone passes at once', async () => {
  const gate = new OneATick();
  for (let count = 0; count < 3; count += 1) {
    const rounds = { count: 0 };
    setImmediate(() => (rounds.count += 1));
    await gate.pass();
    expect(rounds.count).toBe(0);
    await nextTick();
    await nextTick();
  }
});

test('of parts of a list that are asked for together, one is read in each round', async () => {
  let reads = 0;
  const sql: SqlReader = {
    all: async <Row>(): Promise<Row[]> => {
      reads += 1;
      return [];
    },
    one: () => Promise.reject(new Error('no list reads one row')),
  };
  const list = listReads(sql, 'SELECT id FROM things', (row: { id: string }) => row);
  let [rounds, isOver] = [0, false];
  const round = (): void => {
    rounds += 1;
    if (!isOver) setImmediate(round);
  };
  setImmediate(round);
  await Promise.all(
    Array.from({ length: 20 }, (_, at) => list(at % 2 === 0 ? undefined : { limit: 7 })),
  );
  isOver = true;
  expect(reads).toBe(20);
  expect(rounds).toBeGreaterThanOrEqual(19);
});
