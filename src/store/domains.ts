/**
 * The port for sending domains: the account's side, the checker's and the signer's.
 *
 * Promises that a name stands once among an account's domains and that the limit holds under parallel requests. A
 * deleted domain keeps its row, because mail accepted before is still signed with it.
 */
import type { DomainStatus, RecordStatus } from '../base/status.ts';
import type { ListPart } from './pages.ts';
import type { Domain } from './rows.ts';

/** What one check of a domain's DNS records has found. */
export interface DomainCheck {
  id: string;
  now: number;
  status: DomainStatus;
  recordStates: Record<string, RecordStatus>;
  verifiedAt: number | null;
  nextCheckAt: number | null;
  failingSince: number | null;
  pendingSince: number;
  /** Absent: what was seen before stays. */
  seen?: SeenRecords;
}

/** What DNS showed for one record. */
export interface SeenRecord {
  /** The name that was asked. */
  at: string;
  /** As published, a few of them, each cut to a bound. */
  values: string[];
  /** Why this does not do, as a clause for the domain's owner; null where all is well. */
  problem: string | null;
}

/** By record name (`DKIM`, `SPF`, `DMARC`); empty before the first check. */
export type SeenRecords = Record<string, SeenRecord>;

/** A part of the accounts with domains whose check is due. */
export interface AccountsToCheck {
  accountIds: string[];
  last: string | null;
}

export interface DomainStore {
  createDomain(domain: Domain, maxDomains: number): Promise<'created' | 'exists' | 'too_many'>;
  /** False when there is no such domain in the account. */
  deleteDomain(accountId: string, id: string, now: number): Promise<boolean>;
  /** Writes the result of a check; a domain deleted in the meantime is left alone. */
  finishDomainCheck(check: DomainCheck): Promise<void>;
  /** An account's domains, oldest first: all, with other work between them, or a part. */
  domains(accountId: string, part?: ListPart): Promise<Domain[]>;
  domain(accountId: string, id: string): Promise<Domain | null>;
  /** What the last check of a domain saw; empty for another account's. */
  seenRecords(accountId: string, id: string): Promise<SeenRecords>;
  domainByName(accountId: string, name: string): Promise<Domain | null>;
  /** Deleted ones too, of any account. */
  domainForSigning(id: string): Promise<Domain | null>;
  /**
   * The accounts that have a domain whose next check is due at `now`, in the order of their ids: a part of all accounts,
   * behind the one with the id `after`. `last`: the last account of the part; null when there is none behind it.
   */
  accountsToCheck(now: number, after: string | null): Promise<AccountsToCheck>;
  /** Ids of an account's domains whose next check is due at `now`, the longest overdue first. */
  domainsDue(accountId: string, now: number, limit: number): Promise<string[]>;
}
