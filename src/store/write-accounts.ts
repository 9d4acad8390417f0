/**
 * Writes about accounts, keys, domains, settings and confirmed recipients: rare, small, checked here.
 *
 * Promises that a limit (domains per account) is checked inside the commit that adds the row, so that
 * parallel requests can not pass it. Never touches another account's rows.
 */
import type { Database } from 'bun:sqlite';
import type { Writes } from './verbs.ts';

type AccountWrites = Pick<
  Writes,
  | 'createAccount'
  | 'setAccountStatus'
  | 'createKey'
  | 'revokeKey'
  | 'renameKey'
  | 'touchKeys'
  | 'createDomain'
  | 'deleteDomain'
  | 'finishDomainCheck'
  | 'setSetting'
  | 'addConfirmedRecipient'
  | 'removeConfirmedRecipient'
>;

/** The verbs over the writer's connection; statements are prepared once, here. */
export function accountWrites(db: Database): AccountWrites {
  const addAccount = db.prepare(
    'INSERT INTO accounts (id, name, plan, status, status_reason, created_at)' +
      ' VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
  );
  const setStatus = db.prepare('UPDATE accounts SET status = ?, status_reason = ? WHERE id = ?');
  const addKey = db.prepare(
    'INSERT INTO api_keys (id, account_id, hash, name, permission, is_test, prefix, last4,' +
      ' last_used_at, revoked_at, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
  );
  const revoke = db.prepare(
    'UPDATE api_keys SET revoked_at = COALESCE(revoked_at, ?) WHERE account_id = ? AND id = ?',
  );
  const rename = db.prepare('UPDATE api_keys SET name = ? WHERE account_id = ? AND id = ?');
  const touch = db.prepare(
    'UPDATE api_keys SET last_used_at = ?1 WHERE id = ?2 AND (last_used_at IS NULL OR last_used_at < ?1)',
  );
  const domainNamed = db.prepare(
    'SELECT 1 FROM domains WHERE account_id = ? AND name = ? AND deleted_at IS NULL',
  );
  const domainCount = db.prepare<{ count: number }, [string]>(
    'SELECT count(*) AS count FROM domains WHERE account_id = ? AND deleted_at IS NULL',
  );
  const addDomain = db.prepare(
    'INSERT INTO domains (id, account_id, name, status, selector, dkim_public_key, sealed_dkim_key,' +
      ' record_states, created_at, verified_at, last_checked_at, next_check_at, failing_since,' +
      ' pending_since, deleted_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
  );
  const removeDomain = db.prepare(
    'UPDATE domains SET deleted_at = ? WHERE account_id = ? AND id = ? AND deleted_at IS NULL',
  );
  const checkDomain = db.prepare(
    'UPDATE domains SET status = ?, record_states = ?, verified_at = ?, last_checked_at = ?,' +
      ' next_check_at = ?, failing_since = ?, pending_since = ? WHERE id = ? AND deleted_at IS NULL',
  );
  const dropSetting = db.prepare('DELETE FROM settings WHERE name = ?');
  const putSetting = db.prepare(
    'INSERT INTO settings (name, value) VALUES (?, ?)' +
      ' ON CONFLICT (name) DO UPDATE SET value = excluded.value',
  );
  const confirm = db.prepare(
    'INSERT INTO confirmed_recipients (account_id, email, created_at) VALUES (?, ?, ?)' +
      ' ON CONFLICT DO NOTHING',
  );
  const unconfirm = db.prepare(
    'DELETE FROM confirmed_recipients WHERE account_id = ? AND email = ?',
  );

  return {
    createAccount(account) {
      const { changes } = addAccount.run(
        account.id,
        account.name,
        account.plan,
        account.status,
        account.statusReason,
        account.createdAt,
      );
      return changes === 1 ? 'created' : 'exists';
    },
    setAccountStatus(id, status, reason) {
      return setStatus.run(status, reason, id).changes === 1;
    },

    createKey(key, hash) {
      addKey.run(
        key.id,
        key.accountId,
        hash,
        key.name,
        key.permission,
        key.isTest ? 1 : 0,
        key.prefix,
        key.last4,
        key.lastUsedAt,
        key.revokedAt,
        key.createdAt,
      );
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

    createDomain(domain, maxDomains) {
      if (domainNamed.get(domain.accountId, domain.name) !== null) return 'exists';
      if ((domainCount.get(domain.accountId)?.count ?? 0) >= maxDomains) return 'too_many';
      addDomain.run(
        domain.id,
        domain.accountId,
        domain.name,
        domain.status,
        domain.selector,
        domain.dkimPublicKey,
        domain.sealedDkimKey,
        JSON.stringify(domain.recordStates),
        domain.createdAt,
        domain.verifiedAt,
        domain.lastCheckedAt,
        domain.nextCheckAt,
        domain.failingSince,
        domain.pendingSince,
        domain.deletedAt,
      );
      return 'created';
    },
    deleteDomain(accountId, id, now) {
      return removeDomain.run(now, accountId, id).changes === 1;
    },
    finishDomainCheck(check) {
      checkDomain.run(
        check.status,
        JSON.stringify(check.recordStates),
        check.verifiedAt,
        check.now,
        check.nextCheckAt,
        check.failingSince,
        check.pendingSince,
        check.id,
      );
    },

    setSetting(name, value) {
      if (value === null) dropSetting.run(name);
      else putSetting.run(name, value);
    },
    addConfirmedRecipient(accountId, email, createdAt) {
      return confirm.run(accountId, email, createdAt).changes === 1;
    },
    removeConfirmedRecipient(accountId, email) {
      return unconfirm.run(accountId, email).changes === 1;
    },
  };
}
