/**
 * Webhook endpoints, and reads about their calls.
 *
 * Promises that the limit on endpoints holds under requests to several nodes.
 */
import { changedEndpoint } from '../endpoint-health.ts';
import { listText } from '../json-columns.ts';
import type { Call, CallAttempt } from '../rows.ts';
import { SELECT_ENDPOINT, endpointOf } from '../sql/columns.ts';
import type { EndpointRow } from '../sql/columns.ts';
import { endpointReads } from '../sql/webhooks.ts';
import type { ListedAttempt, MessageCall, WebhookStore } from '../webhooks.ts';
import { lockAccount } from './accounts.ts';
import type { Access } from './database.ts';
import { dueCalls } from './due-calls.ts';
import { idOrNull } from './ids.ts';
import { listBy } from './lists.ts';
import { sqlReader } from './reader.ts';
import { SELECT_CALL } from './shapes.ts';
import { fieldsOf, insertInto, part, selectFrom } from './statement.ts';
import { CALL_ATTEMPTS, ENDPOINTS } from './tables.ts';

type EndpointWrites = Pick<
  WebhookStore,
  'createEndpoint' | 'updateEndpoint' | 'rotateEndpointSecret' | 'deleteEndpoint'
>;
type EndpointReads = Pick<
  WebhookStore,
  'accountsWithEndpoints' | 'endpoints' | 'endpoint' | 'endpointById'
>;
type CallReads = Pick<
  WebhookStore,
  'callsDue' | 'openCalls' | 'callAttempts' | 'attemptDetail' | 'callsOfMessage'
>;

/** A message with many recipients has many events; people read the first of them. */
const MOST_CALLS = 500;

/** The verbs over the database. */
export function endpointVerbs(database: Access): EndpointWrites & EndpointReads & CallReads {
  return {
    ...endpointWrites(database),
    ...endpointReads(sqlReader(database)),
    ...callReads(database),
  };
}

function endpointWrites(database: Access): EndpointWrites {
  return {
    createEndpoint: (endpoint, maxEndpoints) =>
      database.transaction(async (session) => {
        await lockAccount(session, endpoint.accountId);
        const counted = await session.first<{ count: number }>(
          part(
            'SELECT count(*) AS count FROM endpoints WHERE account_id = $1 AND deleted_at IS NULL',
            endpoint.accountId,
          ),
        );
        if ((counted?.count ?? 0) >= maxEndpoints) return 'too_many';
        await session.run(
          insertInto(ENDPOINTS, [{ ...endpoint, events: listText(endpoint.events) }]),
        );
        return 'created';
      }),
    updateEndpoint: changing(database),
    async rotateEndpointSecret(accountId, id, sealedSecret, previousUntil) {
      const set =
        'UPDATE endpoints SET sealed_previous_secret = sealed_secret, sealed_secret = $1, previous_until = $2' +
        ' WHERE account_id = $3 AND id = $4 AND deleted_at IS NULL';
      const statement = part(set, sealedSecret, previousUntil, idOrNull(accountId), idOrNull(id));
      return (await database.run(statement)) === 1;
    },
    async deleteEndpoint(accountId, id, now) {
      const set =
        "UPDATE endpoints SET deleted_at = $1, status = 'disabled'" +
        ' WHERE account_id = $2 AND id = $3 AND deleted_at IS NULL';
      return (await database.run(part(set, now, idOrNull(accountId), idOrNull(id)))) === 1;
    },
  };
}

function changing(database: Access): WebhookStore['updateEndpoint'] {
  return (accountId, id, change) =>
    database.transaction(async (session) => {
      const stored = await session.first<EndpointRow>(
        part(
          `${SELECT_ENDPOINT} WHERE account_id = $1 AND id = $2 AND deleted_at IS NULL FOR NO KEY UPDATE`,
          idOrNull(accountId),
          idOrNull(id),
        ),
      );
      if (stored === null) return null;
      const endpoint = changedEndpoint(endpointOf(stored), change);
      const { url, status, failureCount } = endpoint;
      await session.run(
        part(
          'UPDATE endpoints SET url = $1, events = $2, status = $3, failure_count = $4 WHERE id = $5',
          url,
          listText(endpoint.events),
          status,
          failureCount,
          id,
        ),
      );
      return endpoint;
    });
}

function callReads(database: Access): CallReads {
  return { ...dueCalls(database), ...openCallReads(database), ...attemptReads(database) };
}

function openCallReads(database: Access): Pick<CallReads, 'openCalls' | 'callsOfMessage'> {
  return {
    async openCalls() {
      const row = await database.first<{ count: number }>(
        part("SELECT count(*) AS count FROM calls WHERE status = 'open'"),
      );
      return row?.count ?? 0;
    },
    callsOfMessage: (messageId) =>
      database.all<MessageCall>(
        part(
          'SELECT c.id, c.event_id AS "eventId", c.endpoint_id AS "endpointId", e.url, c.status, c.attempts,' +
            ' c.next_attempt_at AS "nextAttemptAt" FROM calls AS c JOIN endpoints AS e ON e.id = c.endpoint_id' +
            ' WHERE c.message_id = $1 ORDER BY c.event_id, c.id LIMIT $2',
          idOrNull(messageId),
          MOST_CALLS,
        ),
      ),
  };
}

function attemptReads(database: Access): Pick<CallReads, 'callAttempts' | 'attemptDetail'> {
  const SELECT_ATTEMPT = selectFrom(CALL_ATTEMPTS);
  const SELECT_LISTED =
    `SELECT ${fieldsOf(CALL_ATTEMPTS, 'call_attempts')},` +
    ' (SELECT event_id FROM calls WHERE calls.id = call_id) AS "eventId" FROM call_attempts';
  return {
    callAttempts(endpointId, page, isFailedOnly = false) {
      const where = [part('endpoint_id = $1', idOrNull(endpointId))];
      if (isFailedOnly) where.push(part('NOT ok'));
      return listBy<ListedAttempt>(database, SELECT_LISTED, where, page);
    },
    async attemptDetail(endpointId, attemptId) {
      const attempt = await database.first<CallAttempt>(
        part(
          `${SELECT_ATTEMPT} WHERE endpoint_id = $1 AND id = $2`,
          idOrNull(endpointId),
          idOrNull(attemptId),
        ),
      );
      if (attempt === null) return null;
      const { callId } = attempt;
      if (callId === null) return { attempt, call: null, response: null, attempts: [attempt] };
      const [call, known] = await Promise.all([
        database.first<Call>(
          part(`${SELECT_CALL} WHERE c.id = $1 AND e.message_id = $2`, callId, attempt.messageId),
        ),
        database.all<{ attemptId: string; response: string | null }>(
          part(
            'SELECT attempt_id AS "attemptId", response FROM call_responses WHERE call_id = $1 ORDER BY attempt_id',
            callId,
          ),
        ),
      ]);
      const attempts = await database.all<CallAttempt>(
        part(
          `${SELECT_ATTEMPT} WHERE endpoint_id = $1 AND id = ANY($2::uuid[]) ORDER BY id`,
          endpointId,
          known.map((each) => each.attemptId),
        ),
      );
      return {
        attempt,
        call,
        response: known.find((each) => each.attemptId === attemptId)?.response ?? null,
        attempts: attempts.length > 0 ? attempts : [attempt],
      };
    },
  };
}
