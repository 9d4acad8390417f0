/**
 * Which verbs of the store write and which read: writes run in the writer, reads on the caller's thread.
 *
 * Holds only types and the names of the writes; every other verb must be a read, or `sqlite.ts` does not
 * compile.
 */
import type { BeginAttempt, RetryTarget, Store } from './store.ts';
import type { Call, LogRecord, Recipient } from './rows.ts';

/** The same verb without its promise. */
export type Sync<F> = F extends (...args: infer A) => Promise<infer R> ? (...args: A) => R : never;

export const WRITE_NAMES = [
  'createAccount',
  'setAccountStatus',
  'createKey',
  'revokeKey',
  'renameKey',
  'touchKeys',
  'createDomain',
  'deleteDomain',
  'finishDomainCheck',
  'accept',
  'finish',
  'releaseLeases',
  'createEndpoint',
  'updateEndpoint',
  'rotateEndpointSecret',
  'deleteEndpoint',
  'finishCall',
  'recordTestCall',
  'replayCalls',
  'addSuppression',
  'removeSuppression',
  'addConfirmedRecipient',
  'removeConfirmedRecipient',
  'setSetting',
] as const satisfies readonly (keyof Store)[];

export type WriteName = (typeof WRITE_NAMES)[number];
/** Verbs that are asynchronous by themselves: made of steps, or searches that give way to other work. */
type Composed =
  | 'begin'
  | 'beginCalls'
  | 'addSuppressions'
  | 'retryNow'
  | 'appendLogs'
  | 'emails'
  | 'emailsByPage'
  | 'suppression'
  | 'suppressionById'
  | 'suppressed'
  | 'suppressions'
  | 'logs'
  | 'log'
  | 'backUpTo'
  | 'mayHaveEndpoints'
  | 'purgeBodies'
  | 'purgeHistory'
  | 'purgeExpired'
  | 'purgeLogs'
  | 'close';
export type ReadName = Exclude<keyof Store, WriteName | Composed>;

export type Reads = { [K in ReadName]: Sync<Store[K]> };

export interface BeginCall {
  id: string;
  owner: string;
  leaseUntil: number;
  nextAttemptAt: number;
}

/** Rows that go by age alone; of suppressions, the marks of removed ones. */
export type AgingRows = 'events' | 'attempts' | 'calls' | 'idempotency' | 'suppressions';

/** Steps of the writer that a verb of the store is made of, beside the verbs that are one step. */
export interface WriteSteps {
  begin(attempts: BeginAttempt[], now: number): Recipient[];
  beginCalls(calls: BeginCall[], now: number): Call[];
  /** At most `limit` suppressions more; returns how many were new. */
  addSuppressions(rows: Parameters<Store['addSuppressions']>[0]): number;
  /** Makes at most `limit` open recipients due; returns how many. */
  retrySome(target: RetryTarget, now: number, limit: number): number;
  /** Looks at `limit` bodies after the place `after`; `next` is where to go on, null at the end. */
  purgeBodiesStep(
    before: number,
    after: number,
    limit: number,
  ): { removed: number; next: number | null };
  purgeCallAttemptsStep(before: number, limit: number): number;
  /** Removes at most `limit` rows from before `before`; returns how many. */
  purgeStep(rows: AgingRows, before: number, limit: number): number;
}

/** The writes of the log file. */
export interface LogWrites {
  appendLogs(records: LogRecord[]): void;
  /** Of an account's `limit` oldest rows those made before `before`; returns how many. */
  purgeLogsStep(accountId: string, before: number, limit: number): number;
}

export type Writes = { [K in WriteName]: Sync<Store[K]> } & WriteSteps;

/** A verb's name with its arguments, as it travels to the writer. */
export interface Request {
  name: keyof Writes | keyof LogWrites;
  args: unknown[];
}
