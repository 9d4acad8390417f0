/**
 * What a failure of the database means: refused (the statement's fault), conflict (another transaction came first), full,
 * away (there is no primary to talk to, or it went while we talked), or unconfirmed (committed, but no standby has it).
 *
 * Promises that nothing of a refused statement or of a conflict was written. Of what was away only the caller knows whether
 * it had asked to commit.
 */
import { SQL } from 'bun';
import { OperatorError } from '../../base/errors.ts';
import { StoreAwayError, StoreUnconfirmedError } from '../store.ts';

export type FailureKind = 'refused' | 'conflict' | 'full' | 'away' | 'unconfirmed';

/** The server is up but does not take writes: it starts, stops, or is a standby (SQLSTATE classes and codes). */
const AWAY_CODES: ReadonlySet<string> = new Set([
  '25006', // read_only_sql_transaction: a standby
  '53300', // too_many_connections
]);
/** Connection exceptions, and what an operator or a shutdown does to a session. */
const AWAY_CLASSES: ReadonlySet<string> = new Set(['08', '57']);
// Somebody cancelled a statement (57014): it can be run again.
const CONFLICTS: ReadonlySet<string> = new Set(['40001', '40P01', '57014']);
// disk_full
const FULL: ReadonlySet<string> = new Set(['53100']);

/** The five characters of the SQL standard; null for what did not come from the server. */
export function sqlState(error: unknown): string | null {
  if (!(error instanceof SQL.PostgresError)) return null;
  const state = error.errno;
  return typeof state === 'string' ? state : null;
}

export function failureOf(error: unknown): FailureKind {
  if (error instanceof StoreAwayError) return 'away';
  if (error instanceof StoreUnconfirmedError) return 'unconfirmed';
  const state = sqlState(error);
  if (state === null) return isConnectionLoss(error) ? 'away' : 'refused';
  if (CONFLICTS.has(state)) return 'conflict';
  if (AWAY_CODES.has(state) || AWAY_CLASSES.has(state.slice(0, 2))) return 'away';
  if (FULL.has(state)) return 'full';
  return 'refused';
}

/** Bun's own errors of a connection: refused, closed, timed out. Its others are ours, such as a value that no type takes. */
function isConnectionLoss(error: unknown): boolean {
  return error instanceof SQL.PostgresError && /_CONNECTION_|_TIMEOUT/.test(error.code);
}

/** What keeps the database from being opened or carried over, as the operator can repair it; what is ours as it is. */
export function forOperator(error: unknown): unknown {
  if (error instanceof OperatorError) return error;
  const cause = error instanceof Error ? error.message : String(error);
  if (failureOf(error) === 'away') {
    return new OperatorError(
      `The database cannot be reached: ${cause}`,
      'Check url in [store], the server and its log. Of several hosts one must be a primary.',
    );
  }
  if (sqlState(error) === null) return error;
  return new OperatorError(
    `The database cannot be used: ${cause}`,
    'Check role, password and database in [store]. The role needs the right to create tables and the extensions pg_trgm and btree_gin (package postgresql-contrib).',
  );
}
