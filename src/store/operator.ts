/**
 * The port for the operator: the queue across all accounts, and backups.
 *
 * Promises what stands on disk at the moment of the call; what is in an attempt only the queue itself knows.
 */
import type { Recipient } from './rows.ts';

/** A recipient or message by its id, those of a domain, or (both null) all that wait. */
export interface RetryTarget {
  id: string | null;
  domain: string | null;
}

export interface QueueFilter {
  /** Only this destination. */
  domain: string | null;
  limit: number;
  /** Id of the last recipient of the page before. */
  after: string | null;
}

/** The recipients that wait for one destination. */
export interface QueueCount {
  domain: string;
  waiting: number;
  /** When the one that waits longest was accepted. */
  oldestCreatedAt: number;
  /** Why that one still waits. */
  reason: string | null;
}

/** The recipients that wait for destinations of one kind (`destinationKind`). */
export interface QueueKind {
  kind: string;
  destinations: number;
  waiting: number;
  oldestCreatedAt: number;
}

/** What waits, however many destinations there are. */
export interface QueueCounts {
  /** Of all destinations; a kind for which nobody waits is not here. */
  kinds: QueueKind[];
  /** The destinations with most waiting recipients first. */
  largest: QueueCount[];
}

/** Recipients that wait, over all kinds. */
export function waitingIn(kinds: readonly QueueKind[]): number {
  return kinds.reduce((sum, { waiting }) => sum + waiting, 0);
}

/** Destinations for which somebody waits, over all kinds. */
export function destinationsIn(kinds: readonly QueueKind[]): number {
  return kinds.reduce((sum, { destinations }) => sum + destinations, 0);
}

/** Rows of a backup, by table. */
export type RowCounts = Record<string, number>;

/** What a finished backup holds. */
export interface BackupReport {
  file: string;
  bytes: number;
  rows: RowCounts;
}

/** How the connections to a database on a server of its own are. */
export interface DatabaseState {
  /** Connections with something under way, and without. */
  used: number;
  idle: number;
  /** Who waits for a connection. */
  waiting: number;
  /** The last connection or statement found no primary. */
  isAway: boolean;
  /** Since the last commit, or since the store was opened. */
  sinceCommitMs: number;
  /** Whether a synchronous standby has what is committed; null where none is required: nobody looks. */
  hasStandby: boolean | null;
}

export interface OperatorStore {
  /** Null: there is no such database. */
  databaseState(): Promise<DatabaseState | null>;
  /** Waiting recipients by destination and age. */
  queue(filter: QueueFilter): Promise<Recipient[]>;
  /** `largest`: at most `limit`, of `domain` alone where it is given. */
  queueCounts(domain: string | null, limit: number): Promise<QueueCounts>;
  /** Makes open recipients due now; returns how many are, those that were due already among them. */
  retryNow(target: RetryTarget, now: number): Promise<number>;
  /**
   * Copies everything but the request log to `file` (which must not exist), checks the copy, and returns its size and
   * row counts. The copy holds every write that resolved before the call. `tell` hears every few seconds how far it is:
   * bytes copied, then once that the copy is checked. Throws `OperatorError`.
   */
  backUpTo(file: string, tell?: (progress: number | 'checking') => void): Promise<BackupReport>;
}
