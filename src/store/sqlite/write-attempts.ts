/**
 * Attempts of recipients: begin (before dialling), sent (while one takes long), finish (with everything that follows).
 *
 * Promises that what each decides (`attempt-choice.ts`) rests on the rows that its commit changes: this connection is
 * the only one that writes.
 */
import type { Database } from 'bun:sqlite';
import type { MessageStatus } from '../../base/status.ts';
import { begunOf, chooseEnd, maySaySent, showsReason, shownReason } from '../attempt-choice.ts';
import type { OwnedRecipient, RecipientState } from '../attempt-choice.ts';
import type { FinishAttempt, SentAttempt } from '../journey.ts';
import type { Attempt, Recipient } from '../rows.ts';
import { SELECT_OWNED_RECIPIENT } from '../sql/columns.ts';
import type { OutcomeRecount } from './recounts.ts';
import type { StatusCounts } from './status-counts.ts';
import type { Writes } from './verbs.ts';
import type { EventWriter } from './write-events.ts';
import type { SuppressionWriter } from './write-suppressions.ts';

/** A recipient, and the message it belongs to. */
interface State extends RecipientState {
  seq: number;
  createdAt: number;
  isSandbox: number;
  domain: string;
}

/** What is known of a change of a message, besides its state. */
type Change = Pick<FinishAttempt, 'accountId' | 'messageId' | 'now'>;

/** Why a recipient is in its state, and since when. */
type Reason = Pick<Recipient, 'lastReason' | 'updatedAt'>;

/** The verbs over the writer's connection; statements are prepared once, here. */
export function attemptWrites(
  db: Database,
  events: EventWriter,
  suppressions: SuppressionWriter,
  counts: StatusCounts,
  outcomes: OutcomeRecount,
): Pick<Writes, 'begin' | 'noteSent' | 'finish'> {
  const ends = new EndWriter(db, counts);
  return {
    ...beginning(db),
    noteSent(attempts) {
      return attempts.flatMap((attempt) => {
        const states = ends.statesOf(attempt.messageId);
        const [message] = states;
        if (message === undefined || !maySaySent(attempt, states)) return [];
        ends.setSent(attempt);
        ends.setMessage(attempt, message, 'sent');
        return events.record(attempt.accountId, [attempt.event], attempt.now, attempt.dueAt);
      });
    },
    finish(result) {
      const states = ends.statesOf(result.messageId);
      const before = states.find((state) => state.id === result.recipientId);
      const { kind, messageStatus } = chooseEnd(result, states);
      const isOvertaken = kind === 'overtaken';
      if (before === undefined || isOvertaken) return { calls: [], messageStatus, isOvertaken };
      if (result.attempt !== null) ends.addAttempt(result.attempt);
      if (kind === 'recorded') return { calls: [], messageStatus, isOvertaken };
      ends.setRecipient(result);
      if (result.isUnbegun === true) ends.giveNumberBack(result);
      const calls = events.record(result.accountId, result.events, result.now, result.dueAt);
      outcomes.record(result, before);
      if (result.suppress !== null) suppressions.add(result.suppress);
      ends.setMessage(result, before, messageStatus);
      return { calls, messageStatus, isOvertaken };
    },
  };
}

function beginning(db: Database): Pick<Writes, 'begin'> {
  const get = db.prepare<OwnedRecipient, [string]>(SELECT_OWNED_RECIPIENT + ' WHERE id = ?');
  const set = db.prepare(
    'UPDATE recipients SET attempts = ?, owner = ?, lease_until = ?, next_attempt_at = ?,' +
      ' updated_at = ? WHERE id = ?',
  );
  return {
    begin(attempts, now) {
      const begun: Recipient[] = [];
      for (const attempt of attempts) {
        const row = get.get(attempt.recipientId);
        const recipient = row === null ? null : begunOf(row, attempt, now);
        if (recipient === null) continue;
        const { id, attempts: count, nextAttemptAt } = recipient;
        set.run(count, attempt.owner, attempt.leaseUntil, nextAttemptAt, now, id);
        begun.push(recipient);
      }
      return begun;
    },
  };
}

/** The rows that the end of an attempt changes: attempt, recipient and message. */
class EndWriter {
  readonly #counts: StatusCounts;
  readonly #statesOf;
  readonly #setSent;
  readonly #setRecipient;
  readonly #giveNumberBack;
  readonly #addAttempt;
  readonly #setMessage;
  readonly #reasonsOf;

  constructor(db: Database, counts: StatusCounts) {
    this.#counts = counts;
    // Everything that finishing looks at, in one statement.
    this.#statesOf = db.prepare<State, [string]>(
      'SELECT r.id, r.status, r.next_attempt_at AS nextAttemptAt, m.seq, m.status AS messageStatus,' +
        ' m.created_at AS createdAt, m.is_sandbox AS isSandbox, r.domain, r.owner, r.lease_until AS leaseUntil FROM messages AS m JOIN recipients AS r ON r.message_id = m.id' +
        ' WHERE m.id = ?',
    );
    this.#setSent = db.prepare(
      "UPDATE recipients SET status = 'sent', updated_at = ? WHERE id = ?",
    );
    this.#setRecipient = db.prepare(
      'UPDATE recipients SET status = ?, next_attempt_at = ?, last_reason = COALESCE(?, last_reason),' +
        ' delayed_at = ?, updated_at = ?, owner = NULL, lease_until = NULL WHERE id = ?',
    );
    this.#giveNumberBack = db.prepare('UPDATE recipients SET attempts = attempts - 1 WHERE id = ?');
    this.#addAttempt = db.prepare(
      'INSERT INTO attempts (message_id, id, recipient_id, number, began_at, ended_at, outcome, class,' +
        ' stage, host, address, tls, reply, may_be_duplicate)' +
        ' VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    );
    this.#setMessage = db.prepare(
      'UPDATE messages SET status = ?, updated_at = ?, failure_reason = ? WHERE seq = ?',
    );
    this.#reasonsOf = db.prepare<Reason, [string, MessageStatus]>(
      'SELECT last_reason AS lastReason, updated_at AS updatedAt FROM recipients' +
        ' WHERE message_id = ? AND status = ?',
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

  setSent({ now, recipientId }: SentAttempt): void {
    this.#setSent.run(now, recipientId);
  }

  setRecipient(result: FinishAttempt): void {
    const { status, nextAttemptAt, lastReason, delayedAt, now, recipientId } = result;
    this.#setRecipient.run(status, nextAttemptAt, lastReason, delayedAt, now, recipientId);
  }

  giveNumberBack({ recipientId }: FinishAttempt): void {
    this.#giveNumberBack.run(recipientId);
  }

  /** Sets and counts the message's state. `before`: the message until now. */
  setMessage({ accountId, messageId, now }: Change, before: State, status: MessageStatus): void {
    // Of the recipients in that state, and only while it is a failure.
    const reason = showsReason(status) ? shownReason(this.#reasonsOf.all(messageId, status)) : null;
    this.#setMessage.run(status, now, reason, before.seq);
    if (status === before.messageStatus) return;
    this.#counts.note(accountId, before.createdAt, before.messageStatus, -1);
    this.#counts.note(accountId, before.createdAt, status, 1);
  }
}
