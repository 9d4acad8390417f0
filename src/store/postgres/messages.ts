/**
 * Reads about one message, and the lists of messages.
 *
 * Promises lists newest first by id; a cursor is a message's id and holds when its row has gone. Ids of several nodes rise
 * with their clocks, so that a row which commits late may slip behind a cursor within the same moment. Never reads content
 * for a list.
 */
import type { JourneyStore } from '../journey.ts';
import type { EmailFilter, MessageStore } from '../messages.ts';
import type { ContentSizes, Recipient } from '../rows.ts';
import { SELECT_MESSAGE, messageOf } from '../sql/columns.ts';
import type { MessageRow } from '../sql/columns.ts';
import { messageReads } from '../sql/messages.ts';
import { contentReads } from './content.ts';
import type { DecodeText } from './content.ts';
import type { Access } from './database.ts';
import { idOrNull } from './ids.ts';
import { listBy } from './lists.ts';
import { sqlReader } from './reader.ts';
import { SELECT_RECIPIENT } from './shapes.ts';
import { part } from './statement.ts';

type MessageVerbs = MessageStore & Pick<JourneyStore, 'idempotencyRecord' | 'messageForDelivery'>;

/** The verbs over the database. */
export function messageVerbs(database: Access, decode: DecodeText): MessageVerbs {
  return { ...singleMessages(database, decode), ...messageLists(database) };
}

function singleMessages(
  database: Access,
  decode: DecodeText,
): Omit<MessageVerbs, 'emails' | 'emailsByPage'> {
  const reads = messageReads(sqlReader(database));
  const { wholeOf, listedOf } = contentReads(database, decode);
  return {
    ...reads,
    async messageForDelivery(id) {
      const [message, body] = await Promise.all([reads.messageById(id), wholeOf(id)]);
      return message === null || body === null ? null : { message, body };
    },
    async body(accountId, id) {
      const message = await reads.message(accountId, id);
      return message === null ? null : { body: await wholeOf(id) };
    },
    async listedBody(accountId, id) {
      const message = await reads.message(accountId, id);
      return message === null ? null : { body: await listedOf(id) };
    },
    // The server knows the lengths of what it stores apart without reading it.
    contentSizes: (accountId, id) =>
      database.first<ContentSizes>(
        part(
          'SELECT coalesce(octet_length(b.html), 0) + coalesce(octet_length(b.text), 0)' +
            ' + coalesce(octet_length(b.raw), 0) AS body,' +
            ' (SELECT coalesce(sum(octet_length(a.content)), 0) FROM attachments AS a' +
            ' WHERE a.message_id = b.message_id) AS attachments' +
            ' FROM bodies AS b JOIN messages AS m ON m.id = b.message_id' +
            ' WHERE b.message_id = $1 AND m.account_id = $2',
          idOrNull(id),
          idOrNull(accountId),
        ),
      ),
    // What changes with each attempt stands in the queue.
    recipients: (messageId) =>
      database.all<Recipient>(
        part(`${SELECT_RECIPIENT} WHERE r.message_id = $1 ORDER BY r.id`, idOrNull(messageId)),
      ),
    recipientById: (id) =>
      database.first<Recipient>(part(`${SELECT_RECIPIENT} WHERE r.id = $1`, idOrNull(id))),
  };
}

function messageLists(database: Access): Pick<MessageStore, 'emails' | 'emailsByPage'> {
  const conditions = (accountId: string, { q, status, isSandboxOnly }: EmailFilter) => [
    part('account_id = $1', idOrNull(accountId)),
    ...(isSandboxOnly === true ? [part('is_sandbox')] : []),
    ...(status === null ? [] : [part('status = $1', status)]),
    ...(q === null || q === ''
      ? []
      : [part('searched LIKE $1', `%${escapeLike(q.toLowerCase())}%`)]),
  ];
  return {
    async emails(accountId, filter) {
      const where = conditions(accountId, filter);
      const page = await listBy<MessageRow>(database, SELECT_MESSAGE, where, filter);
      return { rows: page.rows.map(messageOf), hasMore: page.hasMore };
    },
    async emailsByPage(accountId, page, limit, isSandboxOnly = false) {
      const rows = await database.all<MessageRow>(
        part(
          `${SELECT_MESSAGE} WHERE id IN (SELECT id FROM messages WHERE account_id = $1` +
            `${isSandboxOnly ? ' AND is_sandbox' : ''} ORDER BY id DESC LIMIT $2 OFFSET $3) ORDER BY id DESC`,
          idOrNull(accountId),
          limit,
          (page - 1) * limit,
        ),
      );
      return rows.map(messageOf);
    },
  };
}

/** The text as a pattern of LIKE that matches itself. */
export function escapeLike(text: string): string {
  return text.replaceAll(/[\\%_]/g, String.raw`\$&`);
}
