/**
 * Reads about sending domains and the DKIM keys beside the ones that sign.
 *
 * Promises an account's domains to it alone, oldest first; `domainForSigning` and `accountsToCheck` serve the
 * appliance itself and see every account's. Deleted domains show only where they still sign.
 */
import type { DkimKeyStore, NextDkimKey, PreviousDkimKey } from '../dkim-keys.ts';
import type { DomainStore } from '../domains.ts';
import { seenRecordsOf } from '../json-columns.ts';
import type { Domain } from '../rows.ts';
import { SELECT_DOMAIN, domainOf } from './columns.ts';
import type { DomainRow } from './columns.ts';
import { listReads, NIL } from './lists.ts';
import type { SqlReader, SqlValue } from './reader.ts';

type DomainReads = Pick<
  DomainStore,
  | 'domains'
  | 'domain'
  | 'seenRecords'
  | 'domainByName'
  | 'domainForSigning'
  | 'accountsToCheck'
  | 'domainsDue'
>;

const DOMAINS = SELECT_DOMAIN + ' WHERE account_id = ? AND deleted_at IS NULL';
const DOMAIN = SELECT_DOMAIN + ' WHERE account_id = ? AND id = ? AND deleted_at IS NULL';
const DOMAIN_BY_NAME = SELECT_DOMAIN + ' WHERE account_id = ? AND name = ? AND deleted_at IS NULL';
const ANY_DOMAIN = SELECT_DOMAIN + ' WHERE id = ?';
const SCHEDULED = ' AND deleted_at IS NULL AND next_check_at IS NOT NULL';
const DOMAINS_DUE =
  'SELECT id FROM domains WHERE account_id = ?' +
  SCHEDULED +
  ' AND next_check_at <= ? ORDER BY next_check_at LIMIT ?';
/** Accounts of a part of the walk over those that have checks to come. */
const PART_ACCOUNTS = 100;
/** Each step jumps over all domains of an account: the index begins with it. */
const ACCOUNTS_TO_CHECK =
  'WITH RECURSIVE walk (id, n) AS (SELECT (SELECT account_id FROM domains WHERE account_id > ?' +
  SCHEDULED +
  ' ORDER BY account_id, next_check_at LIMIT 1), 1 UNION ALL' +
  ' SELECT (SELECT account_id FROM domains WHERE account_id > walk.id' +
  SCHEDULED +
  ' ORDER BY account_id, next_check_at LIMIT 1), n + 1 FROM walk WHERE id IS NOT NULL AND n < ?)' +
  ' SELECT id, (SELECT next_check_at FROM domains WHERE account_id = walk.id' +
  SCHEDULED +
  ' ORDER BY next_check_at LIMIT 1) AS "dueAt" FROM walk WHERE id IS NOT NULL ORDER BY id';
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
    async accountsToCheck(now, after) {
      const from = after ?? NIL;
      const walked = await sql.all<{ id: string; dueAt: number }>(
        ACCOUNTS_TO_CHECK,
        from,
        PART_ACCOUNTS,
      );
      return {
        accountIds: walked.filter(({ dueAt }) => dueAt <= now).map(({ id }) => id),
        last: walked.length < PART_ACCOUNTS ? null : (walked.at(-1)?.id ?? null),
      };
    },
    domainsDue: async (accountId, now, limit) =>
      (await sql.all<{ id: string }>(DOMAINS_DUE, accountId, now, limit)).map(({ id }) => id),
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
