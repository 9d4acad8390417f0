/**
 * Assembles, for every caller, what the store writes when something about a recipient has ended: an attempt, a claim
 * that never became one, a suppression, the operator's decision, a report that came back.
 *
 * Promises that whatever the caller does not name stays as it is in the recipient's row, and that nothing more is tried
 * unless the caller gives a time. Writes nothing and cannot fail.
 */
import type { FinishAttempt } from '../store/journey.ts';
import type { Recipient } from '../store/rows.ts';

/** The facts of a recipient that its end may change. */
export type EndChange = Partial<
  Pick<
    FinishAttempt,
    | 'dueAt'
    | 'status'
    | 'nextAttemptAt'
    | 'lastReason'
    | 'delayedAt'
    | 'attempt'
    | 'isUnbegun'
    | 'events'
    | 'suppress'
  >
>;

/** The end of `recipient` at `now` (epoch milliseconds), for `Store.finish`. */
export function endOf(recipient: Recipient, now: number, change: EndChange): FinishAttempt {
  return {
    recipientId: recipient.id,
    messageId: recipient.messageId,
    accountId: recipient.accountId,
    now,
    status: recipient.status,
    nextAttemptAt: null,
    lastReason: recipient.lastReason,
    delayedAt: recipient.delayedAt,
    owner: null,
    attempt: null,
    events: [],
    suppress: null,
    ...change,
  };
}
