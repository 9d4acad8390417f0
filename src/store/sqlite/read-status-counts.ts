/**
 * Reads of messages counted by their present status.
 *
 * Promises sums over the days asked for; those of sandbox mail count entries of an index and read no message. They are
 * SQLite's own: they go along row numbers.
 */
import type { Database } from 'bun:sqlite';
import { idBound } from '../../base/ids.ts';
import { MESSAGE_STATUSES, type MessageStatus } from '../../base/status.ts';
import type { AccountStore } from '../accounts.ts';
import { dayOf, MS_PER_DAY } from '../counted.ts';

/** The verbs over a reading connection; statements are prepared once, here. */
export function countReads(
  db: Database,
): Pick<AccountStore, 'countsByStatus' | 'sandboxCountsByStatus'> {
  const byStatus = db.prepare<{ status: MessageStatus; count: number }, [string, number]>(
    'SELECT status, sum(count) AS count FROM status_days WHERE account_id = ? AND day >= ? GROUP BY status',
  );
  // The first message of the day, so that only entries of the index are counted and no row is read.
  const firstOfDay = db.prepare<{ seq: number }, [string]>(
    'SELECT seq FROM messages WHERE id >= ? ORDER BY id LIMIT 1',
  );
  const ofSandbox = db.prepare<{ count: number }, [string, string, number]>(
    'SELECT count(*) AS count FROM messages' +
      ' WHERE account_id = ? AND is_sandbox = 1 AND status = ? AND seq >= ?',
  );
  return {
    async countsByStatus(accountId, since) {
      const counts = noCounts();
      for (const row of byStatus.all(accountId, dayOf(since))) counts[row.status] = row.count;
      return counts;
    },
    async sandboxCountsByStatus(accountId, since) {
      const counts = noCounts();
      const first = firstOfDay.get(idBound(dayOf(since) * MS_PER_DAY));
      if (first === null) return counts;
      for (const status of MESSAGE_STATUSES) {
        counts[status] = ofSandbox.get(accountId, status, first.seq)?.count ?? 0;
      }
      return counts;
    },
  };
}

function noCounts(): Record<MessageStatus, number> {
  return {
    queued: 0,
    sent: 0,
    delivered: 0,
    delivery_delayed: 0,
    bounced: 0,
    complained: 0,
    failed: 0,
    suppressed: 0,
  };
}
