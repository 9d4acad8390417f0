/**
 * Reads of what waits: due recipients for the queue, and the whole of it for the operator.
 *
 * Promises the soonest first where it is asked for what is due, without what another owner has under lease. Never
 * claims: that is the writer's `begin`.
 */
import type { Database } from 'bun:sqlite';
import { idTime } from '../../base/ids.ts';
import type { JourneyStore, RecipientRef } from '../journey.ts';
import type { OperatorStore } from '../operator.ts';
import { SELECT_RECIPIENT } from './columns.ts';
import type { RecipientRow } from './columns.ts';

/**
 * The queue's verbs over a reading connection; statements are prepared once, here. `recipientsDue` for one destination is
 * slow where much is due for others.
 */
export function dueReads(db: Database): Pick<JourneyStore, 'recipientsDue' | 'nextRecipientDue'> {
  const due = db.prepare<RecipientRef, [number, string, number, number, number]>(
    'SELECT id, account_id AS accountId, domain, next_attempt_at AS dueAt FROM recipients' +
      ' WHERE next_attempt_at IS NOT NULL AND (next_attempt_at, id) > (?, ?) AND next_attempt_at <= ?' +
      ' AND (lease_until IS NULL OR lease_until <= ?) ORDER BY next_attempt_at, id LIMIT ?',
  );
  // By the same index: it passes over what is due for others, but only over that.
  const dueOf = db.prepare<RecipientRef, [number, string, number, number, string, string, number]>(
    'SELECT id, account_id AS accountId, domain, next_attempt_at AS dueAt FROM recipients' +
      ' INDEXED BY recipients_by_due' +
      ' WHERE next_attempt_at IS NOT NULL AND (next_attempt_at, id) > (?, ?) AND next_attempt_at <= ?' +
      ' AND (lease_until IS NULL OR lease_until <= ?) AND domain = ? AND account_id = ? ORDER BY next_attempt_at, id LIMIT ?',
  );
  const nextDue = db.prepare<{ at: number | null }, [number]>(
    'SELECT min(next_attempt_at) AS at FROM recipients WHERE next_attempt_at > ?',
  );
  return {
    async recipientsDue(now, until, limit, after, of) {
      const from = [after?.dueAt ?? 0, after?.id ?? '', until, now] as const;
      if (of === undefined) return due.all(...from, limit);
      return dueOf.all(...from, of.domain, of.accountId, limit);
    },
    nextRecipientDue: async (after) => nextDue.get(after)?.at ?? null,
  };
}

/** The operator's verbs over a reading connection; statements are prepared once, here. */
export function queueReads(db: Database): Pick<OperatorStore, 'queue' | 'queueCounts'> {
  const queueAll = db.prepare<RecipientRow, [string, string, number]>(
    SELECT_RECIPIENT +
      ' WHERE next_attempt_at IS NOT NULL AND (domain, id) > (?, ?) ORDER BY domain, id LIMIT ?',
  );
  const queueOf = db.prepare<RecipientRow, [string, string, number]>(
    SELECT_RECIPIENT +
      ' WHERE next_attempt_at IS NOT NULL AND domain = ? AND id > ? ORDER BY id LIMIT ?',
  );
  const domainOf = db.prepare<{ domain: string }, [string]>(
    'SELECT domain FROM recipients WHERE id = ?',
  );
  const counts = db.prepare<{ domain: string; waiting: number; oldestId: string }, []>(
    'SELECT domain, count(*) AS waiting, min(id) AS oldestId FROM recipients' +
      ' INDEXED BY recipients_by_due WHERE next_attempt_at IS NOT NULL GROUP BY domain ORDER BY waiting DESC',
  );
  const reasonOf = db.prepare<{ reason: string | null }, [string]>(
    'SELECT last_reason AS reason FROM recipients WHERE id = ?',
  );
  return {
    async queue({ domain, limit, after }) {
      if (domain !== null) return queueOf.all(domain, after ?? '', limit);
      if (after === null) return queueAll.all('', '', limit);
      return queueAll.all(domainOf.get(after)?.domain ?? '', after, limit);
    },
    queueCounts: async () =>
      counts.all().map(({ domain, waiting, oldestId }) => ({
        domain,
        waiting,
        oldestCreatedAt: idTime(oldestId),
        reason: reasonOf.get(oldestId)?.reason ?? null,
      })),
  };
}
