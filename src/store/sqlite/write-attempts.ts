/**
 * Attempts of recipients: begin (before dialling), sent (while one takes long), finish (with everything that follows).
 *
 * Promises that a recipient which is another's, or under an unexpired lease, is never begun; that an attempt whose
 * recipient another has taken over changes nothing; and that one which has reached its end is not changed again, except
 * that a later report (bounce, complaint) may say worse.
 */
import type { Database } from 'bun:sqlite';
import { isFinal, messageStatus } from '../../base/status.ts';
import type { MessageStatus } from '../../base/status.ts';
import type { Finished, FinishAttempt, SentAttempt } from '../journey.ts';
import type { Attempt } from '../rows.ts';
import { RECIPIENT_COLUMNS } from './columns.ts';
import type { RecipientRow } from './columns.ts';
import type { OutcomeRecount } from './recounts.ts';
import type { StatusCounts } from './status-counts.ts';
import type { Writes } from './verbs.ts';
import type { EventWriter } from './write-events.ts';
import type { SuppressionWriter } from './write-suppressions.ts';

/** What a report may still turn a finished recipient into. */
const WORSE: Partial<Record<MessageStatus, ReadonlySet<MessageStatus>>> = {
  delivered: new Set(['bounced', 'complained']),
  bounced: new Set(['complained']),
  failed: new Set(['complained']),
};

/** The states of a message that show a reason. */
const REASONED: ReadonlySet<MessageStatus> = new Set(['bounced', 'failed', 'suppressed']);

/** What a message's status follows from, besides its other recipients. */
type Change = Pick<FinishAttempt, 'accountId' | 'messageId' | 'now' | 'status' | 'nextAttemptAt'>;

/** A recipient, and the message it belongs to. */
interface State {
  id: string;
  status: MessageStatus;
  nextAttemptAt: number | null;
  seq: number;
  messageStatus: MessageStatus;
  createdAt: number;
  isSandbox: number;
  domain: string;
  owner: string | null;
}

/** The verbs over the writer's connection; statements are prepared once, here. */
export function attemptWrites(
  db: Database,
  events: EventWriter,
  suppressions: SuppressionWriter,
  counts: StatusCounts,
  outcomes: OutcomeRecount,
): Pick<Writes, 'begin' | 'noteSent' | 'finish'> {
  // What is free must be due too: it may have been tried and put off since it was read.
  const begin = db.prepare<RecipientRow, [string, number, number, number, string]>(
    'UPDATE recipients SET attempts = attempts + 1, owner = ?1, lease_until = ?2, next_attempt_at = ?3,' +
      ' updated_at = ?4 WHERE id = ?5 AND next_attempt_at IS NOT NULL' +
      ' AND (lease_until IS NULL OR lease_until <= ?4) AND (owner = ?1' +
      ' OR (owner IS NULL OR lease_until <= ?4) AND next_attempt_at <= ?4) RETURNING ' +
      RECIPIENT_COLUMNS,
  );
  const ends = new EndWriter(db, counts);
  return {
    begin(attempts, now) {
      const begun: RecipientRow[] = [];
      for (const { recipientId, owner, leaseUntil, nextAttemptAt } of attempts) {
        const row = begin.get(owner, leaseUntil, nextAttemptAt, now, recipientId);
        if (row !== null) begun.push(row);
      }
      return begun;
    },
    noteSent(attempts) {
      return attempts.flatMap((attempt) => {
        const states = ends.statesOf(attempt.messageId);
        const before = states.find((state) => state.id === attempt.recipientId);
        if (before === undefined || !ends.setSent(attempt)) return [];
        const change = { ...attempt, status: 'sent', nextAttemptAt: before.nextAttemptAt } as const;
        ends.setMessage(
          change,
          before,
          states.filter((state) => state !== before),
        );
        return events.record(attempt.accountId, [attempt.event], attempt.now, attempt.dueAt);
      });
    },
    finish(result) {
      const states = ends.statesOf(result.messageId);
      const before = states.find((state) => state.id === result.recipientId);
      // Gone with its account while it was in an attempt.
      if (before === undefined) return unchanged(result.status);
      if (isOvertaken(result, before))
        return { ...unchanged(before.messageStatus), isOvertaken: true };
      if (result.attempt !== null) ends.addAttempt(result.attempt);
      if (isFinal(before.status) && WORSE[before.status]?.has(result.status) !== true) {
        return unchanged(before.messageStatus);
      }
      ends.setRecipient(result);
      const calls = events.record(result.accountId, result.events, result.now, result.dueAt);
      outcomes.record(result, before);
      if (result.suppress !== null) suppressions.add(result.suppress);
      const others = states.filter((state) => state !== before);
      const messageStatus = ends.setMessage(result, before, others);
      return { calls, messageStatus, isOvertaken: false };
    },
  };
}

/** Whether the end of an attempt comes after another owner has taken the recipient over. */
function isOvertaken({ owner }: FinishAttempt, before: State): boolean {
  return owner !== null && before.owner !== null && before.owner !== owner;
}

function unchanged(messageStatus: MessageStatus): Finished {
  return { calls: [], messageStatus, isOvertaken: false };
}

/** The rows that the end of an attempt changes: attempt, recipient and message. */
class EndWriter {
  readonly #counts: StatusCounts;
  readonly #statesOf;
  readonly #setSent;
  readonly #setRecipient;
  readonly #addAttempt;
  readonly #setMessage;
  readonly #reasonOf;

  constructor(db: Database, counts: StatusCounts) {
    this.#counts = counts;
    // Everything that finishing looks at, in one statement.
    this.#statesOf = db.prepare<State, [string]>(
      'SELECT r.id, r.status, r.next_attempt_at AS nextAttemptAt, m.seq, m.status AS messageStatus,' +
        ' m.created_at AS createdAt, m.is_sandbox AS isSandbox, r.domain, r.owner FROM messages AS m JOIN recipients AS r ON r.message_id = m.id' +
        ' WHERE m.id = ?',
    );
    this.#setSent = db.prepare(
      "UPDATE recipients SET status = 'sent', updated_at = ? WHERE id = ? AND next_attempt_at IS NOT NULL" +
        " AND status IN ('queued', 'delivery_delayed')",
    );
    this.#setRecipient = db.prepare(
      'UPDATE recipients SET status = ?, next_attempt_at = ?, last_reason = COALESCE(?, last_reason),' +
        ' delayed_at = ?, updated_at = ?, owner = NULL, lease_until = NULL WHERE id = ?',
    );
    this.#addAttempt = db.prepare(
      'INSERT INTO attempts (message_id, id, recipient_id, number, began_at, ended_at, outcome, class,' +
        ' stage, host, address, tls, reply, may_be_duplicate)' +
        ' VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    );
    this.#setMessage = db.prepare(
      'UPDATE messages SET status = ?, updated_at = ?, failure_reason = ? WHERE seq = ?',
    );
    this.#reasonOf = db.prepare<{ reason: string | null }, [string, MessageStatus]>(
      'SELECT last_reason AS reason FROM recipients WHERE message_id = ? AND status = ?' +
        ' ORDER BY updated_at DESC LIMIT 1',
    );
  }

  statesOf(messageId: string): State[] {
    return this.#statesOf.all(messageId);
  }

  addAttempt(attempt: Attempt): void {
    this.#addAttempt.run(
      attempt.messageId,
      attempt.id,
      attempt.recipientId,
      attempt.number,
      attempt.beganAt,
      attempt.endedAt,
      attempt.outcome,
      attempt.class,
      attempt.stage,
      attempt.host,
      attempt.address,
      attempt.tls,
      attempt.reply,
      attempt.mayBeDuplicate ? 1 : 0,
    );
  }

  /** False when the recipient is not open, or says `sent` already. */
  setSent({ now, recipientId }: SentAttempt): boolean {
    return this.#setSent.run(now, recipientId).changes > 0;
  }

  setRecipient(result: FinishAttempt): void {
    const { status, nextAttemptAt, lastReason, delayedAt, now, recipientId } = result;
    this.#setRecipient.run(status, nextAttemptAt, lastReason, delayedAt, now, recipientId);
  }

  /**
   * Sets the message's status by those of its recipients and returns it. `before`: this recipient until now; `others`:
   * the message's other recipients.
   */
  setMessage(result: Change, before: State, others: readonly State[]): MessageStatus {
    const isOpen =
      result.nextAttemptAt !== null || others.some((state) => state.nextAttemptAt !== null);
    const statuses = [result.status, ...others.map((state) => state.status)];
    const status = messageStatus(statuses, isOpen, result.status);
    // Of the recipient that decides the status, and only while that status is a failure.
    const reason = REASONED.has(status)
      ? (this.#reasonOf.get(result.messageId, status)?.reason ?? null)
      : null;
    this.#setMessage.run(status, result.now, reason, before.seq);
    if (status !== before.messageStatus) {
      this.#counts.note(result.accountId, before.createdAt, before.messageStatus, -1);
      this.#counts.note(result.accountId, before.createdAt, status, 1);
    }
    return status;
  }
}
