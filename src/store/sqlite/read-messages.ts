/**
 * Reads about one message: itself, its content, recipients, attempts and events.
 *
 * Promises null for another account's message, as for none. Lists are in `read-emails.ts`.
 */
import type { Database } from 'bun:sqlite';
import {
  SELECT_ATTEMPT,
  SELECT_MESSAGE,
  SELECT_RECIPIENT,
  attemptOf,
  messageOf,
} from '../sql/columns.ts';
import type { AttemptRow, MessageRow, RecipientRow } from '../sql/columns.ts';
import type { JourneyStore, NewIdempotencyRecord } from '../journey.ts';
import type { MessageStore } from '../messages.ts';
import type { Attachment, Body, Event } from '../rows.ts';
import { POSITION } from './positions.ts';
import { headersOf } from '../json-columns.ts';

type MessageReads = Pick<JourneyStore, 'idempotencyRecord' | 'messageForDelivery'> &
  Omit<MessageStore, 'emails' | 'emailsByPage'>;

interface BodyRow {
  html: string | null;
  text: string | null;
  headers: string | null;
  raw: Uint8Array | null;
}

/** The verbs over a reading connection; statements are prepared once, here. */
export function messageReads(db: Database): MessageReads {
  const record = db.prepare<NewIdempotencyRecord, [string, string, number]>(
    'SELECT key, route, body_hash AS bodyHash, status, response, created_at AS createdAt,' +
      ' expires_at AS expiresAt FROM idempotency WHERE account_id = ? AND key = ? AND expires_at > ?',
  );
  const messageById = db.prepare<MessageRow, [string]>(SELECT_MESSAGE + ' WHERE id = ?');
  const bodyOf = db.prepare<BodyRow, [number]>(
    'SELECT html, text, headers, raw FROM bodies WHERE message_seq = ?',
  );
  const attachmentsOf = db.prepare<Attachment, [number]>(
    'SELECT filename, content_type AS contentType, content_id AS contentId, content' +
      ' FROM attachments WHERE message_seq = ? ORDER BY ' +
      POSITION,
  );
  const recipients = db.prepare<RecipientRow, [string]>(
    SELECT_RECIPIENT + ' WHERE message_id = ? ORDER BY id',
  );
  const recipientById = db.prepare<RecipientRow, [string]>(SELECT_RECIPIENT + ' WHERE id = ?');
  const attempts = db.prepare<AttemptRow, [string]>(
    SELECT_ATTEMPT + ' WHERE message_id = ? ORDER BY id',
  );
  const events = db.prepare<Event, [string]>(
    'SELECT events.id, events.message_id AS messageId, account_id AS accountId,' +
      ' recipient_id AS recipientId, type, occurred_at AS occurredAt, payload FROM events' +
      ' JOIN messages ON messages.id = events.message_id WHERE events.message_id = ? ORDER BY events.id',
  );
  const contentOf = (seq: number): Body | null => {
    const row = bodyOf.get(seq);
    if (row === null) return null;
    return { ...row, headers: headersOf(row.headers), attachments: attachmentsOf.all(seq) };
  };

  return {
    idempotencyRecord: async (accountId, key, now) => record.get(accountId, key, now),
    async message(accountId, id) {
      const row = messageById.get(id);
      return row === null || row.accountId !== accountId ? null : messageOf(row);
    },
    async messageById(id) {
      const row = messageById.get(id);
      return row === null ? null : messageOf(row);
    },
    async messageForDelivery(id) {
      const row = messageById.get(id);
      const body = row === null ? null : contentOf(row.seq);
      return row === null || body === null ? null : { message: messageOf(row), body };
    },
    recipients: async (messageId) => recipients.all(messageId),
    recipientById: async (id) => recipientById.get(id),
    attempts: async (messageId) => attempts.all(messageId).map(attemptOf),
    events: async (messageId) => events.all(messageId),
    async body(accountId, id) {
      const row = messageById.get(id);
      return row === null || row.accountId !== accountId ? null : { body: contentOf(row.seq) };
    },
  };
}
