/**
 * Reads about accounts, keys, domains, settings, usage and confirmed recipients.
 *
 * Promises whole lists (they are short by their limits), in order of creation. Never shows one account's
 * rows to another, except where the name says so (`domainForSigning`, `domainsDue`).
 */
import type { Database } from 'bun:sqlite';
import { MESSAGE_STATUSES } from '../base/status.ts';
import type { MessageStatus } from '../base/status.ts';
import { SELECT_ACCOUNT, SELECT_DOMAIN, SELECT_KEY, domainOf, keyOf } from './columns.ts';
import type { AccountRow, DomainRow, KeyRow } from './columns.ts';
import { dayOf } from './status-counts.ts';
import type { Reads } from './verbs.ts';

type AccountReads = Pick<
  Reads,
  | 'accounts'
  | 'account'
  | 'keys'
  | 'keyByHash'
  | 'domains'
  | 'domain'
  | 'domainByName'
  | 'domainForSigning'
  | 'domainsDue'
  | 'setting'
  | 'confirmedRecipients'
  | 'confirmed'
  | 'usedInMonth'
  | 'usedOnDay'
  | 'countsByStatus'
>;

/** The verbs over a reading connection; statements are prepared once, here. */
export function accountReads(db: Database): AccountReads {
  const accounts = db.prepare<AccountRow, []>(SELECT_ACCOUNT + ' ORDER BY id');
  const accountById = db.prepare<AccountRow, [string]>(SELECT_ACCOUNT + ' WHERE id = ?');
  const accountByName = db.prepare<AccountRow, [string]>(SELECT_ACCOUNT + ' WHERE name = ?');
  const keys = db.prepare<KeyRow, [string]>(SELECT_KEY + ' WHERE account_id = ? ORDER BY id');
  const keyByHash = db.prepare<KeyRow, [Uint8Array]>(SELECT_KEY + ' WHERE hash = ?');
  const domains = db.prepare<DomainRow, [string]>(
    SELECT_DOMAIN + ' WHERE account_id = ? AND deleted_at IS NULL ORDER BY id',
  );
  const domain = db.prepare<DomainRow, [string, string]>(
    SELECT_DOMAIN + ' WHERE account_id = ? AND id = ? AND deleted_at IS NULL',
  );
  const domainByName = db.prepare<DomainRow, [string, string]>(
    SELECT_DOMAIN + ' WHERE account_id = ? AND name = ? AND deleted_at IS NULL',
  );
  const anyDomain = db.prepare<DomainRow, [string]>(SELECT_DOMAIN + ' WHERE id = ?');
  const domainsDue = db.prepare<DomainRow, [number, number]>(
    SELECT_DOMAIN +
      ' WHERE deleted_at IS NULL AND next_check_at IS NOT NULL AND next_check_at <= ?' +
      ' ORDER BY next_check_at LIMIT ?',
  );
  const setting = db.prepare<{ value: string }, [string]>(
    'SELECT value FROM settings WHERE name = ?',
  );
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
  const byStatus = db.prepare<{ status: MessageStatus; count: number }, [string, number]>(
    'SELECT status, sum(count) AS count FROM status_days WHERE account_id = ? AND day >= ? GROUP BY status',
  );
  const mapDomain = (row: DomainRow | null) => (row === null ? null : domainOf(row));

  return {
    accounts: () => accounts.all(),
    account: (idOrName) => accountById.get(idOrName) ?? accountByName.get(idOrName),
    keys: (accountId) => keys.all(accountId).map(keyOf),
    keyByHash(hash) {
      const row = keyByHash.get(hash);
      const account = row === null ? null : accountById.get(row.accountId);
      return row === null || account === null ? null : { key: keyOf(row), account };
    },
    domains: (accountId) => domains.all(accountId).map(domainOf),
    domain: (accountId, id) => mapDomain(domain.get(accountId, id)),
    domainByName: (accountId, name) => mapDomain(domainByName.get(accountId, name)),
    domainForSigning: (id) => mapDomain(anyDomain.get(id)),
    domainsDue: (now, limit) => domainsDue.all(now, limit).map(domainOf),
    setting: (name) => setting.get(name)?.value ?? null,
    confirmedRecipients: (accountId) => confirmedList.all(accountId),
    confirmed: (accountId, emails) =>
      new Set(emails.filter((email) => isConfirmed.get(accountId, email) !== null)),
    usedInMonth: (accountId, month) =>
      inMonth.get(accountId, `${month}-01`, `${month}-31`)?.used ?? 0,
    usedOnDay: (accountId, day) => onDay.get(accountId, day)?.used ?? 0,
    countsByStatus(accountId, since) {
      const counts = Object.fromEntries(MESSAGE_STATUSES.map((status) => [status, 0]));
      for (const row of byStatus.all(accountId, dayOf(since))) counts[row.status] = row.count;
      return counts as Record<MessageStatus, number>;
    },
  };
}
