/**
 * How many recipients are due already: what a retry by the operator counts beside those it makes due.
 *
 * Promises not to count what is under a lease, since that is in an attempt. Reads only.
 */
import type { Database } from 'bun:sqlite';
import type { RetryTarget } from './store.ts';

interface Count {
  count: number;
}

/** The count over a reading connection; statements are prepared once, here. */
export function dueCounter(db: Database): (target: RetryTarget, now: number) => number {
  const IS_DUE = '(lease_until IS NULL OR lease_until <= ?1) AND next_attempt_at <= ?1';
  const all = db.prepare<Count, [number]>(
    'SELECT count(*) AS count FROM recipients INDEXED BY recipients_by_due WHERE ' + IS_DUE,
  );
  const ofDomain = db.prepare<Count, [number, string]>(
    'SELECT count(*) AS count FROM recipients INDEXED BY recipients_by_due WHERE domain = ?2 AND ' +
      IS_DUE,
  );
  const ofId = db.prepare<Count, [number, string]>(
    'SELECT count(*) AS count FROM recipients WHERE (id = ?2 OR message_id = ?2) AND ' + IS_DUE,
  );
  return ({ id, domain }, now) => {
    if (id !== null) return ofId.get(now, id)?.count ?? 0;
    return (domain === null ? all.get(now) : ofDomain.get(now, domain))?.count ?? 0;
  };
}
