/**
 * Reads of a message with its content, which stands under the message's row number.
 *
 * Promises null for another account's message, as for none. What else is read of one message stands in
 * `sql/messages.ts`, lists in `read-emails.ts`.
 */
import type { Database } from 'bun:sqlite';
import type { JourneyStore } from '../journey.ts';
import { headersOf } from '../json-columns.ts';
import type { MessageStore } from '../messages.ts';
import type { Attachment, Body, ContentSizes, ListedAttachment } from '../rows.ts';
import { messageOf } from '../sql/columns.ts';
import { SELECT_LISTED_MESSAGE } from './listed-columns.ts';
import type { ListedMessageRow } from './listed-columns.ts';
import { POSITION } from './positions.ts';

interface BodyRow {
  html: string | null;
  text: string | null;
  headers: string | null;
  raw: Uint8Array | null;
}

type ContentVerbs = Pick<JourneyStore, 'messageForDelivery'> &
  Pick<MessageStore, 'body' | 'contentSizes' | 'listedBody'>;

/** The verbs over a reading connection; statements are prepared once, here. */
export function contentReads(db: Database): ContentVerbs {
  const messageById = db.prepare<ListedMessageRow, [string]>(
    SELECT_LISTED_MESSAGE + ' WHERE id = ?',
  );
  const bodyOf = db.prepare<BodyRow, [number]>(
    'SELECT html, text, headers, raw FROM bodies WHERE message_seq = ?',
  );
  const attachmentsOf = db.prepare<Attachment, [number]>(attachmentsOfMessage('content'));
  const listedOf = db.prepare<ListedAttachment, [number]>(
    attachmentsOfMessage('length(content) AS size'),
  );
  // Lengths in bytes stand in the head of a row: nothing of the content is read for them.
  const sizesOf = db.prepare<ContentSizes, [number]>(
    'SELECT coalesce(octet_length(html), 0) + coalesce(octet_length(text), 0)' +
      ' + coalesce(octet_length(raw), 0) AS body,' +
      ' (SELECT coalesce(sum(length(content)), 0) FROM attachments' +
      ' WHERE attachments.message_seq = bodies.message_seq) AS attachments' +
      ' FROM bodies WHERE message_seq = ?',
  );
  const contentOf = <T>(seq: number, attachments: { all(seq: number): T[] }) => {
    const row = bodyOf.get(seq);
    if (row === null) return null;
    return { ...row, headers: headersOf(row.headers), attachments: attachments.all(seq) };
  };
  const seqOf = (accountId: string, id: string): number | null => {
    const row = messageById.get(id);
    return row === null || row.accountId !== accountId ? null : row.seq;
  };
  return {
    async messageForDelivery(id) {
      const row = messageById.get(id);
      const body: Body | null = row === null ? null : contentOf(row.seq, attachmentsOf);
      return row === null || body === null ? null : { message: messageOf(row), body };
    },
    async body(accountId, id) {
      const seq = seqOf(accountId, id);
      return seq === null ? null : { body: contentOf(seq, attachmentsOf) };
    },
    async listedBody(accountId, id) {
      const seq = seqOf(accountId, id);
      return seq === null ? null : { body: contentOf(seq, listedOf) };
    },
    async contentSizes(accountId, id) {
      const seq = seqOf(accountId, id);
      return seq === null ? null : sizesOf.get(seq);
    },
  };
}

function attachmentsOfMessage(content: string): string {
  return (
    'SELECT filename, content_type AS contentType, content_id AS contentId, ' +
    content +
    ' FROM attachments WHERE message_seq = ? ORDER BY ' +
    POSITION
  );
}
