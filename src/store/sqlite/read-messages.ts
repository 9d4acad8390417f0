/**
 * Reads of a message with its content, which stands under the message's row number.
 *
 * Promises null for another account's message, as for none. What else is read of one message stands in
 * `sql/messages.ts`, lists in `read-emails.ts`.
 */
import type { Database } from 'bun:sqlite';
import type { ForDelivery, JourneyStore } from '../journey.ts';
import { headersOf } from '../json-columns.ts';
import type { MessageStore } from '../messages.ts';
import type { Attachment, ContentSizes, ListedAttachment } from '../rows.ts';
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

type ContentVerbs = Pick<MessageStore, 'body' | 'contentSizes' | 'listedBody'>;

export interface DeliveryVerbs extends Pick<JourneyStore, 'messageForDelivery'> {
  /** `large`: its texts or its attachments have `largeFrom` bytes or more, and were not read. */
  deliveryBelow(this: void, id: string, largeFrom: number): ForDelivery | 'large' | null;
}

// Lengths in bytes stand in the head of a row: nothing of the content is read for them.
const BODY_BYTES =
  'coalesce(octet_length(html), 0) + coalesce(octet_length(text), 0) + coalesce(octet_length(raw), 0)';
const MESSAGE_BY_ID = SELECT_LISTED_MESSAGE + ' WHERE id = ?';
const BODY_OF = 'SELECT html, text, headers, raw FROM bodies WHERE message_seq = ?';

/** The verbs over a reading connection; statements are prepared once, here. */
export function contentReads(db: Database): ContentVerbs {
  const messageById = db.prepare<ListedMessageRow, [string]>(MESSAGE_BY_ID);
  const bodyOf = db.prepare<BodyRow, [number]>(BODY_OF);
  const attachmentsOf = db.prepare<Attachment, [number]>(attachmentsOfMessage('content'));
  const listedOf = db.prepare<ListedAttachment, [number]>(
    attachmentsOfMessage('length(content) AS size'),
  );
  const sizesOf = db.prepare<ContentSizes, [number]>(
    'SELECT ' +
      BODY_BYTES +
      ' AS body,' +
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

/** What attempts read, likewise. */
export function deliveryReads(db: Database): DeliveryVerbs {
  const messageById = db.prepare<ListedMessageRow, [string]>(MESSAGE_BY_ID);
  const bodyBelow = db.prepare<BodyRow, [number, number]>(BODY_OF + ' AND ' + BODY_BYTES + ' < ?');
  const attachmentsOf = db.prepare<Attachment, [number]>(attachmentsOfMessage('content'));
  const listedOf = db.prepare<ListedAttachment, [number]>(
    attachmentsOfMessage('length(content) AS size'),
  );
  const deliveryBelow: DeliveryVerbs['deliveryBelow'] = (id, largeFrom) => {
    const row = messageById.get(id);
    if (row === null) return null;
    const body = bodyBelow.get(row.seq, largeFrom);
    // Gone, or large: whoever reads it at any length sees which.
    if (body === null) return 'large';
    const listed = listedOf.all(row.seq);
    if (listed.reduce((sum, { size }) => sum + size, 0) >= largeFrom) return 'large';
    const attachments = listed.length === 0 ? [] : attachmentsOf.all(row.seq);
    return {
      message: messageOf(row),
      body: { ...body, headers: headersOf(body.headers), attachments },
    };
  };
  return {
    deliveryBelow,
    async messageForDelivery(id) {
      const found = deliveryBelow(id, Number.MAX_SAFE_INTEGER);
      return found === 'large' ? null : found;
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
