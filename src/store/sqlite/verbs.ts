/**
 * The verbs that run in the writer's thread, and how one travels there.
 *
 * Holds only types: the writes of `Store` without their promises, and the steps that its longer writes are made of.
 */
import type { DeletedRows } from '../account-deletion.ts';
import type { RecipientRef } from '../journey.ts';
import type { Erased } from '../erasure.ts';
import type { RetryTarget } from '../operator.ts';
import type { LogRecord, Suppression } from '../rows.ts';
import type { Store } from '../store.ts';
import type { Recounted } from './recount-mark.ts';

/** The same verb without its promise. */
type Sync<F> = F extends (...args: infer A) => Promise<infer R> ? (...args: A) => R : never;

/** The writes that are one step: one request, one item of one commit. */
export type OneStepWrite =
  | 'createAccount'
  | 'setAccountStatus'
  | 'changeAccount'
  | 'createKey'
  | 'revokeKey'
  | 'renameKey'
  | 'touchKeys'
  | 'addConfirmedRecipient'
  | 'removeConfirmedRecipient'
  | 'createDomain'
  | 'deleteDomain'
  | 'addNextDkimKey'
  | 'activateDkimKey'
  | 'finishDomainCheck'
  | 'accept'
  | 'begin'
  | 'noteSent'
  | 'finish'
  | 'releaseLeases'
  | 'createEndpoint'
  | 'updateEndpoint'
  | 'rotateEndpointSecret'
  | 'deleteEndpoint'
  | 'beginCalls'
  | 'finishCall'
  | 'recordTestCall'
  | 'replayCalls'
  | 'missCalls'
  | 'addSuppression'
  | 'removeSuppression'
  | 'createOperator'
  | 'removeOperator'
  | 'setOperatorPassword'
  | 'setOperatorTotp'
  | 'noteSignIn'
  | 'takeTotpStep'
  | 'takeRecoveryHash'
  | 'addAudit'
  | 'setSetting'
  | 'replaceSecrets';

/** Rows that go by age alone; of suppressions, the marks of removed ones. */
export type AgingRows =
  | 'events'
  | 'attempts'
  | 'calls'
  | 'idempotency'
  | 'settings'
  | 'suppressions'
  | 'harm';

/** What one step of going through rows has removed; `next` is where to go on, null at the end. */
export interface RemovalStep<At> {
  removed: number;
  next: At | null;
}

/** Of bodies, or of rows of the request log: by their numbers. */
export type BodiesStep = RemovalStep<number>;

/** Where going through the confirmed recipients goes on. */
export interface ConfirmedPosition {
  accountId: string;
  email: string;
}

/** Where going through the waiting recipients goes on. */
export type WaitingStep = Pick<RecipientRef, 'dueAt' | 'id'>;

/** Steps of the writes that take several commits. */
export interface WriteSteps {
  /** Returns how many were new or became stronger. */
  addSuppressionsStep(rows: Suppression[]): number;
  /** Of the recipients that are due and free takes these for `owner`; returns the ids of those it got. */
  takeStep(owner: string, ids: string[], now: number): string[];
  /**
   * Makes open recipients due. Looks at `limit` of a destination after the id `after`, and at `limit` of all that are not
   * due yet, whatever `after` is; returns where to go on, or null after the last.
   */
  retryStep(target: RetryTarget, now: number, after: string, limit: number): string | null;
  /** Looks at `limit` bodies after the position `after`. */
  purgeBodiesStep(before: number, after: number, limit: number): BodiesStep;
  /**
   * Looks at `limit` recipients after the id `after`, and no further than the one with which it has touched
   * `MOST_ERASED` messages; `next` is where to go on.
   */
  eraseStep(
    address: string,
    accountId: string | null,
    after: string,
    limit: number,
  ): Pick<Erased, 'messages' | 'shared' | 'waiting'> & { next: string | null };
  /** Looks at `limit` confirmed recipients after `after`. */
  eraseConfirmedStep(
    address: string,
    accountId: string | null,
    after: ConfirmedPosition,
    limit: number,
  ): RemovalStep<ConfirmedPosition>;
  /** Looks at the suppressions with the `limit` numbers after `after`. `kept`: those that stay, without note and source. */
  eraseSuppressionsStep(
    address: string,
    accountId: string | null,
    after: number,
    limit: number,
  ): { kept: number; next: number | null };
  /** See `AccountDeletionStore`. */
  closeAccount(accountId: string, reason: string): number;
  /** Ends the waiting of the account's among the `limit` recipients after `after`. */
  stopWaitingStep(accountId: string, after: WaitingStep, limit: number): WaitingStep | null;
  dropAccountMessagesStep(accountId: string, limit: number): number;
  /** Removes at most `limit` rows of each of its lists. `left`: 0 when none remain. */
  dropAccountRowsStep(
    accountId: string,
    limit: number,
  ): Pick<DeletedRows, 'suppressions' | 'confirmed'> & { left: number };
  /** Removes at most `limit` of its domains, deleted ones among them, with their keys; returns how many. */
  dropAccountDomainsStep(accountId: string, limit: number): number;
  /** Removes what remains with the account itself, unless it has messages again: then nothing. */
  dropAccountEnd(
    accountId: string,
    settings: string[],
  ): Pick<DeletedRows, 'domains' | 'webhooks'> & { isGone: boolean };
  /** Removes at most `limit` whole messages; returns how many. */
  purgeMessagesStep(before: number, limit: number): number;
  /** Goes through some endpoints behind the id `after`; `next` is where to go on. */
  purgeCallAttemptsStep(before: number, after: string, limit: number): RemovalStep<string>;
  /** Goes through the hourly sums of some accounts behind the id `after`, at the start those of all together, too. */
  purgeOutcomesStep(before: number, after: string, limit: number): RemovalStep<string>;
  /** Adds at most `limit` rows made since `oldest` to a counter; returns how many may be left. */
  recountStep(name: Recounted, oldest: number, limit: number): number;
  /** Removes at most `limit` rows from before `before` or beyond the newest `max`; returns how many. */
  purgeAuditStep(before: number, max: number, limit: number): number;
  /** Asks for the WAL to be emptied into the file when this commit has been reported. */
  scrubMail(): void;
  /** Removes at most `limit` rows from before `before`; returns how many. */
  purgeStep(rows: AgingRows, before: number, limit: number): number;
}

/** The writes of the log file. */
export interface LogWrites {
  appendLogs(records: LogRecord[]): void;
  scrubLog(): void;
  eraseLogsStep(
    address: string,
    accountId: string | null,
    after: number,
    limit: number,
  ): BodiesStep;
  /** Removes at most `limit` of the account's rows, and lets no further ones be written. Returns how many went. */
  dropAccountLogsStep(accountId: string, limit: number): number;
  /** Of an account's `limit` oldest rows removes those made before `before`; returns how many. */
  purgeLogsStep(accountId: string, before: number, limit: number): number;
}

/** The writes of the mail file. */
export type Writes = { [K in OneStepWrite]: Sync<Store[K]> } & WriteSteps;

/** A verb's name with its arguments, as it travels to the writer. */
export interface Request {
  name: keyof Writes | keyof LogWrites;
  args: unknown[];
}
