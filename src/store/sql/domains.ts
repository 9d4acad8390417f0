/**
 * Reads about sending domains and the DKIM keys beside the ones that sign.
 *
 * Promises an account's domains to it alone, oldest first; `domainForSigning` and `domainsDue` serve the appliance
 * itself and see every account's. Deleted domains show only where they still sign.
 */
import type { DkimKeyStore, NextDkimKey, PreviousDkimKey } from '../dkim-keys.ts';
import type { DomainStore } from '../domains.ts';
import { seenRecordsOf } from '../json-columns.ts';
import type { Domain } from '../rows.ts';
import { SELECT_DOMAIN, domainOf } from './columns.ts';
import type { DomainRow } from './columns.ts';
import { listReads } from './lists.ts';
import type { SqlReader, SqlValue } from './reader.ts';

type DomainReads = Pick<
  DomainStore,
  'domains' | 'domain' | 'seenRecords' | 'domainByName' | 'domainForSigning' | 'domainsDue'
>;

const DOMAINS = SELECT_DOMAIN + ' WHERE account_id = ? AND deleted_at IS NULL';
const DOMAIN = SELECT_DOMAIN + ' WHERE account_id = ? AND id = ? AND deleted_at IS NULL';
const DOMAIN_BY_NAME = SELECT_DOMAIN + ' WHERE account_id = ? AND name = ? AND deleted_at IS NULL';
const ANY_DOMAIN = SELECT_DOMAIN + ' WHERE id = ?';
const DOMAINS_DUE =
  SELECT_DOMAIN +
  ' WHERE deleted_at IS NULL AND next_check_at IS NOT NULL AND next_check_at <= ?' +
  ' ORDER BY next_check_at LIMIT ?';
const SEEN =
  'SELECT seen_records AS seen FROM domains WHERE account_id = ? AND id = ? AND deleted_at IS NULL';
const NEXT_KEY =
  'SELECT selector, dkim_public_key AS "dkimPublicKey", sealed_dkim_key AS "sealedDkimKey", since' +
  " FROM dkim_keys WHERE domain_id = ? AND state = 'next'";
const PREVIOUS_KEY =
  "SELECT selector, since FROM dkim_keys WHERE domain_id = ? AND state = 'previous'";

export function domainReads(sql: SqlReader): DomainReads {
  const one = async (text: string, ...values: SqlValue[]): Promise<Domain | null> => {
    const row = await sql.one<DomainRow>(text, ...values);
    return row === null ? null : domainOf(row);
  };
  const domains = listReads(sql, DOMAINS, domainOf);
  return {
    domains: (accountId, part) => domains(part, accountId),
    domain: (accountId, id) => one(DOMAIN, accountId, id),
    seenRecords: async (accountId, id) =>
      seenRecordsOf((await sql.one<{ seen: string }>(SEEN, accountId, id))?.seen ?? '{}'),
    domainByName: (accountId, name) => one(DOMAIN_BY_NAME, accountId, name),
    domainForSigning: (id) => one(ANY_DOMAIN, id),
    domainsDue: async (now, limit) =>
      (await sql.all<DomainRow>(DOMAINS_DUE, now, limit)).map(domainOf),
  };
}

export function dkimKeyReads(
  sql: SqlReader,
): Pick<DkimKeyStore, 'nextDkimKey' | 'previousDkimKey'> {
  return {
    nextDkimKey: (domainId) => sql.one<NextDkimKey>(NEXT_KEY, domainId),
    previousDkimKey: (domainId) => sql.one<PreviousDkimKey>(PREVIOUS_KEY, domainId),
  };
}
