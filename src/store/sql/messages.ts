/**
 * Reads about one message: itself, its recipients, attempts and events, and the record of a request.
 *
 * Promises null for another account's message, as for none. Its content, and lists of messages, are each engine's own.
 */
import type { JourneyStore, NewIdempotencyRecord } from '../journey.ts';
import type { MessageStore } from '../messages.ts';
import type { Event, Message } from '../rows.ts';
import {
  SELECT_ATTEMPT,
  SELECT_MESSAGE,
  SELECT_RECIPIENT,
  attemptOf,
  messageOf,
} from './columns.ts';
import type { AttemptRow, MessageRow, RecipientRow } from './columns.ts';
import type { SqlReader } from './reader.ts';

type MessageReads = Pick<JourneyStore, 'idempotencyRecord'> &
  Pick<
    MessageStore,
    'message' | 'messageById' | 'recipients' | 'recipientById' | 'attempts' | 'events'
  >;

const RECORD =
  'SELECT key, route, body_hash AS "bodyHash", status, response, created_at AS "createdAt",' +
  ' expires_at AS "expiresAt" FROM idempotency WHERE account_id = ? AND key = ? AND expires_at > ?';
const MESSAGE = SELECT_MESSAGE + ' WHERE id = ?';
const RECIPIENTS = SELECT_RECIPIENT + ' WHERE message_id = ? ORDER BY id';
const RECIPIENT = SELECT_RECIPIENT + ' WHERE id = ?';
const ATTEMPTS = SELECT_ATTEMPT + ' WHERE message_id = ? ORDER BY id';
const EVENTS =
  'SELECT events.id, events.message_id AS "messageId", account_id AS "accountId",' +
  ' recipient_id AS "recipientId", type, occurred_at AS "occurredAt", payload FROM events' +
  ' JOIN messages ON messages.id = events.message_id WHERE events.message_id = ? ORDER BY events.id';

export function messageReads(sql: SqlReader): MessageReads {
  const messageById = async (id: string): Promise<Message | null> => {
    const row = await sql.one<MessageRow>(MESSAGE, id);
    return row === null ? null : messageOf(row);
  };
  return {
    idempotencyRecord: (accountId, key, now) =>
      sql.one<NewIdempotencyRecord>(RECORD, accountId, key, now),
    messageById,
    async message(accountId, id) {
      const message = await messageById(id);
      return message?.accountId === accountId ? message : null;
    },
    recipients: (messageId) => sql.all<RecipientRow>(RECIPIENTS, messageId),
    recipientById: (id) => sql.one<RecipientRow>(RECIPIENT, id),
    attempts: async (messageId) => (await sql.all<AttemptRow>(ATTEMPTS, messageId)).map(attemptOf),
    events: (messageId) => sql.all<Event>(EVENTS, messageId),
  };
}
