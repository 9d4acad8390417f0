/**
 * Reads about sending domains.
 *
 * Promises an account's domains to it alone, oldest first; `domainForSigning` and `domainsDue` serve the appliance
 * itself and see every account's. Deleted domains show only where they still sign.
 */
import type { Database } from 'bun:sqlite';
import type { DomainStore } from '../domains.ts';
import { SELECT_DOMAIN, domainOf } from '../sql/columns.ts';
import type { DomainRow } from '../sql/columns.ts';
import { seenRecordsOf } from '../json-columns.ts';

/** The verbs over a reading connection; statements are prepared once, here. */
export function domainReads(
  db: Database,
): Pick<
  DomainStore,
  'domains' | 'domain' | 'seenRecords' | 'domainByName' | 'domainForSigning' | 'domainsDue'
> {
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
  const seen = db.prepare<{ seen: string }, [string, string]>(
    'SELECT seen_records AS seen FROM domains WHERE account_id = ? AND id = ? AND deleted_at IS NULL',
  );
  const mapDomain = (row: DomainRow | null) => (row === null ? null : domainOf(row));
  return {
    domains: async (accountId) => domains.all(accountId).map(domainOf),
    domain: async (accountId, id) => mapDomain(domain.get(accountId, id)),
    seenRecords: async (accountId, id) => seenRecordsOf(seen.get(accountId, id)?.seen ?? '{}'),
    domainByName: async (accountId, name) => mapDomain(domainByName.get(accountId, name)),
    domainForSigning: async (id) => mapDomain(anyDomain.get(id)),
    domainsDue: async (now, limit) => domainsDue.all(now, limit).map(domainOf),
  };
}
