/**
 * The port for a message's journey: accepted, found due, claimed for an attempt, finished.
 *
 * Promises that everything given to one call commits together or not at all: a message with its recipients, event,
 * usage and idempotency record; the end of an attempt with its events and their webhook calls. A claim (`begin`) moves
 * the next attempt into the future before anything is dialled, so that a crash costs one step of the retry schedule and
 * never makes a hot loop. Due times, leases and expiries are steady time (`base/clock.ts`), all others are the wall
 * clock's. `owner` and `leaseUntil` stand on every claimable row. An owner is a queue from its start to its end: it takes
 * due rows (`takeDue`, or `accept` for what it marks ahead), begins attempts of what it has taken or is free, under a
 * lease, and ends them (`finish`). Nobody begins what is another's, unless that one's lease has run out, and nobody ends
 * the attempt of another.
 */
import type { MessageStatus } from '../base/status.ts';
import type { Attempt, Body, Message, NewEvent, Recipient, Suppression } from './rows.ts';
import type { CallRef } from './webhooks.ts';

/** What an attempt needs of a message. */
export interface ForDelivery {
  message: Message;
  body: Body;
}

export interface NewMessage {
  message: Message;
  body: Body;
  recipients: Recipient[];
  events: NewEvent[];
  /** Who has begun the attempts of its open recipients with this very commit; absent: nobody. */
  owner?: string;
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
  /** Steady time: when its webhook calls are due, and by which an earlier record has expired. Absent: `now`. */
  steadyNow?: number;
  usage: UsageClaim | null;
  /** Most bytes of content that the account may keep, these messages included; absent or null: no limit. */
  storageBytes?: number | null;
  idempotency: NewIdempotencyRecord | null;
  messages: NewMessage[];
  /** On which revision the decision stands (`RevisionStore`); absent or null: it is not compared. */
  revision?: number | null;
}

export type AcceptResult =
  | { kind: 'accepted'; calls: CallRef[] }
  | { kind: 'replay'; status: number; response: string }
  | { kind: 'idempotency_conflict' }
  | { kind: 'over_quota'; which: 'daily' | 'monthly' | 'storage'; limit: number; used: number };

/** What the queue needs to know of a recipient that waits. */
export interface RecipientRef {
  id: string;
  accountId: string;
  domain: string;
  dueAt: number;
}

/** Mail of one account for one domain. */
export type DestinationRef = Pick<RecipientRef, 'accountId' | 'domain'>;

/** Which due recipients an owner asks for. */
export interface DueRequest {
  owner: string;
  now: number;
  /** Rows looked at, at most. */
  limit: number;
  /** Looks at what follows this row; null: from the soonest on. */
  after: RecipientRef | null;
  /** Taken of one destination, at most; what is the owner's already is not counted. */
  most: number;
  /** Of these nothing is taken. */
  without: { accountIds: string[]; destinations: DestinationRef[] };
  /** Only an account's for one destination; absent: all. */
  of?: DestinationRef;
}

/** What a look has found and taken. */
export interface DueTaken {
  /** Due, and the owner's now, soonest first; but for what it has under a lease. */
  ours: RecipientRef[];
  /** The soonest of each destination of which free ones were left. */
  left: RecipientRef[];
  /** The last row that was looked at; null when there was none. */
  last: RecipientRef | null;
  /** No further row is due. */
  isEnd: boolean;
}

/** Marks an attempt as begun, before dialling: a crash then costs one step of the schedule. */
export interface BeginAttempt {
  recipientId: string;
  owner: string;
  leaseUntil: number;
  /** When it is due again if this process dies in the attempt. */
  nextAttemptAt: number;
  /** Its acceptance marked its first attempt as begun, and none was made of that mark: this one is still the first. */
  isFirst?: boolean;
}

/** What became of one recipient, all in one commit. */
export interface FinishAttempt {
  recipientId: string;
  messageId: string;
  accountId: string;
  now: number;
  /** Steady time now: its webhook calls are due then. Absent: `now`. */
  dueAt?: number;
  status: MessageStatus;
  /** Null when nothing more will be tried. */
  nextAttemptAt: number | null;
  lastReason: string | null;
  delayedAt: number | null;
  /** Whose attempt, or whose mark of one, ends; null for an end by another hand (operator, report). */
  owner: string | null;
  /** Leaves the recipient to another owner that has begun its attempt by `now` (steady time): its mail may be arriving. */
  spares?: { owner: string | null; now: number };
  /** Null when the recipient ended without one (expiry, operator, report). */
  attempt: Attempt | null;
  /** What was marked as begun was never attempted: the next attempt has its number. */
  isUnbegun?: boolean;
  events: NewEvent[];
  suppress: Suppression | null;
}

export interface Finished {
  calls: CallRef[];
  messageStatus: MessageStatus;
  /** The recipient is another owner's by now: nothing was written. */
  isOvertaken: boolean;
}

/** A first attempt that is under way, with its `email.sent`. */
export interface SentAttempt {
  recipientId: string;
  messageId: string;
  accountId: string;
  now: number;
  /** Steady time now: its webhook calls are due then. Absent: `now`. */
  dueAt?: number;
  event: NewEvent;
}

export interface JourneyStore {
  /**
   * Checks idempotency and quota, then writes the whole batch; a refusal writes nothing. Fails with `OutdatedError` where
   * the batch stands on another revision than the store's.
   */
  accept(batch: AcceptBatch): Promise<AcceptResult>;
  /** The record of an earlier request with this key, unless it has expired by `now`. */
  idempotencyRecord(
    accountId: string,
    key: string,
    now: number,
  ): Promise<NewIdempotencyRecord | null>;
  /**
   * Takes open recipients that are due and free for their owner. What is the owner's already is answered again, so that
   * nothing is stuck whose answer was lost.
   */
  takeDue(request: DueRequest): Promise<DueTaken>;
  /** The soonest due time later than `after`. */
  nextRecipientDue(after: number): Promise<number | null>;
  /**
   * Marks what the owner has taken, and what is due and free, unless it is under a lease. Returns the recipients that are
   * still open and now leased to their owner, in the state after the mark. Fails with `OutdatedError` where `revision` is
   * given and not the store's.
   */
  begin(attempts: BeginAttempt[], now: number, revision?: number | null): Promise<Recipient[]>;
  /**
   * Sets recipients and their messages to `sent` and records the events, all in one commit; what has ended, is gone or
   * says `sent` already is left alone. Returns the webhook calls.
   */
  noteSent(attempts: SentAttempt[]): Promise<CallRef[]>;
  /**
   * Records an attempt or another end and frees the recipient; one that has ended already changes only for the worse.
   * An open one that another owner has taken meanwhile is left alone; one that nobody has taken is not. `mayWait`: a
   * store that commits what comes together may keep it some milliseconds for the next write.
   */
  finish(result: FinishAttempt, mayWait?: boolean): Promise<Finished>;
  /**
   * Frees what an owner has taken or begun (clean end), or every owner that cannot be at work any more (start): where
   * several processes have sessions, all but live ones.
   */
  releaseLeases(owner: string | null, now: number): Promise<void>;
  /**
   * Null when the message, or its content, is gone. Texts or attachments of `largeFrom` bytes and more are read on
   * another thread than the caller's, where the engine has one.
   */
  messageForDelivery(id: string, largeFrom?: number): Promise<ForDelivery | null>;
}
