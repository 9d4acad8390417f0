/**
 * Reads about endpoints, and about single calls and their attempts.
 *
 * Promises calls to deleted endpoints too where it is asked for a message's. What is due, and the pages of attempts, are
 * each engine's own: they go along its indexes. Never claims: that is `beginCalls`.
 */
import type { Call, CallAttempt, Endpoint } from '../rows.ts';
import type { MessageCall, WebhookStore } from '../webhooks.ts';
import {
  SELECT_CALL,
  SELECT_CALL_ATTEMPT,
  SELECT_ENDPOINT,
  callAttemptOf,
  endpointOf,
} from './columns.ts';
import type { CallAttemptRow, EndpointRow } from './columns.ts';
import type { SqlReader, SqlValue } from './reader.ts';

type EndpointReads = Pick<
  WebhookStore,
  'accountsWithEndpoints' | 'endpoints' | 'endpoint' | 'endpointById'
>;

/** A message with many recipients has many events; people read the first of them. */
const MOST_CALLS = 500;

const WITH_ENDPOINTS = 'SELECT DISTINCT account_id AS id FROM endpoints WHERE deleted_at IS NULL';
const ENDPOINTS = SELECT_ENDPOINT + ' WHERE account_id = ? AND deleted_at IS NULL ORDER BY id';
const ENDPOINT = SELECT_ENDPOINT + ' WHERE account_id = ? AND id = ? AND deleted_at IS NULL';
const ANY_ENDPOINT = SELECT_ENDPOINT + ' WHERE id = ?';
const CALL = SELECT_CALL + ' WHERE calls.id = ?';
const OPEN_CALLS = "SELECT count(*) AS count FROM calls WHERE status = 'open'";
const ATTEMPT = SELECT_CALL_ATTEMPT + ' WHERE endpoint_id = ? AND id = ?';
const RESPONSES =
  'SELECT attempt_id AS "attemptId", response FROM call_responses WHERE call_id = ? ORDER BY attempt_id';
// Walks the message's events and, for each, the calls of that event: never all calls of an endpoint.
const CALLS_OF_MESSAGE =
  'SELECT calls.id, calls.event_id AS "eventId", calls.endpoint_id AS "endpointId", endpoints.url,' +
  ' calls.status, calls.attempts, calls.next_attempt_at AS "nextAttemptAt"' +
  ' FROM events JOIN calls ON calls.event_id = events.id' +
  ' JOIN endpoints ON endpoints.id = calls.endpoint_id' +
  ' WHERE events.message_id = ? ORDER BY events.id, calls.id LIMIT ?';

export function endpointReads(sql: SqlReader): EndpointReads {
  const one = async (text: string, ...values: SqlValue[]): Promise<Endpoint | null> => {
    const row = await sql.one<EndpointRow>(text, ...values);
    return row === null ? null : endpointOf(row);
  };
  return {
    accountsWithEndpoints: async () =>
      (await sql.all<{ id: string }>(WITH_ENDPOINTS)).map(({ id }) => id),
    endpoints: async (accountId) =>
      (await sql.all<EndpointRow>(ENDPOINTS, accountId)).map(endpointOf),
    endpoint: (accountId, id) => one(ENDPOINT, accountId, id),
    endpointById: (id) => one(ANY_ENDPOINT, id),
  };
}

export function messageCallReads(sql: SqlReader): Pick<WebhookStore, 'callsOfMessage'> {
  return {
    callsOfMessage: (messageId) => sql.all<MessageCall>(CALLS_OF_MESSAGE, messageId, MOST_CALLS),
  };
}

/** What may take long where much is stored. */
export function callReads(sql: SqlReader): Pick<WebhookStore, 'attemptDetail' | 'openCalls'> {
  const attemptOf = async (endpointId: string, id: string): Promise<CallAttempt | null> => {
    const row = await sql.one<CallAttemptRow>(ATTEMPT, endpointId, id);
    return row === null ? null : callAttemptOf(row);
  };
  return {
    openCalls: async () => (await sql.one<{ count: number }>(OPEN_CALLS))?.count ?? 0,
    async attemptDetail(endpointId, attemptId) {
      const attempt = await attemptOf(endpointId, attemptId);
      if (attempt === null) return null;
      const { callId } = attempt;
      if (callId === null) return { attempt, call: null, response: null, attempts: [attempt] };
      const responses = await sql.all<{ attemptId: string; response: string | null }>(
        RESPONSES,
        callId,
      );
      const known = await Promise.all(
        responses.map((each) => attemptOf(endpointId, each.attemptId)),
      );
      const attempts = known.filter((each) => each !== null);
      return {
        attempt,
        call: await sql.one<Call>(CALL, callId),
        response: responses.find((each) => each.attemptId === attemptId)?.response ?? null,
        attempts: attempts.length > 0 ? attempts : [attempt],
      };
    },
  };
}
