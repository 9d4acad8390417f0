/**
 * The webhook calls of one message: what became of each of its events at each endpoint.
 *
 * Promises calls to deleted endpoints too. Walks the message's events and, for each, the calls of that event: never all
 * calls of an endpoint.
 */
import type { Database } from 'bun:sqlite';
import type { MessageCall, WebhookStore } from '../webhooks.ts';

/** A message with many recipients has many events; people read the first of them. */
const MOST_CALLS = 500;

/** The verb over a reading connection. */
export function messageCallReads(db: Database): Pick<WebhookStore, 'callsOfMessage'> {
  const calls = db.prepare<MessageCall, [string, number]>(
    'SELECT calls.id, calls.event_id AS eventId, calls.endpoint_id AS endpointId, endpoints.url,' +
      ' calls.status, calls.attempts, calls.next_attempt_at AS nextAttemptAt' +
      ' FROM events JOIN calls ON calls.event_id = events.id' +
      ' JOIN endpoints ON endpoints.id = calls.endpoint_id' +
      ' WHERE events.message_id = ? ORDER BY events.id, calls.id LIMIT ?',
  );
  return { callsOfMessage: async (messageId) => calls.all(messageId, MOST_CALLS) };
}
