/**
 * The port for a message's journey: accepted, found due, claimed for an attempt, finished.
 *
 * Promises that everything given to one call commits together or not at all: a message with its recipients, event,
 * usage and idempotency record; the end of an attempt with its events and their webhook calls. A claim (`begin`) moves
 * the next attempt into the future before anything is dialled, so that a crash costs one step of the retry schedule and
 * never makes a hot loop. Due times, leases and expiries are steady time (`base/clock.ts`), all others are the wall
 * clock's. `owner` and `leaseUntil` stand on every claimable row: nobody claims what another owner has
 * under an unexpired lease.
 */
import type { MessageStatus } from '../base/status.ts';
import type { Attempt, Body, Message, NewEvent, Recipient, Suppression } from './rows.ts';
import type { CallRef } from './webhooks.ts';

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
  /** Steady time: when its webhook calls are due, and by which an earlier record has expired. Absent: `now`. */
  steadyNow?: number;
  usage: UsageClaim | null;
  /** Most bytes of content that the account may keep, these messages included; absent or null: no limit. */
  storageBytes?: number | null;
  idempotency: NewIdempotencyRecord | null;
  messages: NewMessage[];
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
  /** Steady time now: its webhook calls are due then. Absent: `now`. */
  dueAt?: number;
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
  /** Checks idempotency and quota, then writes the whole batch; a refusal writes nothing. */
  accept(batch: AcceptBatch): Promise<AcceptResult>;
  /** The record of an earlier request with this key, unless it has expired by `now`. */
  idempotencyRecord(
    accountId: string,
    key: string,
    now: number,
  ): Promise<NewIdempotencyRecord | null>;
  /**
   * Open recipients due until `until`, soonest first, after the row `after`; leases of others are respected until they
   * end. `of`: only an account's for one destination.
   */
  recipientsDue(
    now: number,
    until: number,
    limit: number,
    after: RecipientRef | null,
    of?: Pick<RecipientRef, 'accountId' | 'domain'>,
  ): Promise<RecipientRef[]>;
  /** The soonest due time later than `after`. */
  nextRecipientDue(after: number): Promise<number | null>;
  /** Returns the recipients that are still open and now leased to their owner, in the state after the mark. */
  begin(attempts: BeginAttempt[], now: number): Promise<Recipient[]>;
  /**
   * Sets recipients and their messages to `sent` and records the events, all in one commit; what has ended, is gone or
   * says `sent` already is left alone. Returns the webhook calls.
   */
  noteSent(attempts: SentAttempt[]): Promise<CallRef[]>;
  /** Records an attempt or another end; a recipient that has ended already changes only for the worse. */
  finish(result: FinishAttempt): Promise<{ calls: CallRef[]; messageStatus: MessageStatus }>;
  /** Frees the leases of an owner (clean end) or of every owner (start: this process is the only one). */
  releaseLeases(owner: string | null, now: number): Promise<void>;
  /** Null when the message, or its content, is gone. */
  messageForDelivery(id: string): Promise<{ message: Message; body: Body } | null>;
}
