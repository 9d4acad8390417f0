/**
 * The store boundary: asynchronous verbs of the business, never SQL, never a transaction handle.
 *
 * Promises that a write resolves only after its commit is durable (WAL, synchronous=FULL), and that
 * everything given to one call commits together or not at all. Ids and times come from the caller.
 * Reads see every write that has resolved. Fails with `StoreFullError` when the disk is full; any
 * other failed commit ends the process, because restart is the recovery path.
 */
import type {
  AccountStatus,
  DomainStatus,
  EndpointStatus,
  MessageStatus,
  RecordStatus,
} from '../base/status.ts';
import type { BackupReport } from './backup.ts';
import type {
  Account,
  Attempt,
  Body,
  Call,
  CallAttempt,
  Domain,
  Endpoint,
  Event,
  Key,
  LogRecord,
  Message,
  NewEvent,
  Recipient,
  Suppression,
} from './rows.ts';

/** The disk is full: nothing of the call was written. */
export class StoreFullError extends Error {
  override readonly name = 'StoreFullError';
  /** As the system says it. */
  readonly code = 'ENOSPC';
}

export interface NewMessage {
  message: Message;
  body: Body;
  recipients: Recipient[];
  events: NewEvent[];
}

/** The record that makes a repeated request safe; `response` is the body to replay. */
export interface NewIdempotencyRecord {
  key: string;
  /** Method and route, e.g. `POST /emails/batch`. */
  route: string;
  bodyHash: string;
  status: number;
  response: string;
  createdAt: number;
  expiresAt: number;
}

/** Quota to spend with an acceptance; checked and spent inside the commit. */
export interface UsageClaim {
  count: number;
  /** UTC day `YYYY-MM-DD`. */
  day: string;
  /** Null: no limit. */
  dailyLimit: number | null;
  /** Most sends in the UTC month of `day`; null: no limit. */
  monthlyLimit: number | null;
}

export interface AcceptBatch {
  accountId: string;
  now: number;
  usage: UsageClaim | null;
  idempotency: NewIdempotencyRecord | null;
  messages: NewMessage[];
}

export type AcceptResult =
  | { kind: 'accepted'; calls: CallRef[] }
  | { kind: 'replay'; status: number; response: string }
  | { kind: 'idempotency_conflict' }
  | { kind: 'over_quota'; which: 'daily' | 'monthly'; limit: number; used: number };

/** What the dispatcher needs to know of a call that is due. */
export interface CallRef {
  id: string;
  endpointId: string;
  dueAt: number;
}

/** What the queue needs to know of a recipient that waits. */
export interface RecipientRef {
  id: string;
  messageId: string;
  domain: string;
  dueAt: number;
}

/** Marks an attempt as begun, before dialling: a crash then costs one step of the schedule. */
export interface BeginAttempt {
  recipientId: string;
  owner: string;
  leaseUntil: number;
  /** When it is due again if this process dies in the attempt. */
  nextAttemptAt: number;
}

/** What became of one recipient, all in one commit. */
export interface FinishAttempt {
  recipientId: string;
  messageId: string;
  accountId: string;
  now: number;
  status: MessageStatus;
  /** Null when nothing more will be tried. */
  nextAttemptAt: number | null;
  lastReason: string | null;
  delayedAt: number | null;
  /** Null when the recipient ended without one (expiry, operator, report). */
  attempt: Attempt | null;
  events: NewEvent[];
  suppress: Suppression | null;
}

export interface FinishCall {
  call: Call;
  attempt: CallAttempt;
  status: 'open' | 'done' | 'failed';
  nextAttemptAt: number | null;
  /** Failures in a row after which the endpoint is disabled. */
  disableAfter: number;
}

/** A page by cursor: rows newest first; `before` pages the other way. */
export interface Page {
  limit: number;
  after: string | null;
  before: string | null;
}

export interface PageOf<T> {
  rows: T[];
  hasMore: boolean;
}

export interface EmailFilter extends Page {
  q: string | null;
  status: MessageStatus | null;
}

export interface LogFilter extends Page {
  /** Substring of the path. */
  q: string | null;
  /** 404, or the class digit 2, 4 or 5. */
  status: number | null;
  method: string | null;
}

export interface DomainCheck {
  id: string;
  now: number;
  status: DomainStatus;
  recordStates: Record<string, RecordStatus>;
  verifiedAt: number | null;
  nextCheckAt: number | null;
  failingSince: number | null;
  pendingSince: number;
}

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

export interface Store {
  // accounts
  createAccount(account: Account): Promise<'created' | 'exists'>;
  setAccountStatus(id: string, status: AccountStatus, reason: string | null): Promise<boolean>;
  accounts(): Promise<Account[]>;
  account(idOrName: string): Promise<Account | null>;

  // keys
  createKey(key: Key, hash: Uint8Array): Promise<void>;
  /** False when there is no such key in the account; revoking twice keeps the first time. */
  revokeKey(accountId: string, id: string, now: number): Promise<boolean>;
  renameKey(accountId: string, id: string, name: string): Promise<boolean>;
  touchKeys(uses: { id: string; usedAt: number }[]): Promise<void>;
  keys(accountId: string): Promise<Key[]>;
  /** The key with this SHA-256 of its whole text, revoked or not, and its account. */
  keyByHash(hash: Uint8Array): Promise<{ key: Key; account: Account } | null>;

  // domains
  createDomain(domain: Domain, maxDomains: number): Promise<'created' | 'exists' | 'too_many'>;
  /** False when there is no such domain in the account. Keeps the row, for mail accepted before. */
  deleteDomain(accountId: string, id: string, now: number): Promise<boolean>;
  finishDomainCheck(check: DomainCheck): Promise<void>;
  domains(accountId: string): Promise<Domain[]>;
  domain(accountId: string, id: string): Promise<Domain | null>;
  domainByName(accountId: string, name: string): Promise<Domain | null>;
  /** Deleted ones too: what was accepted before is still signed. */
  domainForSigning(id: string): Promise<Domain | null>;
  domainsDue(now: number, limit: number): Promise<Domain[]>;

  // the journey
  accept(batch: AcceptBatch): Promise<AcceptResult>;
  idempotencyRecord(
    accountId: string,
    key: string,
    now: number,
  ): Promise<NewIdempotencyRecord | null>;
  /**
   * Open recipients due until `until`, soonest first, leases of others respected until they end.
   * `domain`: only those of this destination (by an index on domain and due time).
   */
  recipientsDue(
    now: number,
    until: number,
    limit: number,
    after: RecipientRef | null,
    domain?: string,
  ): Promise<RecipientRef[]>;
  nextRecipientDue(after: number): Promise<number | null>;
  /** Returns the recipients that are still open and now leased to their owner, in the state after the mark. */
  begin(attempts: BeginAttempt[]): Promise<Recipient[]>;
  finish(result: FinishAttempt): Promise<{ calls: CallRef[]; messageStatus: MessageStatus }>;
  /** Gives back leases of an owner (clean end) or of every owner (start: this process is the only one). */
  releaseLeases(owner: string | null, now: number): Promise<void>;
  messageForDelivery(id: string): Promise<{ message: Message; body: Body } | null>;

  // the queue as the operator sees it
  queue(filter: QueueFilter): Promise<Recipient[]>;
  queueCounts(
    now: number,
  ): Promise<{ domain: string; waiting: number; oldestCreatedAt: number; reason: string | null }[]>;
  /** Makes open recipients due now; returns how many are, those that were due already among them. */
  retryNow(target: RetryTarget, now: number): Promise<number>;
  attempts(messageId: string): Promise<Attempt[]>;

  // reading messages
  message(accountId: string, id: string): Promise<Message | null>;
  messageById(id: string): Promise<Message | null>;
  recipients(messageId: string): Promise<Recipient[]>;
  recipientById(id: string): Promise<Recipient | null>;
  events(messageId: string): Promise<Event[]>;
  body(accountId: string, id: string): Promise<{ body: Body | null } | null>;
  emails(accountId: string, filter: EmailFilter): Promise<PageOf<Message>>;
  /** The older list: page from 1. */
  emailsByPage(accountId: string, page: number, limit: number): Promise<Message[]>;

  // endpoints and calls
  createEndpoint(endpoint: Endpoint, maxEndpoints: number): Promise<'created' | 'too_many'>;
  /**
   * False for an account that has had no endpoint since the store was opened, nor asked for one: then nobody can want
   * a call for what happens now.
   */
  mayHaveEndpoints(accountId: string): boolean;
  /** Enabling ends, as missed, the open calls made before `missedBefore`; a replay can open them again. */
  updateEndpoint(
    accountId: string,
    id: string,
    change: { url?: string; events?: string[]; status?: EndpointStatus; missedBefore?: number },
    now: number,
  ): Promise<Endpoint | null>;
  rotateEndpointSecret(
    accountId: string,
    id: string,
    sealedSecret: Uint8Array,
    previousUntil: number,
  ): Promise<boolean>;
  deleteEndpoint(accountId: string, id: string, now: number): Promise<boolean>;
  endpoints(accountId: string): Promise<Endpoint[]>;
  endpoint(accountId: string, id: string): Promise<Endpoint | null>;
  endpointById(id: string): Promise<Endpoint | null>;
  callsDue(
    now: number,
    until: number,
    limit: number,
    excludeEndpoints: string[],
  ): Promise<CallRef[]>;
  nextCallDue(after: number): Promise<number | null>;
  /** How many calls still wait, on disabled endpoints too. */
  openCalls(): Promise<number>;
  /** Marks attempts as begun (lease, next time) before posting; returns those still open on active endpoints. */
  beginCalls(
    calls: { id: string; owner: string; leaseUntil: number; nextAttemptAt: number }[],
  ): Promise<Call[]>;
  /** Records the attempt. `isOvertaken`: the call was opened anew or ended meanwhile, and was left so. */
  finishCall(result: FinishCall): Promise<{ endpointStatus: EndpointStatus; isOvertaken: boolean }>;
  recordTestCall(attempt: CallAttempt): Promise<void>;
  callAttempts(endpointId: string, page: Page): Promise<PageOf<CallAttempt>>;
  /** Opens calls again for one event or for all failed or missed since a time; same event id. */
  replayCalls(
    accountId: string,
    endpointId: string,
    what: { eventId: string } | { failedSince: number },
    now: number,
  ): Promise<CallRef[]>;

  // suppressions
  addSuppression(suppression: Suppression): Promise<Suppression>;
  addSuppressions(rows: Suppression[]): Promise<number>;
  removeSuppression(accountId: string, email: string): Promise<boolean>;
  suppression(accountId: string, email: string): Promise<Suppression | null>;
  suppressionById(accountId: string, id: string): Promise<Suppression | null>;
  suppressed(accountId: string, emails: string[]): Promise<Map<string, Suppression>>;
  suppressions(accountId: string, q: string | null, page: Page): Promise<PageOf<Suppression>>;

  // recipients an account may write to while its plan says "confirmed recipients only"
  /** False when it was there already. `email` in lower case. */
  addConfirmedRecipient(accountId: string, email: string, createdAt: number): Promise<boolean>;
  removeConfirmedRecipient(accountId: string, email: string): Promise<boolean>;
  confirmedRecipients(accountId: string): Promise<{ email: string; createdAt: number }[]>;
  /** Which of `emails` (lower case) are confirmed. */
  confirmed(accountId: string, emails: string[]): Promise<Set<string>>;

  // usage
  usedInMonth(accountId: string, month: string): Promise<number>;
  usedOnDay(accountId: string, day: string): Promise<number>;
  countsByStatus(accountId: string, since: number): Promise<Record<MessageStatus, number>>;

  // settings of the whole appliance
  setting(name: string): Promise<string | null>;
  setSetting(name: string, value: string | null): Promise<void>;

  // request log (a file of its own, not durable to the last row)
  appendLogs(records: LogRecord[]): Promise<void>;
  logs(
    accountId: string,
    filter: LogFilter,
  ): Promise<PageOf<Omit<LogRecord, 'requestBody' | 'responseBody'>>>;
  log(accountId: string, id: string): Promise<LogRecord | null>;

  // retention: small steps between other writes; each returns how many rows went
  /** Content of messages accepted before `before`, unless they still wait for delivery. */
  purgeBodies(before: number): Promise<number>;
  /** Events, attempts and webhook calls of messages accepted before `before`, and call attempts made before. */
  purgeHistory(before: number): Promise<number>;
  /** Idempotency records that have expired by `now`, and marks of suppressions removed a week before it. */
  purgeExpired(now: number): Promise<number>;
  /** An account's request log from before `before`. */
  purgeLogs(accountId: string, before: number): Promise<number>;

  /**
   * Copies everything but the request log to `file` (which must not exist), checks the copy, and returns its
   * size and row counts. It holds every write that resolved before the call. Throws `OperatorError`.
   */
  backUpTo(file: string): Promise<BackupReport>;

  /** Ends the writer after what it has begun; checkpoints; closes both files. */
  close(): Promise<void>;
}
