/**
 * Reads about accounts, keys, confirmed recipients and usage.
 *
 * Promises whole lists (they are short by their limits), oldest first. Never shows one account's rows to another.
 */
import type { Database } from 'bun:sqlite';
import { idBound } from '../../base/ids.ts';
import { MESSAGE_STATUSES, type MessageStatus } from '../../base/status.ts';
import type { AccountStore } from '../accounts.ts';
import { SELECT_ACCOUNT, SELECT_KEY, keyOf } from '../sql/columns.ts';
import type { AccountRow, KeyRow } from '../sql/columns.ts';
import { dayOf, MS_PER_DAY } from './status-counts.ts';

type KeyReads = Pick<AccountStore, 'accounts' | 'account' | 'keys' | 'keyByHash'>;
type UsageReads = Pick<
  AccountStore,
  'confirmedRecipients' | 'confirmed' | 'usedInMonth' | 'usedOnDay' | 'usedByDay' | 'storedBytes'
>;

/** The verbs over a reading connection; statements are prepared once, here. */
export function accountReads(db: Database): KeyReads & UsageReads {
  return { ...keyReads(db), ...usageReads(db) };
}

function keyReads(db: Database): KeyReads {
  const accounts = db.prepare<AccountRow, []>(SELECT_ACCOUNT + ' ORDER BY id');
  const accountById = db.prepare<AccountRow, [string]>(SELECT_ACCOUNT + ' WHERE id = ?');
  const accountByName = db.prepare<AccountRow, [string]>(SELECT_ACCOUNT + ' WHERE name = ?');
  const keys = db.prepare<KeyRow, [string]>(SELECT_KEY + ' WHERE account_id = ? ORDER BY id');
  const keyByHash = db.prepare<KeyRow, [Uint8Array]>(SELECT_KEY + ' WHERE hash = ?');
  return {
    accounts: async () => accounts.all(),
    account: async (idOrName) => accountById.get(idOrName) ?? accountByName.get(idOrName),
    keys: async (accountId) => keys.all(accountId).map(keyOf),
    async keyByHash(hash) {
      const row = keyByHash.get(hash);
      const account = row === null ? null : accountById.get(row.accountId);
      return row === null || account === null ? null : { key: keyOf(row), account };
    },
  };
}

function usageReads(db: Database): UsageReads {
  const confirmedList = db.prepare<{ email: string; createdAt: number }, [string]>(
    'SELECT email, created_at AS createdAt FROM confirmed_recipients WHERE account_id = ? ORDER BY email',
  );
  const isConfirmed = db.prepare(
    'SELECT 1 FROM confirmed_recipients WHERE account_id = ? AND email = ?',
  );
  const inMonth = db.prepare<{ used: number }, [string, string, string]>(
    'SELECT COALESCE(sum(count), 0) AS used FROM usage_days' +
      ' WHERE account_id = ? AND day BETWEEN ? AND ?',
  );
  const onDay = db.prepare<{ used: number }, [string, string]>(
    'SELECT count AS used FROM usage_days WHERE account_id = ? AND day = ?',
  );
  const byDay = db.prepare<{ day: string; count: number }, [string, string]>(
    'SELECT day, count FROM usage_days WHERE account_id = ? AND day >= ? ORDER BY day',
  );
  const stored = db.prepare<{ bytes: number }, [string]>(
    'SELECT bytes FROM stored_bytes WHERE account_id = ?',
  );
  return {
    confirmedRecipients: async (accountId) => confirmedList.all(accountId),
    confirmed: async (accountId, emails) =>
      new Set(emails.filter((email) => isConfirmed.get(accountId, email) !== null)),
    usedInMonth: async (accountId, month) =>
      inMonth.get(accountId, `${month}-01`, `${month}-31`)?.used ?? 0,
    usedOnDay: async (accountId, day) => onDay.get(accountId, day)?.used ?? 0,
    usedByDay: async (accountId, since) => byDay.all(accountId, since),
    storedBytes: async (accountId) => stored.get(accountId)?.bytes ?? 0,
  };
}

/** The counts by status over a reading connection. */
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
