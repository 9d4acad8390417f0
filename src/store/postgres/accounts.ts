/**
 * Accounts, keys, confirmed recipients and usage.
 *
 * Promises that a name is given to one account, that limits hold under requests to several nodes (the account's row is
 * locked while its keys are counted), and that a key is revoked once, at the first time asked.
 */
import { MESSAGE_STATUSES } from '../../base/status.ts';
import type { MessageStatus } from '../../base/status.ts';
import type { AccountStore } from '../accounts.ts';
import { MS_PER_DAY, dayOf } from '../counted.ts';
import { accountReads } from '../sql/accounts.ts';
import type { Access, Session } from './database.ts';
import { boundId, idOrNull } from './ids.ts';
import { sqlReader } from './reader.ts';
import { isOne, raising } from './revision.ts';
import { insertInto, part, table } from './statement.ts';
import { ACCOUNTS, API_KEYS } from './tables.ts';

/** The verbs over the database. */
export function accountVerbs(database: Access): AccountStore {
  return {
    ...accountReads(sqlReader(database)),
    ...storedBytes(database),
    ...accountsOf(database),
    ...keysOf(database),
    ...confirmationsOf(database),
    ...countsOf(database),
  };
}

/** Holds what the account may have a limited number of until the transaction ends. */
export async function lockAccount(session: Session, accountId: string): Promise<void> {
  await session.run(
    part('SELECT 1 FROM accounts WHERE id = $1 FOR NO KEY UPDATE', idOrNull(accountId)),
  );
}

function accountsOf(
  database: Access,
): Pick<AccountStore, 'createAccount' | 'setAccountStatus' | 'changeAccount'> {
  return {
    async createAccount(account) {
      const added = await database.run(
        insertInto(ACCOUNTS, [{ ...account }], 'ON CONFLICT DO NOTHING'),
      );
      return added === 1 ? 'created' : 'exists';
    },
    async setAccountStatus(id, status, reason) {
      const set = 'UPDATE accounts SET status = $1, status_reason = $2 WHERE id = $3';
      const statement = part(set, status, reason, idOrNull(id));
      return (await raising(database, (session) => session.run(statement), isOne)) === 1;
    },
    changeAccount: (id, { name, plan }) =>
      raising(database, async (session) => {
        const other = await session.first<{ id: string }>(
          part('SELECT id FROM accounts WHERE name = $1', name),
        );
        if (other !== null && other.id !== id) return 'exists';
        const set = 'UPDATE accounts SET name = $1, plan = $2 WHERE id = $3';
        return (await session.run(part(set, name, plan, idOrNull(id)))) === 1
          ? 'changed'
          : 'absent';
      }),
  };
}

function keysOf(
  database: Access,
): Pick<AccountStore, 'createKey' | 'revokeKey' | 'renameKey' | 'touchKeys'> {
  const NEW_KEYS = table('api_keys', { ...API_KEYS.columns, hash: 'bytea' });
  return {
    createKey: (key, hash, max) =>
      database.transaction(async (session) => {
        await lockAccount(session, key.accountId);
        const counted = await session.first<{ count: number }>(
          part(
            'SELECT count(*) AS count FROM api_keys WHERE account_id = $1 AND is_test = $2 AND revoked_at IS NULL',
            idOrNull(key.accountId),
            key.isTest,
          ),
        );
        if ((counted?.count ?? 0) >= max) return 'too_many';
        await session.run(insertInto(NEW_KEYS, [{ ...key, hash }]));
        return 'created';
      }),
    async revokeKey(accountId, id, now) {
      const set =
        'UPDATE api_keys SET revoked_at = COALESCE(revoked_at, $1) WHERE account_id = $2 AND id = $3';
      const statement = part(set, now, idOrNull(accountId), idOrNull(id));
      return (await raising(database, (session) => session.run(statement), isOne)) === 1;
    },
    async renameKey(accountId, id, name) {
      const set = 'UPDATE api_keys SET name = $1 WHERE account_id = $2 AND id = $3';
      return (await database.run(part(set, name, idOrNull(accountId), idOrNull(id)))) === 1;
    },
    async touchKeys(uses) {
      await database.run(
        part(
          'UPDATE api_keys SET last_used_at = v.at FROM' +
            ' (SELECT id, max(at) AS at FROM unnest($1::uuid[], $2::int8[]) AS u (id, at) GROUP BY id) AS v' +
            ' WHERE api_keys.id = v.id AND (last_used_at IS NULL OR last_used_at < v.at)',
          uses.map(({ id }) => idOrNull(id)),
          uses.map(({ usedAt }) => usedAt),
        ),
      );
    },
  };
}

function confirmationsOf(
  database: Access,
): Pick<AccountStore, 'addConfirmedRecipient' | 'removeConfirmedRecipient'> {
  const CONFIRMED = table('confirmed_recipients', {
    accountId: 'uuid',
    email: 'text',
    createdAt: 'int8',
  });
  return {
    async addConfirmedRecipient(accountId, email, createdAt) {
      const row = { accountId, email, createdAt };
      return (await database.run(insertInto(CONFIRMED, [row], 'ON CONFLICT DO NOTHING'))) === 1;
    },
    async removeConfirmedRecipient(accountId, email) {
      const drop = 'DELETE FROM confirmed_recipients WHERE account_id = $1 AND email = $2';
      return (await database.run(part(drop, idOrNull(accountId), email))) === 1;
    },
  };
}

/** Summed here: it stands in several slots. */
function storedBytes(database: Access): Pick<AccountStore, 'storedBytes'> {
  return {
    async storedBytes(accountId) {
      const row = await database.first<{ sum: number | null }>(
        part(
          'SELECT sum(bytes) AS sum FROM stored_bytes WHERE account_id = $1',
          idOrNull(accountId),
        ),
      );
      return row?.sum ?? 0;
    },
  };
}

interface StatusCount {
  status: MessageStatus;
  count: number;
}

function countsOf(
  database: Access,
): Pick<AccountStore, 'countsByStatus' | 'sandboxCountsByStatus'> {
  const counted = (rows: readonly StatusCount[]): Record<MessageStatus, number> => {
    const counts = Object.fromEntries(MESSAGE_STATUSES.map((status) => [status, 0]));
    for (const { status, count } of rows) counts[status] = count;
    return counts as Record<MessageStatus, number>;
  };
  return {
    async countsByStatus(accountId, since) {
      const rows = await database.all<StatusCount>(
        part(
          'SELECT status, sum(count) AS count FROM status_days WHERE account_id = $1 AND day >= $2 GROUP BY status',
          idOrNull(accountId),
          dayOf(since),
        ),
      );
      return counted(rows);
    },
    async sandboxCountsByStatus(accountId, since) {
      const rows = await database.all<StatusCount>(
        part(
          'SELECT status, count(*) AS count FROM messages' +
            ' WHERE account_id = $1 AND is_sandbox AND id >= $2 GROUP BY status',
          idOrNull(accountId),
          boundId(dayOf(since) * MS_PER_DAY),
        ),
      );
      return counted(rows);
    },
  };
}
