/**
 * What counts as a standby that has a commit, for each of the states that the server tells; how long it is waited for, and
 * what an operator is advised. The server's own list is hidden behind a view of the session, which the test fills.
 */
import { afterAll, afterEach, beforeAll, expect, spyOn, test } from 'bun:test';

import { databaseAddress } from '../../../src/store/postgres/address.ts';
import { Database } from '../../../src/store/postgres/database.ts';
import type { Connection } from '../../../src/store/postgres/connection.ts';
import { askFlushed, onStandby } from '../../../src/store/postgres/replicated.ts';
import { readStandbys, standbyAdvice } from '../../../src/store/postgres/standbys.ts';
import { StoreUnconfirmedError } from '../../../src/store/store.ts';
import { testServer } from '../../rig/postgres.ts';

let database: Database;
let connection: Connection;
beforeAll(async () => {
  const url = await (await testServer()).freshDatabase();
  database = new Database(databaseAddress(url, ''));
  connection = await database.connect();
}, 60_000);
afterAll(async () => {
  await connection.close();
  await database.close();
});
const spies: { mockRestore(): void }[] = [];
afterEach(() => {
  for (const spy of spies.splice(0)) spy.mockRestore();
});

/** Where each standby is: before the commit that is asked about, at it, or behind it. */
type Position = 'before' | 'at' | 'behind';
const BYTES: Record<Position, string> = { before: '- 1', at: '+ 0', behind: '+ 1' };

/** The server's standbys are these; the commit that is asked about is at `lsn`. */
async function standbysAre(lsn: string, ...states: [state: string | null, position: Position][]) {
  const rows = states.map(
    ([state, position]) =>
      `SELECT ${state === null ? 'NULL' : `'${state}'`}::text AS sync_state,` +
      ` ${state === null ? 'NULL::pg_lsn' : `'${lsn}'::pg_lsn ${BYTES[position]}::numeric`} AS flush_lsn`,
  );
  const none = 'SELECT NULL::text AS sync_state, NULL::pg_lsn AS flush_lsn WHERE false';
  await connection.ask('DROP VIEW IF EXISTS pg_temp.pg_stat_replication');
  await connection.ask(
    `CREATE TEMP VIEW pg_stat_replication AS ${[none, ...rows].join(' UNION ALL ')}`,
  );
}

test('a commit is on a standby when one that COMMIT waits for has flushed it', async () => {
  const lsn = '7/100';
  const known = {
    ask: <Row>(text: string) => connection.ask<Row>(text, [lsn]),
  } as unknown as Connection;
  const found: unknown[] = [];
  for (const standbys of [
    [],
    [['sync', 'before']],
    [['sync', 'at']],
    [['sync', 'behind']],
    [['quorum', 'before']],
    [['quorum', 'at']],
    [['async', 'behind']],
    [['potential', 'behind']],
    [[null, 'behind']],
    // Any of several will do, wherever it stands in the list.
    [
      ['async', 'behind'],
      ['sync', 'before'],
      ['quorum', 'at'],
      [null, 'at'],
    ],
    [
      ['sync', 'before'],
      ['quorum', 'before'],
      ['potential', 'at'],
    ],
  ] as [string | null, Position][][]) {
    await standbysAre(lsn, ...standbys);
    const { isFlushed, lsn: asked } = await askFlushed(known);
    const { connected, synchronous, hidden } = await readStandbys({
      first: async ({ text }: { text: string }) =>
        (await connection.ask<never>(text)).rows[0] ?? null,
    } as never);
    found.push([standbys.flat().join(' '), asked, isFlushed, connected, synchronous, hidden]);
  }
  expect(found).toEqual([
    ['', lsn, false, 0, 0, 0],
    ['sync before', lsn, false, 1, 1, 0],
    ['sync at', lsn, true, 1, 1, 0],
    ['sync behind', lsn, true, 1, 1, 0],
    ['quorum before', lsn, false, 1, 1, 0],
    ['quorum at', lsn, true, 1, 1, 0],
    ['async behind', lsn, false, 1, 0, 0],
    ['potential behind', lsn, false, 1, 0, 0],
    [' behind', lsn, false, 1, 0, 1],
    ['async behind sync before quorum at  at', lsn, true, 4, 2, 1],
    ['sync before quorum before potential at', lsn, false, 3, 2, 0],
  ]);
});

test('without a position the primary’s own is asked about', async () => {
  const { rows } = await connection.ask<{ lsn: string }>(
    'SELECT pg_current_wal_flush_lsn()::text AS lsn',
  );
  await standbysAre('FFFFFFFF/0', ['sync', 'at']);
  const { lsn, isFlushed } = await askFlushed(connection);
  const { rows: later } = await connection.ask<{ isBetween: boolean }>(
    'SELECT $1::pg_lsn <= $2::pg_lsn AND $2::pg_lsn <= pg_current_wal_flush_lsn() AS "isBetween"',
    [rows[0]?.lsn ?? '', lsn],
  );
  expect([isFlushed, later]).toEqual([true, [{ isBetween: true }]]);
});

/** A connection that answers these, one after the other, a millisecond each. */
function answering(...answers: boolean[]) {
  let now = 100;
  const asked: unknown[] = [];
  const paused: number[] = [];
  spies.push(
    spyOn(performance, 'now').mockImplementation(() => now),
    spyOn(globalThis, 'setTimeout').mockImplementation(((work: () => void, ms: number) => {
      paused.push(ms);
      now += ms;
      work();
    }) as never),
  );
  const of = {
    ask: async (_: string, params: unknown[]) => {
      asked.push(params);
      const isFlushed = answers.shift();
      return { rows: isFlushed === undefined ? [] : [{ lsn: 'later', isFlushed }] };
    },
  } as unknown as Connection;
  return { of, asked, paused };
}

test('it is asked about every millisecond until a standby has it, or it is too late', async () => {
  const first = answering();
  await onStandby(first.of, { lsn: '1/2', isFlushed: true }, 0);
  expect([first.asked, first.paused]).toEqual([[], []]);
  const third = answering(false, true);
  await onStandby(third.of, { lsn: '1/2', isFlushed: false }, 102);
  expect([third.asked, third.paused]).toEqual([
    [['1/2'], ['1/2']],
    [1, 1],
  ]);
  const late = answering(false, false, true);
  const end = await onStandby(late.of, { lsn: '1/2', isFlushed: false }, 102).catch(
    (error: unknown) => error,
  );
  expect(end).toEqual(new StoreUnconfirmedError('no synchronous standby has it'));
  expect(late.asked).toHaveLength(2);
  const silent = answering();
  expect(askFlushed(silent.of)).rejects.toThrow('the server says nothing of its standbys');
  expect(silent.asked).toEqual([[null]]);
});

test('the advice is for the first thing that is missing: the right to see, a name, a standby, its state', () => {
  const grant = 'Grant the role of [store] url the role pg_monitor: it may not see the standbys.';
  const name =
    'Set synchronous_standby_names on the primary (Patroni: synchronous_mode), so that COMMIT waits for a standby.';
  const start = 'Start a standby of the primary, or see why it cannot connect.';
  const other =
    'Name a connected standby in synchronous_standby_names: those that are connected are asynchronous.';
  const advice = (names: string, connected: number, hidden: number): string =>
    standbyAdvice({ names, connected, synchronous: 0, hidden });
  expect([
    advice('', 1, 1),
    advice('s', 1, 1),
    advice('', 0, 0),
    advice('', 2, 0),
    advice('s', 0, 0),
    advice('s', 1, 0),
  ]).toEqual([grant, grant, name, name, start, other]);
});
