/**
 * Writes about sending domains.
 *
 * Promises that the limit on domains is checked inside the commit that adds one, so that parallel requests cannot pass
 * it. Never touches another account's rows; a deleted domain keeps its row.
 */
import type { Database } from 'bun:sqlite';
import type { Writes } from './verbs.ts';

/** The verbs over the writer's connection; statements are prepared once, here. */
export function domainWrites(
  db: Database,
): Pick<Writes, 'createDomain' | 'deleteDomain' | 'finishDomainCheck'> {
  const remove = db.prepare(
    'UPDATE domains SET deleted_at = ? WHERE account_id = ? AND id = ? AND deleted_at IS NULL',
  );
  const check = db.prepare(
    'UPDATE domains SET status = ?, record_states = ?, verified_at = ?, last_checked_at = ?,' +
      ' next_check_at = ?, failing_since = ?, pending_since = ?, seen_records = coalesce(?, seen_records)' +
      ' WHERE id = ? AND deleted_at IS NULL',
  );
  return {
    ...creation(db),
    deleteDomain(accountId, id, now) {
      return remove.run(now, accountId, id).changes === 1;
    },
    finishDomainCheck(result) {
      check.run(
        result.status,
        JSON.stringify(result.recordStates),
        result.verifiedAt,
        result.now,
        result.nextCheckAt,
        result.failingSince,
        result.pendingSince,
        result.seen === undefined ? null : JSON.stringify(result.seen),
        result.id,
      );
    },
  };
}

function creation(db: Database): Pick<Writes, 'createDomain'> {
  const named = db.prepare(
    'SELECT 1 FROM domains WHERE account_id = ? AND name = ? AND deleted_at IS NULL',
  );
  const countOf = db.prepare<{ count: number }, [string]>(
    'SELECT count(*) AS count FROM domains WHERE account_id = ? AND deleted_at IS NULL',
  );
  const add = db.prepare(
    'INSERT INTO domains (id, account_id, name, status, selector, dkim_public_key, sealed_dkim_key,' +
      ' record_states, created_at, verified_at, last_checked_at, next_check_at, failing_since,' +
      ' pending_since, deleted_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
  );
  return {
    createDomain(domain, maxDomains) {
      if (named.get(domain.accountId, domain.name) !== null) return 'exists';
      if ((countOf.get(domain.accountId)?.count ?? 0) >= maxDomains) return 'too_many';
      add.run(
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
  };
}
