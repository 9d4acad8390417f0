/**
 * Reads about accounts, keys, confirmed recipients and usage.
 *
 * Promises lists oldest first. Never shows one account's rows to another.
 */
import type { AccountStore } from '../accounts.ts';
import type { Account } from '../rows.ts';
import { SELECT_ACCOUNT, SELECT_KEY, keyOf } from './columns.ts';
import type { AccountRow, KeyRow } from './columns.ts';
import { listReads } from './lists.ts';
import type { SqlReader } from './reader.ts';

type KeyReads = Pick<
  AccountStore,
  'accounts' | 'account' | 'keys' | 'testKeys' | 'key' | 'keyByHash'
>;
type UsageReads = Pick<
  AccountStore,
  'confirmedRecipients' | 'confirmed' | 'usedInMonth' | 'usedOnDay' | 'usedByDay' | 'storedBytes'
>;

const ACCOUNT_BY_ID = SELECT_ACCOUNT + ' WHERE id = ?';
const ACCOUNT_BY_NAME = SELECT_ACCOUNT + ' WHERE name = ?';
const KEYS = SELECT_KEY + ' WHERE account_id = ?';
const TEST_KEYS = KEYS + ' AND is_test = TRUE';
const KEY = SELECT_KEY + ' WHERE id = ?';
const KEY_BY_HASH = SELECT_KEY + ' WHERE hash = ?';
const CONFIRMED =
  'SELECT email, created_at AS "createdAt" FROM confirmed_recipients' +
  ' WHERE account_id = ? AND email > ? ORDER BY email LIMIT ?';
const IS_CONFIRMED = 'SELECT email FROM confirmed_recipients WHERE account_id = ? AND email = ?';
const USED =
  'SELECT CAST(COALESCE(sum(count), 0) AS bigint) AS used FROM usage_days' +
  ' WHERE account_id = ? AND day BETWEEN ? AND ?';
const USED_BY_DAY =
  'SELECT day, CAST(sum(count) AS bigint) AS count FROM usage_days' +
  ' WHERE account_id = ? AND day >= ? GROUP BY day ORDER BY day';
const STORED = 'SELECT bytes FROM stored_bytes WHERE account_id = ?';

export function accountReads(sql: SqlReader): KeyReads & UsageReads {
  return { ...keyReads(sql), ...usageReads(sql) };
}

function keyReads(sql: SqlReader): KeyReads {
  const accounts = listReads(sql, SELECT_ACCOUNT, (row: AccountRow): Account => row);
  const keys = listReads(sql, KEYS, keyOf);
  const testKeys = listReads(sql, TEST_KEYS, keyOf);
  return {
    accounts: (part) => accounts(part),
    account: async (idOrName) =>
      (await sql.one<AccountRow>(ACCOUNT_BY_ID, idOrName)) ??
      sql.one<AccountRow>(ACCOUNT_BY_NAME, idOrName),
    keys: (accountId, part) => keys(part, accountId),
    testKeys: (accountId, part) => testKeys(part, accountId),
    async key(id) {
      const row = await sql.one<KeyRow>(KEY, id);
      return row === null ? null : keyOf(row);
    },
    async keyByHash(hash) {
      const row = await sql.one<KeyRow>(KEY_BY_HASH, hash);
      if (row === null) return null;
      const account = await sql.one<AccountRow>(ACCOUNT_BY_ID, row.accountId);
      return account === null ? null : { key: keyOf(row), account };
    },
  };
}

function usageReads(sql: SqlReader): UsageReads {
  const used = async (accountId: string, first: string, last: string): Promise<number> =>
    (await sql.one<{ used: number }>(USED, accountId, first, last))?.used ?? 0;
  return {
    confirmedRecipients: (accountId, { after, limit }) =>
      sql.all(CONFIRMED, accountId, after, limit),
    async confirmed(accountId, emails) {
      const rows = await Promise.all(
        emails.map((email) => sql.one<{ email: string }>(IS_CONFIRMED, accountId, email)),
      );
      return new Set(rows.flatMap((row) => row?.email ?? []));
    },
    usedInMonth: (accountId, month) => used(accountId, `${month}-01`, `${month}-31`),
    usedOnDay: (accountId, day) => used(accountId, day, day),
    usedByDay: (accountId, since) => sql.all(USED_BY_DAY, accountId, since),
    storedBytes: async (accountId) =>
      (await sql.one<{ bytes: number }>(STORED, accountId))?.bytes ?? 0,
  };
}
