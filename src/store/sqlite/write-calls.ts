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
import { STEP_CALLS, failedAfter } from '../webhooks.ts';
import type { CallPosition, CallRef, FailedRow } from '../webhooks.ts';
import { SELECT_CALL } from '../sql/columns.ts';
import type { CallRow } from '../sql/columns.ts';
import type { Writes } from './verbs.ts';
import type { EventWriter } from './write-events.ts';

type CallWrites = Pick<
  Writes,
  'beginCalls' | 'finishCall' | 'recordTestCall' | 'replayCalls' | 'missCalls'
>;

/** The verbs over the writer's connection; statements are prepared once, here. */
export function callWrites(db: Database, events: EventWriter): CallWrites {
  return {
    ...beginning(db),
    ...ending(db, events),
    recordTestCall: attemptRecorder(db),
    ...replaying(db),
    ...missing(db),
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
  const ofEvent = db.prepare<{ id: string }, [string, string]>(
    'SELECT id FROM calls WHERE event_id = ? AND endpoint_id = ?',
  );
  const failedFrom = db.prepare<FailedRow, [string, number, string, number]>(
    'SELECT id, created_at AS createdAt FROM calls' +
      " WHERE status = 'failed' AND endpoint_id = ? AND (created_at, id) > (?, ?) ORDER BY created_at, id LIMIT ?",
  );
  const reopen = db.prepare(
    "UPDATE calls SET status = 'open', attempts = 0, next_attempt_at = ?, owner = NULL, lease_until = NULL WHERE id = ?",
  );
  return {
    replayCalls(accountId, endpointId, what, now) {
      if (isOfAccount.get(accountId, endpointId) === null) return { calls: [], next: null };
      const open = ({ id }: { id: string }): CallRef => {
        reopen.run(now, id);
        return { id, endpointId, dueAt: now };
      };
      if ('eventId' in what) {
        return { calls: ofEvent.all(what.eventId, endpointId).map(open), next: null };
      }
      const { failedSince, afterId = '' } = what;
      const rows = failedFrom.all(endpointId, failedSince, afterId, STEP_CALLS);
      return { calls: rows.map(open), next: failedAfter(rows) };
    },
  };
}

/** Ends late calls of an endpoint that is about to be enabled. */
function missing(db: Database): Pick<Writes, 'missCalls'> {
  const isDisabled = db.prepare(
    "SELECT 1 FROM endpoints WHERE account_id = ? AND id = ? AND deleted_at IS NULL AND status = 'disabled'",
  );
  const openFrom = db.prepare<
    CallPosition & { createdAt: number },
    [string, number, string, number]
  >(
    'SELECT id, next_attempt_at AS dueAt, created_at AS createdAt FROM calls' +
      " WHERE status = 'open' AND endpoint_id = ? AND (next_attempt_at, id) > (?, ?)" +
      ' ORDER BY next_attempt_at, id LIMIT ?',
  );
  const miss = db.prepare(
    "UPDATE calls SET status = 'failed', next_attempt_at = NULL, owner = NULL, lease_until = NULL WHERE id = ?",
  );
  return {
    missCalls(accountId, endpointId, before, after) {
      if (isDisabled.get(accountId, endpointId) === null) return null;
      const rows = openFrom.all(endpointId, after?.dueAt ?? 0, after?.id ?? '', STEP_CALLS);
      for (const { id, createdAt } of rows) if (createdAt < before) miss.run(id);
      const last = rows.length < STEP_CALLS ? undefined : rows.at(-1);
      return last === undefined ? null : { dueAt: last.dueAt, id: last.id };
    },
  };
}
