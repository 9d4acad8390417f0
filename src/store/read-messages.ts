/**
 * Reads about messages: one, its parts, and the lists.
 *
 * Promises lists newest first in commit order, so that a page read later neither repeats nor skips a row.
 * A cursor is a message's id and holds when the row has gone. Never reads content for a list.
 */
import type { Database } from 'bun:sqlite';
import {
  SELECT_ATTEMPT,
  SELECT_MESSAGE,
  SELECT_RECIPIENT,
  attemptOf,
  messageOf,
} from './columns.ts';
import type { AttemptRow, MessageRow, RecipientRow } from './columns.ts';
import { pageOf, rangeOf } from './paging.ts';
import type { Range } from './paging.ts';
import type { Attachment, Body, Event } from './rows.ts';
import type { Reads } from './verbs.ts';

type MessageReads = Pick<
  Reads,
  | 'idempotencyRecord'
  | 'message'
  | 'messageById'
  | 'messageForDelivery'
  | 'recipients'
  | 'recipientById'
  | 'attempts'
  | 'events'
  | 'body'
  | 'emails'
  | 'emailsByPage'
>;

interface BodyRow {
  html: string | null;
  text: string | null;
  headers: string | null;
  raw: Uint8Array | null;
}

/** The verbs over a reading connection; statements are prepared once, here. */
export function messageReads(db: Database): MessageReads {
  const record = db.prepare<
    ReturnType<MessageReads['idempotencyRecord']>,
    [string, string, number]
  >(
    'SELECT key, route, body_hash AS bodyHash, status, response, created_at AS createdAt,' +
      ' expires_at AS expiresAt FROM idempotency WHERE account_id = ? AND key = ? AND expires_at > ?',
  );
  const messageById = db.prepare<MessageRow, [string]>(SELECT_MESSAGE + ' WHERE id = ?');
  const bodyOf = db.prepare<BodyRow, [number]>(
    'SELECT html, text, headers, raw FROM bodies WHERE message_seq = ?',
  );
  const attachmentsOf = db.prepare<Attachment, [number]>(
    'SELECT filename, content_type AS contentType, content_id AS contentId, content' +
      ' FROM attachments WHERE message_seq = ? ORDER BY place',
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
  const seqAt = db.prepare<{ seq: number }, [string]>(
    'SELECT seq FROM messages WHERE id <= ? ORDER BY id DESC LIMIT 1',
  );
  const older = db.prepare<MessageRow, [string, number, number, number]>(
    SELECT_MESSAGE + ' WHERE account_id = ? AND seq > ? AND seq < ? ORDER BY seq DESC LIMIT ?',
  );
  const newer = db.prepare<MessageRow, [string, number, number, number]>(
    SELECT_MESSAGE + ' WHERE account_id = ? AND seq > ? AND seq < ? ORDER BY seq LIMIT ?',
  );
  const WITH_STATUS = ' WHERE account_id = ? AND status = ? AND seq > ? AND seq < ?';
  const olderOf = db.prepare<MessageRow, [string, string, number, number, number]>(
    SELECT_MESSAGE + WITH_STATUS + ' ORDER BY seq DESC LIMIT ?',
  );
  const newerOf = db.prepare<MessageRow, [string, string, number, number, number]>(
    SELECT_MESSAGE + WITH_STATUS + ' ORDER BY seq LIMIT ?',
  );
  const byPage = db.prepare<MessageRow, [string, number, number]>(
    SELECT_MESSAGE +
      ' WHERE seq IN (SELECT seq FROM messages WHERE account_id = ? ORDER BY seq DESC LIMIT ? OFFSET ?)' +
      ' ORDER BY seq DESC',
  );

  const contentOf = (seq: number): Body | null => {
    const row = bodyOf.get(seq);
    if (row === null) return null;
    const headers = row.headers === null ? [] : (JSON.parse(row.headers) as Body['headers']);
    return { ...row, headers, attachments: attachmentsOf.all(seq) };
  };

  const rows = (accountId: string, status: string | null, range: Range, limit: number) => {
    const { above, below, isForward } = range;
    if (status === null) {
      return (isForward ? newer : older).all(accountId, above, below, limit);
    }
    return (isForward ? newerOf : olderOf).all(accountId, status, above, below, limit);
  };

  const search = (
    accountId: string,
    status: string | null,
    range: Range,
    limit: number,
    q: string,
  ): MessageRow[] => {
    const wanted = q.toLowerCase();
    return rows(accountId, status, range, -1)
      .filter((row) =>
        [row.subject, row.sender, row.toList].some((text) => text.toLowerCase().includes(wanted)),
      )
      .slice(0, limit);
  };

  return {
    idempotencyRecord: (accountId, key, now) => record.get(accountId, key, now),
    message(accountId, id) {
      const row = messageById.get(id);
      return row === null || row.accountId !== accountId ? null : messageOf(row);
    },
    messageById(id) {
      const row = messageById.get(id);
      return row === null ? null : messageOf(row);
    },
    messageForDelivery(id) {
      const row = messageById.get(id);
      const body = row === null ? null : contentOf(row.seq);
      return row === null || body === null ? null : { message: messageOf(row), body };
    },
    recipients: (messageId) => recipients.all(messageId),
    recipientById: (id) => recipientById.get(id),
    attempts: (messageId) => attempts.all(messageId).map(attemptOf),
    events: (messageId) => events.all(messageId),
    body(accountId, id) {
      const row = messageById.get(id);
      return row === null || row.accountId !== accountId ? null : { body: contentOf(row.seq) };
    },
    emails(accountId, filter) {
      const range = rangeOf(filter, (id) => seqAt.get(id)?.seq ?? 0);
      const limit = filter.limit + 1;
      const found =
        filter.q === null || filter.q === ''
          ? rows(accountId, filter.status, range, limit)
          : search(accountId, filter.status, range, limit, filter.q);
      return pageOf(found, filter, messageOf);
    },
    emailsByPage: (accountId, page, limit) =>
      byPage.all(accountId, limit, (page - 1) * limit).map(messageOf),
  };
}
