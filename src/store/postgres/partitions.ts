/**
 * The partitions of what hangs on a message: one a day (UTC) and table, by the time in the message's id.
 *
 * Promises that those of today and the next days are there before mail needs them; what belongs to any other day stands
 * in the default partition. Only tables that are read by a message's id have partitions: a statement that does not name
 * ids would have to look at each. Making and dropping wait for a lock for a moment only, since everybody else waits behind
 * them; what was not done is done in the next round.
 */
import { MS_PER_DAY } from '../counted.ts';
import type { Access } from './database.ts';
import { sqlState } from './failures.ts';
import { boundId } from './ids.ts';
import { part } from './statement.ts';

/** Statements about them name ids of messages: `message_id = $1` or `= ANY($1)`, as constants of the plan. */
export const PARTITIONED = ['bodies', 'attachments', 'events', 'attempts'] as const;
export type Partitioned = (typeof PARTITIONED)[number];

/** Days that are made ahead. */
const DAYS_AHEAD = 3;
/** Of the lock that one node holds while it makes them: any number that nothing else uses. */
const LOCK = 7_867_482;
export const LOCK_TIMEOUT = "SET LOCAL lock_timeout = '2s'";
/** lock_not_available; check_violation: the default partition has rows of that day already, and keeps them. */
const LEFT_FOR_LATER: ReadonlySet<string> = new Set(['55P03', '23514']);

/** The rows of one day, or all others. */
export interface Partition {
  name: string;
  /** Epoch milliseconds: ids from then on, and before then. Null: the default partition. */
  day: { from: number; until: number } | null;
}

const nameOf = (table: string, day: number): string =>
  table + '_' + new Date(day * MS_PER_DAY).toISOString().slice(0, 10).replaceAll('-', '');

/** Makes what is missing from `daysBack` days before the day of `now` (epoch milliseconds) on. */
export async function makePartitions(database: Access, now: number, daysBack = 0): Promise<void> {
  const first = Math.floor(now / MS_PER_DAY) - daysBack;
  const days = Array.from({ length: daysBack + 1 + DAYS_AHEAD }, (_, at) => first + at);
  const wanted = PARTITIONED.flatMap((table) => days.map((day) => ({ table, day })));
  const missing = await database.all<{ name: string }>(
    part(
      'SELECT name FROM unnest($1::text[]) AS name WHERE to_regclass(name) IS NULL',
      wanted.map(({ table, day }) => nameOf(table, day)),
    ),
  );
  const names = new Set(missing.map(({ name }) => name));
  for (const { table, day } of wanted) {
    if (names.has(nameOf(table, day))) await unlessLocked(() => make(database, table, day));
  }
}

/** A table cannot have parameters for its bounds; both are digits and hyphens. */
function make(database: Access, table: Partitioned, day: number): Promise<void> {
  const [from, until] = [day, day + 1].map((each) => "'" + boundId(each * MS_PER_DAY) + "'");
  return database.transaction(async (session) => {
    await session.run(part(LOCK_TIMEOUT));
    await session.run(part('SELECT pg_advisory_xact_lock($1)', LOCK));
    await session.run(
      part(
        'CREATE TABLE IF NOT EXISTS ' +
          nameOf(table, day) +
          ' PARTITION OF ' +
          table +
          ' FOR VALUES FROM (' +
          from +
          ') TO (' +
          until +
          ')',
      ),
    );
  });
}

/** All partitions of a table, the oldest day first, the default one last. */
export async function partitionsOf(database: Access, table: Partitioned): Promise<Partition[]> {
  const rows = await database.all<{ name: string }>(
    part(
      'SELECT c.relname AS name FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid' +
        ' WHERE i.inhparent = to_regclass($1) ORDER BY c.relname',
      table,
    ),
  );
  return rows.map(({ name }) => {
    const [, year, month, date] = /_(\d{4})(\d\d)(\d\d)$/.exec(name) ?? [];
    if (year === undefined) return { name, day: null };
    const from = Date.UTC(Number(year), Number(month) - 1, Number(date));
    return { name, day: { from, until: from + MS_PER_DAY } };
  });
}

/** Drops a partition. False: others were at it for too long, or it is gone already. */
export async function dropPartition(database: Access, name: string): Promise<boolean> {
  return unlessLocked(() =>
    database.transaction(async (session) => {
      await session.run(part(LOCK_TIMEOUT));
      await session.run(part('DROP TABLE IF EXISTS ' + name));
    }),
  );
}

/** False: a lock was not to be had in time, or the rows are elsewhere. */
export async function unlessLocked(change: () => Promise<unknown>): Promise<boolean> {
  try {
    await change();
    return true;
  } catch (error) {
    if (!LEFT_FOR_LATER.has(sqlState(error) ?? '')) throw error;
    return false;
  }
}
