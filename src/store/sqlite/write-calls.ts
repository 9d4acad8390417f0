/**
 * Writes about webhook calls: begin, finish, replay, disabling an endpoint after too many failures.
 *
 * Promises that failures in a row are counted inside the commit that records them, and that a call under an unexpired
 * lease is not begun twice. Open calls of a disabled endpoint are kept.
 */
import type { Database } from 'bun:sqlite';
import { healthAfter } from '../endpoint-health.ts';
import type { EndpointHealth } from '../endpoint-health.ts';
import type { CallAttempt } from '../rows.ts';
import type { CallRef } from '../webhooks.ts';
import { SELECT_CALL } from '../sql/columns.ts';
import type { CallRow } from '../sql/columns.ts';
import type { Writes } from './verbs.ts';
import type { EventWriter } from './write-events.ts';

type CallWrites = Pick<Writes, 'beginCalls' | 'finishCall' | 'recordTestCall' | 'replayCalls'>;

/** The verbs over the writer's connection; statements are prepared once, here. */
export function callWrites(db: Database, events: EventWriter): CallWrites {
  return {
    ...beginning(db),
    ...ending(db, events),
    recordTestCall: attemptRecorder(db),
    ...replaying(db),
  };
}

function beginning(db: Database): Pick<Writes, 'beginCalls'> {
  const begin = db.prepare(
    'UPDATE calls SET attempts = attempts + 1, owner = ?, lease_until = ?, next_attempt_at = ?' +
      " WHERE id = ? AND status = 'open' AND (lease_until IS NULL OR lease_until <= ?) AND EXISTS" +
      " (SELECT 1 FROM endpoints WHERE endpoints.id = calls.endpoint_id AND endpoints.status = 'active')",
  );
  const get = db.prepare<CallRow, [string]>(SELECT_CALL + ' WHERE calls.id = ?');
  return {
    beginCalls(calls, now) {
      const begun: CallRow[] = [];
      for (const { id, owner, leaseUntil, nextAttemptAt } of calls) {
        if (begin.run(owner, leaseUntil, nextAttemptAt, id, now).changes === 0) continue;
        const row = get.get(id);
        if (row !== null) begun.push(row);
      }
      return begun;
    },
  };
}

function ending(db: Database, events: EventWriter): Pick<Writes, 'finishCall'> {
  const recordAttempt = attemptRecorder(db);
  // Of a call that was erased in the meantime nothing is kept.
  const keepResponse = db.prepare(
    'INSERT INTO call_responses (call_id, attempt_id, response) SELECT id, ?2, ?3 FROM calls WHERE id = ?1',
  );
  // A replay that was asked for in the meantime has set `attempts` to 0: that call is still to come.
  const finish = db.prepare(
    'UPDATE calls SET status = ?, next_attempt_at = ?, owner = NULL, lease_until = NULL' +
      " WHERE id = ? AND status = 'open' AND attempts = ?",
  );
  const healthOf = db.prepare<EndpointHealth, [string]>(
    'SELECT status, failure_count AS failureCount, last_failure_at AS lastFailureAt' +
      ' FROM endpoints WHERE id = ?',
  );
  const setHealth = db.prepare(
    'UPDATE endpoints SET status = ?, failure_count = ?, last_failure_at = ? WHERE id = ?',
  );
  return {
    finishCall({ call, attempt, status, nextAttemptAt, response, disableAfter }) {
      const { endpointId } = call;
      const health = healthOf.get(endpointId);
      // Gone with its account while it was in an attempt.
      if (health === null) return { endpointStatus: 'disabled', isOvertaken: false };
      recordAttempt(attempt);
      keepResponse.run(call.id, attempt.id, response);
      const isOvertaken = finish.run(status, nextAttemptAt, call.id, call.attempts).changes === 0;
      const after = healthAfter(health, attempt, disableAfter);
      if (after !== health) {
        setHealth.run(after.status, after.failureCount, after.lastFailureAt, endpointId);
      }
      if (after.status !== health.status) events.forget();
      return { endpointStatus: after.status, isOvertaken };
    },
  };
}

function attemptRecorder(db: Database): (attempt: CallAttempt) => void {
  const add = db.prepare(
    'INSERT INTO call_attempts (endpoint_id, id, call_id, event_type, message_id, attempt,' +
      ' status_code, ok, error, duration_ms, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
  );
  return (attempt) => {
    add.run(
      attempt.endpointId,
      attempt.id,
      attempt.callId,
      attempt.eventType,
      attempt.messageId,
      attempt.attempt,
      attempt.statusCode,
      attempt.ok ? 1 : 0,
      attempt.error,
      attempt.durationMs,
      attempt.createdAt,
    );
  };
}

function replaying(db: Database): Pick<Writes, 'replayCalls'> {
  const isOfAccount = db.prepare(
    'SELECT 1 FROM endpoints WHERE account_id = ? AND id = ? AND deleted_at IS NULL',
  );
  const replayEvent = db.prepare<{ id: string }, [number, string, string]>(
    "UPDATE calls SET status = 'open', attempts = 0, next_attempt_at = ?, owner = NULL," +
      ' lease_until = NULL WHERE event_id = ? AND endpoint_id = ? RETURNING id',
  );
  const replayFailed = db.prepare<{ id: string }, [number, string, number]>(
    "UPDATE calls SET status = 'open', attempts = 0, next_attempt_at = ?, owner = NULL," +
      " lease_until = NULL WHERE endpoint_id = ? AND status = 'failed' AND created_at >= ?" +
      ' RETURNING id',
  );
  return {
    replayCalls(accountId, endpointId, what, now) {
      if (isOfAccount.get(accountId, endpointId) === null) return [];
      const rows =
        'eventId' in what
          ? replayEvent.all(now, what.eventId, endpointId)
          : replayFailed.all(now, endpointId, what.failedSince);
      return rows.map(({ id }): CallRef => ({ id, endpointId, dueAt: now }));
    },
  };
}
