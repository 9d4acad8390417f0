/**
 * Writes about accounts, keys and confirmed recipients: rare and small.
 *
 * Promises that a name is given to one account, and that a key is revoked once, at the first time asked. Never touches
 * another account's rows.
 */
import type { Database } from 'bun:sqlite';
import type { Writes } from './verbs.ts';

type AccountWrites = Pick<Writes, 'createAccount' | 'setAccountStatus' | 'changeAccount'>;
type KeyWrites = Pick<Writes, 'createKey' | 'revokeKey' | 'renameKey' | 'touchKeys'>;
type ConfirmationWrites = Pick<Writes, 'addConfirmedRecipient' | 'removeConfirmedRecipient'>;

/** The verbs over the writer's connection; statements are prepared once, here. */
export function accountWrites(db: Database): AccountWrites & KeyWrites & ConfirmationWrites {
  const add = db.prepare(
    'INSERT INTO accounts (id, name, plan, status, status_reason, created_at)' +
      ' VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
  );
  const setStatus = db.prepare('UPDATE accounts SET status = ?, status_reason = ? WHERE id = ?');
  const named = db.prepare<{ id: string }, [string]>('SELECT id FROM accounts WHERE name = ?');
  const change = db.prepare('UPDATE accounts SET name = ?, plan = ? WHERE id = ?');
  return {
    changeAccount(id, { name, plan }) {
      const other = named.get(name);
      if (other !== null && other.id !== id) return 'exists';
      return change.run(name, plan, id).changes === 1 ? 'changed' : 'absent';
    },
    createAccount({ id, name, plan, status, statusReason, createdAt }) {
      const { changes } = add.run(id, name, plan, status, statusReason, createdAt);
      return changes === 1 ? 'created' : 'exists';
    },
    setAccountStatus(id, status, reason) {
      return setStatus.run(status, reason, id).changes === 1;
    },
    ...keyWrites(db),
    ...confirmationWrites(db),
  };
}

function keyWrites(db: Database): KeyWrites {
  const add = db.prepare(
    'INSERT INTO api_keys (id, account_id, hash, name, permission, is_test, prefix, last4,' +
      ' last_used_at, revoked_at, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
  );
  const unrevoked = db.prepare<{ count: number }, [string, number]>(
    'SELECT count(*) AS count FROM api_keys WHERE account_id = ? AND is_test = ? AND revoked_at IS NULL',
  );
  const revoke = db.prepare(
    'UPDATE api_keys SET revoked_at = COALESCE(revoked_at, ?) WHERE account_id = ? AND id = ?',
  );
  const rename = db.prepare('UPDATE api_keys SET name = ? WHERE account_id = ? AND id = ?');
  const touch = db.prepare(
    'UPDATE api_keys SET last_used_at = ?1 WHERE id = ?2 AND (last_used_at IS NULL OR last_used_at < ?1)',
  );
  return {
    createKey(key, hash, max) {
      const isTest = key.isTest ? 1 : 0;
      if ((unrevoked.get(key.accountId, isTest)?.count ?? 0) >= max) return 'too_many';
      add.run(
        key.id,
        key.accountId,
        hash,
        key.name,
        key.permission,
        isTest,
        key.prefix,
        key.last4,
        key.lastUsedAt,
        key.revokedAt,
        key.createdAt,
      );
      return 'created';
    },
    revokeKey(accountId, id, now) {
      return revoke.run(now, accountId, id).changes === 1;
    },
    renameKey(accountId, id, name) {
      return rename.run(name, accountId, id).changes === 1;
    },
    touchKeys(uses) {
      for (const use of uses) touch.run(use.usedAt, use.id);
    },
  };
}

function confirmationWrites(db: Database): ConfirmationWrites {
  const confirm = db.prepare(
    'INSERT INTO confirmed_recipients (account_id, email, created_at) VALUES (?, ?, ?)' +
      ' ON CONFLICT DO NOTHING',
  );
  const unconfirm = db.prepare(
    'DELETE FROM confirmed_recipients WHERE account_id = ? AND email = ?',
  );
  return {
    addConfirmedRecipient(accountId, email, createdAt) {
      return confirm.run(accountId, email, createdAt).changes === 1;
    },
    removeConfirmedRecipient(accountId, email) {
      return unconfirm.run(accountId, email).changes === 1;
    },
  };
}
