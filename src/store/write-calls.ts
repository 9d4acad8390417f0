/**
 * Writes about endpoints and their calls: begin, finish, replay, disabling after too many failures.
 *
 * Promises that failures in a row are counted inside the commit that records them, and that a call under
 * an unexpired lease is not begun twice. Open calls of a disabled endpoint are kept.
 */
import type { Database } from 'bun:sqlite';
import type { EndpointStatus } from '../base/status.ts';
import { SELECT_CALL, SELECT_ENDPOINT, endpointOf, listText } from './columns.ts';
import type { CallRow, EndpointRow } from './columns.ts';
import type { CallAttempt } from './rows.ts';
import type { CallRef } from './store.ts';
import type { Writes } from './verbs.ts';
import type { EventWriter } from './write-events.ts';

type CallWrites = Pick<
  Writes,
  | 'createEndpoint'
  | 'updateEndpoint'
  | 'rotateEndpointSecret'
  | 'deleteEndpoint'
  | 'beginCalls'
  | 'finishCall'
  | 'recordTestCall'
  | 'replayCalls'
>;

/** The verbs over the writer's connection; statements are prepared once, here. */
export function callWrites(db: Database, events: EventWriter): CallWrites {
  const endpointCount = db.prepare<{ count: number }, [string]>(
    'SELECT count(*) AS count FROM endpoints WHERE account_id = ? AND deleted_at IS NULL',
  );
  const addEndpoint = db.prepare(
    'INSERT INTO endpoints (id, account_id, url, events, status, sealed_secret,' +
      ' sealed_previous_secret, previous_until, failure_count, last_failure_at, created_at, deleted_at)' +
      ' VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
  );
  const endpoint = db.prepare<EndpointRow, [string, string]>(
    SELECT_ENDPOINT + ' WHERE account_id = ? AND id = ? AND deleted_at IS NULL',
  );
  const setEndpoint = db.prepare(
    'UPDATE endpoints SET url = ?, events = ?, status = ?, failure_count = ? WHERE id = ?',
  );
  const missLate = db.prepare(
    "UPDATE calls SET status = 'failed', next_attempt_at = NULL, owner = NULL, lease_until = NULL" +
      " WHERE status = 'open' AND endpoint_id = ? AND created_at < ?",
  );
  const rotate = db.prepare(
    'UPDATE endpoints SET sealed_previous_secret = sealed_secret, sealed_secret = ?,' +
      ' previous_until = ? WHERE account_id = ? AND id = ? AND deleted_at IS NULL',
  );
  const removeEndpoint = db.prepare(
    "UPDATE endpoints SET deleted_at = ?, status = 'disabled'" +
      ' WHERE account_id = ? AND id = ? AND deleted_at IS NULL',
  );
  const beginCall = db.prepare(
    'UPDATE calls SET attempts = attempts + 1, owner = ?, lease_until = ?, next_attempt_at = ?' +
      " WHERE id = ? AND status = 'open' AND (lease_until IS NULL OR lease_until <= ?) AND EXISTS" +
      " (SELECT 1 FROM endpoints WHERE endpoints.id = calls.endpoint_id AND endpoints.status = 'active')",
  );
  const call = db.prepare<CallRow, [string]>(SELECT_CALL + ' WHERE calls.id = ?');
  // A replay asked for meanwhile has set `attempts` to 0: that call is still to come.
  const finishCall = db.prepare(
    'UPDATE calls SET status = ?, next_attempt_at = ?, owner = NULL, lease_until = NULL' +
      " WHERE id = ? AND status = 'open' AND attempts = ?",
  );
  const addAttempt = db.prepare(
    'INSERT INTO call_attempts (endpoint_id, id, call_id, event_type, message_id, attempt,' +
      ' status_code, ok, error, duration_ms, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
  );
  const healthOf = db.prepare<{ status: EndpointStatus; failureCount: number }, [string]>(
    'SELECT status, failure_count AS failureCount FROM endpoints WHERE id = ?',
  );
  const succeeded = db.prepare('UPDATE endpoints SET failure_count = 0 WHERE id = ?');
  const failed = db.prepare(
    'UPDATE endpoints SET failure_count = ?, last_failure_at = ?, status = ? WHERE id = ?',
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

  const recordAttempt = (attempt: CallAttempt): void => {
    addAttempt.run(
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

  return {
    createEndpoint(row, maxEndpoints) {
      if ((endpointCount.get(row.accountId)?.count ?? 0) >= maxEndpoints) return 'too_many';
      addEndpoint.run(
        row.id,
        row.accountId,
        row.url,
        listText(row.events),
        row.status,
        row.sealedSecret,
        row.sealedPreviousSecret,
        row.previousUntil,
        row.failureCount,
        row.lastFailureAt,
        row.createdAt,
        row.deletedAt,
      );
      events.forget();
      return 'created';
    },
    updateEndpoint(accountId, id, change) {
      const stored = endpoint.get(accountId, id);
      if (stored === null) return null;
      const row = endpointOf(stored);
      const { missedBefore, ...fields } = change;
      const next = { ...row, ...fields };
      // Enabled again, it starts with a clean count, or the next failure would disable it at once.
      if (row.status === 'disabled' && next.status === 'active') {
        next.failureCount = 0;
        if (missedBefore !== undefined) missLate.run(id, missedBefore);
      }
      setEndpoint.run(next.url, listText(next.events), next.status, next.failureCount, id);
      events.forget();
      return next;
    },
    rotateEndpointSecret(accountId, id, sealedSecret, previousUntil) {
      return rotate.run(sealedSecret, previousUntil, accountId, id).changes === 1;
    },
    deleteEndpoint(accountId, id, now) {
      events.forget();
      return removeEndpoint.run(now, accountId, id).changes === 1;
    },

    beginCalls(calls, now) {
      const begun: CallRow[] = [];
      for (const { id, owner, leaseUntil, nextAttemptAt } of calls) {
        if (beginCall.run(owner, leaseUntil, nextAttemptAt, id, now).changes === 0) continue;
        const row = call.get(id);
        if (row !== null) begun.push(row);
      }
      return begun;
    },
    finishCall(result) {
      const { endpointId } = result.call;
      recordAttempt(result.attempt);
      const { id, attempts } = result.call;
      const { changes } = finishCall.run(result.status, result.nextAttemptAt, id, attempts);
      const isOvertaken = changes === 0;
      const health = healthOf.get(endpointId);
      if (health === null) throw new Error(`no endpoint ${endpointId}`);
      if (result.attempt.ok) {
        if (health.failureCount !== 0) succeeded.run(endpointId);
        return { endpointStatus: health.status, isOvertaken };
      }
      const failures = health.failureCount + 1;
      const status = failures >= result.disableAfter ? 'disabled' : health.status;
      failed.run(failures, result.attempt.createdAt, status, endpointId);
      if (status !== health.status) events.forget();
      return { endpointStatus: status, isOvertaken };
    },
    recordTestCall: recordAttempt,
    replayCalls(accountId, endpointId, what, now) {
      if (endpoint.get(accountId, endpointId) === null) return [];
      const rows =
        'eventId' in what
          ? replayEvent.all(now, what.eventId, endpointId)
          : replayFailed.all(now, endpointId, what.failedSince);
      return rows.map(({ id }): CallRef => ({ id, endpointId, dueAt: now }));
    },
  };
}
