/**
 * How many recipients a retry by the operator makes due, those that are due already among them.
 *
 * Promises to count each once, as it stood at one moment: attempts go on while rows are changed step by step, and one
 * that is tried and postponed in between is changed a second time. Does not count what is under a lease, since that is
 * in an attempt. Reads only.
 */
import type { Database } from 'bun:sqlite';
import type { RetryTarget } from '../operator.ts';

interface Count {
  count: number;
}

/** The count over a reading connection; statements are prepared once, here. */
export function retryCounter(db: Database): {
  retryCount(target: RetryTarget, now: number): Promise<number>;
} {
  const IS_WAITING = '(lease_until IS NULL OR lease_until <= ?1) AND next_attempt_at IS NOT NULL';
  const all = db.prepare<Count, [number]>(
    'SELECT count(*) AS count FROM recipients INDEXED BY recipients_by_due WHERE ' + IS_WAITING,
  );
  const ofDomain = db.prepare<Count, [number, string]>(
    'SELECT count(*) AS count FROM recipients INDEXED BY recipients_by_due WHERE domain = ?2 AND ' +
      IS_WAITING,
  );
  const ofId = db.prepare<Count, [number, string]>(
    'SELECT count(*) AS count FROM recipients WHERE (id = ?2 OR message_id = ?2) AND ' + IS_WAITING,
  );
  return {
    async retryCount({ id, domain }, now) {
      if (id !== null) return ofId.get(now, id)?.count ?? 0;
      return (domain === null ? all.get(now) : ofDomain.get(now, domain))?.count ?? 0;
    },
  };
}
