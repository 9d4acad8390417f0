/**
 * What a store decides about attempts: who may begin one, what its end changes, what the message shows then.
 *
 * Promises that what is another's, or under an unexpired lease, is never begun; that an attempt whose recipient another
 * has taken over changes nothing; and that a recipient which has reached its end is not changed again, except that a
 * later report (bounce, complaint) may say worse. Reads and writes nothing; cannot fail. The rows must be in the state
 * that the commit will change.
 */
import { isFinal, messageStatus } from '../base/status.ts';
import type { MessageStatus } from '../base/status.ts';
import type { BeginAttempt, FinishAttempt, SentAttempt } from './journey.ts';
import type { Recipient } from './rows.ts';

/** A recipient with whose it is. */
export interface OwnedRecipient extends Recipient {
  owner: string | null;
  leaseUntil: number | null;
}

/** One recipient of a message, with what that shows until now. */
export interface RecipientState {
  id: string;
  status: MessageStatus;
  nextAttemptAt: number | null;
  owner: string | null;
  leaseUntil: number | null;
  messageStatus: MessageStatus;
}

/** What the end of a recipient, or of an attempt, changes. */
export interface EndChoice {
  /**
   * `gone`: the recipient was deleted meanwhile, and `overtaken`: it is another owner's by now; nothing is written.
   * `recorded`: it had ended before; the attempt alone is written. `changed`: all is.
   */
  kind: 'gone' | 'overtaken' | 'recorded' | 'changed';
  /** What the message shows afterwards. */
  messageStatus: MessageStatus;
}

/** What a report may still turn a finished recipient into. */
const WORSE: Partial<Record<MessageStatus, ReadonlySet<MessageStatus>>> = {
  delivered: new Set(['bounced', 'complained']),
  bounced: new Set(['complained']),
  failed: new Set(['complained']),
};

/** The states of a message that show a reason. */
const REASONED: ReadonlySet<MessageStatus> = new Set(['bounced', 'failed', 'suppressed']);

/** Whose an accepted recipient is: who has begun its attempt, if one is to come. */
export function ownerAtAccept(
  { nextAttemptAt }: Recipient,
  owner: string | undefined,
): string | null {
  return nextAttemptAt === null || owner === undefined ? null : owner;
}

/** The recipient with its attempt begun; null when the owner may not begin one at `now`. */
export function begunOf(row: OwnedRecipient, attempt: BeginAttempt, now: number): Recipient | null {
  if (!mayBegin(row, attempt.owner, now)) return null;
  const { owner: _owner, leaseUntil: _lease, ...recipient } = row;
  // Where another owner has begun one since, there are more.
  const isCounted = attempt.isFirst === true && row.attempts === 1;
  if (!isCounted) recipient.attempts += 1;
  recipient.nextAttemptAt = attempt.nextAttemptAt;
  recipient.updatedAt = now;
  return recipient;
}

function mayBegin(row: OwnedRecipient, owner: string, now: number): boolean {
  const { nextAttemptAt, leaseUntil } = row;
  if (nextAttemptAt === null) return false;
  if (leaseUntil !== null && leaseUntil > now) return false;
  if (row.owner === owner) return true;
  // A lease that is over frees it. What is free must be due too: it may have been tried and put off since it was read.
  const isFree = row.owner === null || leaseUntil !== null;
  return isFree && nextAttemptAt <= now;
}

/** Whether the message is shown as sent while the attempt goes on: its recipient is open and does not say so yet. */
export function maySaySent(
  { recipientId }: SentAttempt,
  states: readonly RecipientState[],
): boolean {
  const state = stateOf(recipientId, states);
  if (state === undefined || state.nextAttemptAt === null) return false;
  return state.status === 'queued' || state.status === 'delivery_delayed';
}

/** What the end changes. `states`: all recipients of its message; none when the message is gone. */
export function chooseEnd(result: FinishAttempt, states: readonly RecipientState[]): EndChoice {
  const before = stateOf(result.recipientId, states);
  // Gone with its account while it was in an attempt.
  if (before === undefined) return { kind: 'gone', messageStatus: result.status };
  const { messageStatus: shown } = before;
  if (isOvertaken(result, before)) return { kind: 'overtaken', messageStatus: shown };
  if (isFinal(before.status) && WORSE[before.status]?.has(result.status) !== true) {
    return { kind: 'recorded', messageStatus: shown };
  }
  return { kind: 'changed', messageStatus: statusAfter(result, states) };
}

/** Whether the end of an attempt comes after another owner has taken the recipient over, or it is to be left to one. */
function isOvertaken({ owner, spares }: FinishAttempt, before: RecipientState): boolean {
  if (before.owner === null) return false;
  if (owner !== null && before.owner !== owner) return true;
  return spares !== undefined && before.owner !== spares.owner && isBegun(before, spares.now);
}

/** Whether its owner has begun an attempt: under a lease, or with its acceptance, which puts the next one off. */
function isBegun({ leaseUntil, nextAttemptAt }: RecipientState, now: number): boolean {
  return (leaseUntil ?? nextAttemptAt ?? -Infinity) > now;
}

function stateOf(id: string, states: readonly RecipientState[]): RecipientState | undefined {
  return states.find((state) => state.id === id);
}

/** What the message shows when one recipient has changed. */
function statusAfter(
  { recipientId, status, nextAttemptAt }: FinishAttempt,
  states: readonly RecipientState[],
): MessageStatus {
  let isOpen = nextAttemptAt !== null;
  const statuses = [status];
  for (const state of states) {
    if (state.id === recipientId) continue;
    isOpen ||= state.nextAttemptAt !== null;
    statuses.push(state.status);
  }
  return messageStatus(statuses, isOpen, status);
}

/** Whether a message in this state shows why: the reason of the recipients in the same state. */
export function showsReason(status: MessageStatus): boolean {
  return REASONED.has(status);
}

/** The reason that a message shows: that of the recipient changed last, of those in the message's own state. */
export function shownReason(
  recipients: readonly Pick<Recipient, 'lastReason' | 'updatedAt'>[],
): string | null {
  const [first, ...others] = recipients;
  if (first === undefined) return null;
  let newest = first;
  for (const recipient of others) if (recipient.updatedAt > newest.updatedAt) newest = recipient;
  return newest.lastReason;
}
