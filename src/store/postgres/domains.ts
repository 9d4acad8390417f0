/**
 * Sending domains and their DKIM keys.
 *
 * Promises that a name stands once among an account's domains, that the limit holds under requests to several nodes, and
 * that the activation of a key is one transaction. Never touches a removed domain; its row stays, for what it still signs.
 */
import type { DomainStatus } from '../../base/status.ts';
import type { DkimKeyStore } from '../dkim-keys.ts';
import type { DomainStore } from '../domains.ts';
import { dkimKeyReads, domainReads } from '../sql/domains.ts';
import { lockAccount } from './accounts.ts';
import type { Access, Session } from './database.ts';
import { idOrNull } from './ids.ts';
import { sqlReader } from './reader.ts';
import { isOne, raising } from './revision.ts';
import { insertInto, part } from './statement.ts';
import { DOMAINS } from './tables.ts';

/** The verbs over the database. */
export function domainVerbs(database: Access): DomainStore & DkimKeyStore {
  const reader = sqlReader(database);
  return {
    ...domainReads(reader),
    ...dkimKeyReads(reader),
    ...domainWrites(database),
    ...dkimKeys(database),
  };
}

type Writes = Pick<DomainStore, 'createDomain' | 'deleteDomain' | 'finishDomainCheck'>;

function domainWrites(database: Access): Writes {
  return {
    createDomain: (domain, maxDomains) =>
      database.transaction(async (session) => {
        await lockAccount(session, domain.accountId);
        const known = await session.first<{ count: number; named: number }>(
          part(
            'SELECT count(*) AS count, count(*) FILTER (WHERE name = $2) AS named FROM domains' +
              ' WHERE account_id = $1 AND deleted_at IS NULL',
            domain.accountId,
            domain.name,
          ),
        );
        if ((known?.named ?? 0) > 0) return 'exists';
        if ((known?.count ?? 0) >= maxDomains) return 'too_many';
        const recordStates = JSON.stringify(domain.recordStates);
        await session.run(insertInto(DOMAINS, [{ ...domain, recordStates }]));
        return 'created';
      }),
    async deleteDomain(accountId, id, now) {
      const drop =
        'UPDATE domains SET deleted_at = $1 WHERE account_id = $2 AND id = $3 AND deleted_at IS NULL';
      const statement = part(drop, now, idOrNull(accountId), idOrNull(id));
      return (await raising(database, (session) => session.run(statement), isOne)) === 1;
    },
    async finishDomainCheck(check) {
      const finish = (session: Session): Promise<{ before: DomainStatus } | null> =>
        session.first(
          part(
            'WITH known AS (SELECT id, status FROM domains WHERE id = $9 AND deleted_at IS NULL FOR NO KEY UPDATE)' +
              ' UPDATE domains SET status = $1, record_states = $2, verified_at = $3, last_checked_at = $4,' +
              ' next_check_at = $5, failing_since = $6, pending_since = $7, seen_records = COALESCE($8, seen_records)' +
              ' FROM known WHERE domains.id = known.id RETURNING known.status AS before',
            check.status,
            JSON.stringify(check.recordStates),
            check.verifiedAt,
            check.now,
            check.nextCheckAt,
            check.failingSince,
            check.pendingSince,
            check.seen === undefined ? null : JSON.stringify(check.seen),
            idOrNull(check.id),
          ),
        );
      // Most checks find what the one before has found: no node has to forget anything.
      await raising(database, finish, (row) => row !== null && row.before !== check.status);
    },
  };
}

function dkimKeys(database: Access): Pick<DkimKeyStore, 'addNextDkimKey' | 'activateDkimKey'> {
  return {
    async addNextDkimKey(domainId, { selector, dkimPublicKey, sealedDkimKey, since }) {
      await database.run(
        part(
          'INSERT INTO dkim_keys (domain_id, state, selector, dkim_public_key, sealed_dkim_key, since)' +
            " VALUES ($1, 'next', $2, $3, $4, $5) ON CONFLICT DO NOTHING",
          domainId,
          selector,
          dkimPublicKey,
          sealedDkimKey,
          since,
        ),
      );
    },
    activateDkimKey: (domainId, selector, now) =>
      database.transaction(async (session) => {
        const id = idOrNull(domainId);
        const kept = await session.run(
          part(
            'INSERT INTO dkim_keys (domain_id, state, selector, dkim_public_key, sealed_dkim_key, since)' +
              " SELECT id, 'previous', selector, dkim_public_key, NULL, $2 FROM domains" +
              ' WHERE id = $1 AND deleted_at IS NULL AND EXISTS' +
              " (SELECT 1 FROM dkim_keys WHERE domain_id = $1 AND state = 'next' AND selector = $3)" +
              ' ON CONFLICT (domain_id, state) DO UPDATE SET selector = excluded.selector,' +
              ' dkim_public_key = excluded.dkim_public_key, sealed_dkim_key = NULL, since = excluded.since',
            id,
            now,
            selector,
          ),
        );
        if (kept === 0) return false;
        await session.run(
          part(
            'UPDATE domains SET selector = next.selector, dkim_public_key = next.dkim_public_key,' +
              ' sealed_dkim_key = next.sealed_dkim_key FROM dkim_keys AS next' +
              " WHERE domains.id = $1 AND next.domain_id = $1 AND next.state = 'next'",
            id,
          ),
        );
        await session.run(
          part("DELETE FROM dkim_keys WHERE domain_id = $1 AND state = 'next'", id),
        );
        return true;
      }),
  };
}
