/**
 * Taking due recipients for an owner, freeing them, and making recipients due at the operator's word.
 *
 * Promises that what is under an unexpired lease is never taken nor made due: it is in an attempt. Freed rows keep their
 * due time, and so do taken ones.
 */
import type { Database } from 'bun:sqlite';
import type { Writes } from './verbs.ts';

// As `dueReads` has it; what has changed since that read is not taken.
const TAKE =
  'UPDATE recipients SET owner = ?1, lease_until = NULL WHERE id = ?2 AND next_attempt_at <= ?3' +
  ' AND (lease_until IS NULL OR lease_until <= ?3) AND (owner IS NULL OR owner = ?1 OR lease_until <= ?3)';

// The inner SELECT reads the index alone: few of what waits have an owner.
const RELEASE =
  'UPDATE recipients SET owner = NULL, lease_until = NULL, updated_at = ? WHERE id IN' +
  ' (SELECT id FROM recipients INDEXED BY recipients_by_due WHERE next_attempt_at IS NOT NULL';

const RELEASE_CALLS =
  'UPDATE calls SET owner = NULL, lease_until = NULL WHERE id IN' +
  " (SELECT id FROM calls INDEXED BY calls_by_due WHERE status = 'open'";

const MAKE_DUE =
  'UPDATE recipients SET next_attempt_at = ?1, updated_at = ?1 WHERE id IN (SELECT id FROM recipients';
const IS_IDLE = '(lease_until IS NULL OR lease_until <= ?1) AND next_attempt_at > ?1';
// With which recipient of a destination a step ends, and how many it looks at.
const STEP_OF =
  'SELECT max(id) AS last, count(*) AS count FROM (SELECT id FROM recipients INDEXED BY recipients_by_domain' +
  ' WHERE next_attempt_at IS NOT NULL AND domain = ? AND id > ? ORDER BY id LIMIT ?)';

/** The verbs over the writer's connection; statements are prepared once, here. */
export function leaseWrites(
  db: Database,
): Pick<Writes, 'takeStep' | 'releaseLeases' | 'retryStep'> {
  const take = db.prepare(TAKE);
  const releaseOf = db.prepare(RELEASE + ' AND owner = ?)');
  const releaseAll = db.prepare(RELEASE + ' AND owner IS NOT NULL)');
  const releaseCallsOf = db.prepare(RELEASE_CALLS + ' AND owner = ?)');
  const releaseAllCalls = db.prepare(RELEASE_CALLS + ' AND owner IS NOT NULL)');
  const retryAll = db.prepare(MAKE_DUE + ' WHERE ' + IS_IDLE + ' LIMIT ?2)');
  const stepOf = db.prepare<{ last: string | null; count: number }, [string, string, number]>(
    STEP_OF,
  );
  const retryStepOf = db.prepare(
    MAKE_DUE +
      ' INDEXED BY recipients_by_domain WHERE domain = ?2 AND id > ?3 AND id <= ?4 AND ' +
      IS_IDLE +
      ')',
  );
  const retryOne = db.prepare(
    MAKE_DUE + ' WHERE (id = ?2 OR message_id = ?2) AND ' + IS_IDLE + ')',
  );

  return {
    takeStep: (owner, ids, now) => ids.filter((id) => take.run(owner, id, now).changes > 0),
    releaseLeases(owner, now) {
      if (owner === null) {
        releaseAll.run(now);
        releaseAllCalls.run();
      } else {
        releaseOf.run(now, owner);
        releaseCallsOf.run(owner);
      }
    },
    retryStep({ id, domain }, now, after, limit) {
      if (id !== null) {
        retryOne.run(now, id);
        return null;
      }
      // What was made due is not found again.
      if (domain === null) return retryAll.run(now, limit).changes < limit ? null : after;
      const step = stepOf.get(domain, after, limit);
      if (step === null || step.last === null) return null;
      retryStepOf.run(now, domain, after, step.last);
      return step.count < limit ? null : step.last;
    },
  };
}
