/**
 * Attempts of recipients: begin (before dialling), finish (with everything that follows), leases.
 *
 * Promises that a recipient under another's unexpired lease is never begun, and that one which has
 * reached its end is not changed again, except that a later report (bounce, complaint) may say worse.
 */
import type { Database } from 'bun:sqlite';
import { isFinal, messageStatus } from '../base/status.ts';
import type { MessageStatus } from '../base/status.ts';
import { RECIPIENT_COLUMNS } from './columns.ts';
import type { RecipientRow } from './columns.ts';
import type { StatusCounts } from './status-counts.ts';
import type { FinishAttempt } from './store.ts';
import type { Writes } from './verbs.ts';
import type { EventWriter } from './write-events.ts';
import type { SuppressionWriter } from './write-suppressions.ts';

type AttemptWrites = Pick<Writes, 'begin' | 'finish' | 'releaseLeases' | 'retrySome'>;

/** What a report may still turn a finished recipient into. */
const WORSE: Partial<Record<MessageStatus, ReadonlySet<MessageStatus>>> = {
  delivered: new Set(['bounced', 'complained']),
  bounced: new Set(['complained']),
  failed: new Set(['complained']),
};

/** What a message shows a reason for. */
const REASONED: ReadonlySet<MessageStatus> = new Set(['bounced', 'failed', 'suppressed']);

/** A recipient, and the message it belongs to. */
interface State {
  id: string;
  status: MessageStatus;
  nextAttemptAt: number | null;
  seq: number;
  messageStatus: MessageStatus;
  createdAt: number;
}

/** The verbs over the writer's connection; statements are prepared once, here. */
export function attemptWrites(
  db: Database,
  events: EventWriter,
  suppressions: SuppressionWriter,
  counts: StatusCounts,
): AttemptWrites {
  const begin = db.prepare<RecipientRow, [string, number, number, number, string, number]>(
    'UPDATE recipients SET attempts = attempts + 1, owner = ?, lease_until = ?, next_attempt_at = ?,' +
      ' updated_at = ? WHERE id = ? AND next_attempt_at IS NOT NULL' +
      ' AND (lease_until IS NULL OR lease_until <= ?) RETURNING ' +
      RECIPIENT_COLUMNS,
  );
  // All that finishing looks at, in one question.
  const statesOf = db.prepare<State, [string]>(
    'SELECT r.id, r.status, r.next_attempt_at AS nextAttemptAt, m.seq, m.status AS messageStatus,' +
      ' m.created_at AS createdAt FROM messages AS m JOIN recipients AS r ON r.message_id = m.id' +
      ' WHERE m.id = ?',
  );
  const finish = db.prepare(
    'UPDATE recipients SET status = ?, next_attempt_at = ?, last_reason = COALESCE(?, last_reason),' +
      ' delayed_at = ?, updated_at = ?, owner = NULL, lease_until = NULL WHERE id = ?',
  );
  const addAttempt = db.prepare(
    'INSERT INTO attempts (message_id, id, recipient_id, number, began_at, ended_at, outcome, class,' +
      ' stage, host, address, tls, reply, may_be_duplicate)' +
      ' VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
  );
  const setMessage = db.prepare(
    'UPDATE messages SET status = ?, updated_at = ?, failure_reason = ? WHERE seq = ?',
  );
  const reasonOf = db.prepare<{ reason: string | null }, [string, MessageStatus]>(
    'SELECT last_reason AS reason FROM recipients WHERE message_id = ? AND status = ?' +
      ' ORDER BY updated_at DESC LIMIT 1',
  );
  // The inner SELECT reads the index alone: few of many waiting recipients are under a lease.
  const RELEASE =
    'UPDATE recipients SET owner = NULL, lease_until = NULL, updated_at = ? WHERE id IN' +
    ' (SELECT id FROM recipients INDEXED BY recipients_by_due WHERE next_attempt_at IS NOT NULL';
  const releaseOf = db.prepare(RELEASE + ' AND owner = ?)');
  const releaseAll = db.prepare(RELEASE + ' AND owner IS NOT NULL)');
  const releaseCallsOf = db.prepare(
    "UPDATE calls SET owner = NULL, lease_until = NULL WHERE status = 'open' AND owner = ?",
  );
  const releaseAllCalls = db.prepare(
    "UPDATE calls SET owner = NULL, lease_until = NULL WHERE status = 'open' AND owner IS NOT NULL",
  );
  const IS_IDLE = '(lease_until IS NULL OR lease_until <= ?1) AND next_attempt_at > ?1';
  const retryAll = db.prepare(
    'UPDATE recipients SET next_attempt_at = ?1, updated_at = ?1 WHERE id IN (SELECT id FROM recipients WHERE ' +
      IS_IDLE +
      ' LIMIT ?2)',
  );
  const retryDomain = db.prepare(
    'UPDATE recipients SET next_attempt_at = ?1, updated_at = ?1 WHERE id IN (SELECT id FROM recipients' +
      ' WHERE domain = ?3 AND ' +
      IS_IDLE +
      ' LIMIT ?2)',
  );
  const retryOne = db.prepare(
    'UPDATE recipients SET next_attempt_at = ?1, updated_at = ?1 WHERE id IN (SELECT id FROM recipients' +
      ' WHERE (id = ?3 OR message_id = ?3) AND ' +
      IS_IDLE +
      ' LIMIT ?2)',
  );

  const recordAttempt = ({ attempt }: FinishAttempt): void => {
    if (attempt === null) return;
    addAttempt.run(
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
  };

  /** `states`: of the message's other recipients. `before`: of this one until now. */
  const updateMessage = (
    result: FinishAttempt,
    before: State,
    states: readonly State[],
  ): MessageStatus => {
    const isOpen =
      result.nextAttemptAt !== null || states.some((state) => state.nextAttemptAt !== null);
    const status = messageStatus(
      [result.status, ...states.map((state) => state.status)],
      isOpen,
      result.status,
    );
    // Of the recipient that decides the status, and only while that status is a failure.
    const isFailure = REASONED.has(status);
    const reason = isFailure ? (reasonOf.get(result.messageId, status)?.reason ?? null) : null;
    setMessage.run(status, result.now, reason, before.seq);
    if (status !== before.messageStatus) {
      counts.note(result.accountId, before.createdAt, before.messageStatus, -1);
      counts.note(result.accountId, before.createdAt, status, 1);
    }
    return status;
  };

  return {
    begin(attempts, now) {
      const begun: RecipientRow[] = [];
      for (const { recipientId, owner, leaseUntil, nextAttemptAt } of attempts) {
        const row = begin.get(owner, leaseUntil, nextAttemptAt, now, recipientId, now);
        if (row !== null) begun.push(row);
      }
      return begun;
    },

    finish(result) {
      const states = statesOf.all(result.messageId);
      const before = states.find((state) => state.id === result.recipientId);
      if (before === undefined) throw new Error(`no recipient ${result.recipientId}`);
      recordAttempt(result);
      const isEnded = isFinal(before.status) && before.nextAttemptAt === null;
      if (isEnded && WORSE[before.status]?.has(result.status) !== true) {
        return { calls: [], messageStatus: before.messageStatus };
      }
      finish.run(
        result.status,
        result.nextAttemptAt,
        result.lastReason,
        result.delayedAt,
        result.now,
        result.recipientId,
      );
      const calls = events.record(result.accountId, result.events, result.now);
      if (result.suppress !== null) suppressions.add(result.suppress);
      const others = states.filter((state) => state !== before);
      return { calls, messageStatus: updateMessage(result, before, others) };
    },

    releaseLeases(owner, now) {
      if (owner === null) {
        releaseAll.run(now);
        releaseAllCalls.run();
      } else {
        releaseOf.run(now, owner);
        releaseCallsOf.run(owner);
      }
    },

    retrySome({ id, domain }, now, limit) {
      if (id !== null) return retryOne.run(now, limit, id).changes;
      if (domain !== null) return retryDomain.run(now, limit, domain).changes;
      return retryAll.run(now, limit).changes;
    },
  };
}
