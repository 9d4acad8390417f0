/**
 * Which standbys the primary has, and what an operator can do where none of them is synchronous.
 *
 * Asks the primary one question. Fails as the database does.
 */
import { part } from './statement.ts';
import type { Session } from './transaction.ts';

/** The standbys of the primary. */
export interface Standbys {
  /** `synchronous_standby_names`. */
  names: string;
  connected: number;
  /** Those that COMMIT waits for. */
  synchronous: number;
  /** Those of which the role may not see more than that they are there. */
  hidden: number;
}

/** Reads them from the primary. */
export async function readStandbys(database: Session): Promise<Standbys> {
  const row = await database.first<Standbys>(
    part(
      "SELECT current_setting('synchronous_standby_names') AS names, count(*) AS connected," +
        " count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')) AS synchronous," +
        ' count(*) FILTER (WHERE sync_state IS NULL) AS hidden FROM pg_stat_replication',
    ),
  );
  return row ?? { names: '', connected: 0, synchronous: 0, hidden: 0 };
}

/** What to do where none is synchronous. */
export function standbyAdvice({ names, connected, hidden }: Standbys): string {
  if (hidden > 0)
    return 'Grant the role of [store] url the role pg_monitor: it may not see the standbys.';
  if (names === '') {
    return 'Set synchronous_standby_names on the primary (Patroni: synchronous_mode), so that COMMIT waits for a standby.';
  }
  return connected === 0
    ? 'Start a standby of the primary, or see why it cannot connect.'
    : 'Name a connected standby in synchronous_standby_names: those that are connected are asynchronous.';
}
