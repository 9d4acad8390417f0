/**
 * Whether a synchronous standby has flushed what the primary has committed.
 *
 * That the server waits for one at COMMIT is not enough: the wait ends with success when its list of standbys is emptied
 * (as Patroni does when the standby has gone), or when somebody cancels the statement. So it is asked after the commit.
 */
import { StoreUnconfirmedError } from '../store.ts';
import type { Connection } from './connection.ts';

export const NOT_THERE = 'no synchronous standby has it';
/** The standby is as near as the primary, and flushes what is asked about while it is asked. */
const ASK_EVERY_MS = 1;

/** `$1`: the position in the log that a standby must have; null: where the primary is now, which is behind all it has committed. */
const FLUSHED =
  'SELECT w.lsn::text AS lsn, COALESCE((SELECT max(flush_lsn) FROM pg_stat_replication' +
  " WHERE sync_state IN ('sync', 'quorum')) >= w.lsn, false) AS \"isFlushed\"" +
  ' FROM (SELECT COALESCE($1::pg_lsn, pg_current_wal_flush_lsn()) AS lsn) AS w';

/** What `FLUSHED` answers. */
export interface Flushed {
  /** Where in the log. */
  lsn: string;
  isFlushed: boolean;
}

/** Asks what a standby must have from now on, and whether it has: everything committed before. */
export async function askFlushed(connection: Connection): Promise<Flushed> {
  return first(await connection.ask<Flushed>(FLUSHED, [null]));
}

/** Resolves when a standby has it. Throws `StoreUnconfirmedError` when none has at `until` (`performance.now()`). */
export async function onStandby(
  connection: Connection,
  asked: Flushed,
  until: number,
): Promise<void> {
  for (let { isFlushed } = asked; !isFlushed;) {
    if (performance.now() >= until) throw new StoreUnconfirmedError(NOT_THERE);
    await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
    ({ isFlushed } = first(await connection.ask<Flushed>(FLUSHED, [asked.lsn])));
  }
}

function first({ rows }: { rows: Flushed[] }): Flushed {
  const [row] = rows;
  if (row === undefined) throw new Error('the server says nothing of its standbys');
  return row;
}
