/**
 * The store: what the appliance keeps, behind asynchronous verbs of the business; never SQL, never a transaction.
 *
 * One port a file, by who uses it; `Store` is all of them. A write travels to the store as plain values, waits for the
 * next group, and commits with it; a read sees every write that has resolved. Each port's file opens with its promises.
 *
 * Promises for every port: a write resolves only after its commit is durable, and everything given to one call commits
 * together or not at all, except where a verb says that it goes in steps. Ids and times come from the caller, always: a
 * store has no clock. A crash at any moment leaves whole calls or nothing of them. Fails with `StoreFullError` when the
 * disk is full; any other failed commit ends the process, because restart is the recovery path.
 */
import type { AccountStore } from './accounts.ts';
import type { CounterStore } from './counters.ts';
import type { DkimKeyStore } from './dkim-keys.ts';
import type { DomainStore } from './domains.ts';
import type { AccountDeletionStore } from './account-deletion.ts';
import type { ErasureStore } from './erasure.ts';
import type { JobStore } from './jobs.ts';
import type { JourneyStore } from './journey.ts';
import type { MessageStore } from './messages.ts';
import type { OperatorStore } from './operator.ts';
import type { PeopleStore } from './people.ts';
import type { RateStore } from './rates.ts';
import type { RequestLogStore } from './request-logs.ts';
import type { RetentionStore } from './retention.ts';
import type { RevisionStore } from './revision.ts';
import type { SecretStore } from './secrets.ts';
import type { SettingStore } from './settings.ts';
import type { SuppressionStore } from './suppressions.ts';
import type { TimeStore } from './time.ts';
import type { WebhookStore } from './webhooks.ts';

/** The store cannot do this now, and says so before anything is half done. */
export abstract class StoreRefusalError extends Error {
  /** What whoever asked is told, in one sentence. */
  abstract readonly said: string;
}

/**
 * The store cannot be written for now. What must be written waits and is asked again; whoever can be refused is refused.
 */
export abstract class StoreUnwritableError extends StoreRefusalError {}

/** The disk is full: nothing of the call was written. */
export class StoreFullError extends StoreUnwritableError {
  override readonly name = 'StoreFullError';
  override readonly said = 'This service is out of disk space.';
  /** As the system says it. */
  readonly code = 'ENOSPC';
}

/** The database cannot be reached, or has no primary. Whether the call was written is not known. */
export class StoreAwayError extends StoreUnwritableError {
  override readonly name = 'StoreAwayError';
  override readonly said = 'The database of this service cannot be reached.';
  readonly code = 'EAGAIN';
}

/** No synchronous standby says that it has the call, where one must. Whether it was written is not known. */
export class StoreUnconfirmedError extends StoreUnwritableError {
  override readonly name = 'StoreUnconfirmedError';
  override readonly said = 'The database of this service has no second copy at the moment.';
  readonly code = 'EAGAIN';
}

/** A search needs an index that is still being made, and what it lacks is too much to look through. */
export class SearchUnreadyError extends StoreRefusalError {
  override readonly name = 'SearchUnreadyError';
  override readonly said =
    'The search index is still being made; lists answer meanwhile, searches for rare words do not.';
}

export interface Store
  extends
    AccountDeletionStore,
    AccountStore,
    CounterStore,
    DkimKeyStore,
    DomainStore,
    ErasureStore,
    JobStore,
    JourneyStore,
    MessageStore,
    OperatorStore,
    PeopleStore,
    RateStore,
    RequestLogStore,
    RetentionStore,
    RevisionStore,
    SecretStore,
    SettingStore,
    SuppressionStore,
    TimeStore,
    WebhookStore {
  /** Ends after the writes that were begun; nothing may be asked of the store from here on. */
  close(): Promise<void>;
}
