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
import type { Attachment, Body } from '../rows.ts';
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

/** The verbs over a reading connection; statements are prepared once, here. */
export function contentReads(
  db: Database,
): Pick<JourneyStore, 'messageForDelivery'> & Pick<MessageStore, 'body'> {
  const messageById = db.prepare<ListedMessageRow, [string]>(
    SELECT_LISTED_MESSAGE + ' WHERE id = ?',
  );
  const bodyOf = db.prepare<BodyRow, [number]>(
    'SELECT html, text, headers, raw FROM bodies WHERE message_seq = ?',
  );
  const attachmentsOf = db.prepare<Attachment, [number]>(
    'SELECT filename, content_type AS contentType, content_id AS contentId, content' +
      ' FROM attachments WHERE message_seq = ? ORDER BY ' +
      POSITION,
  );
  const contentOf = (seq: number): Body | null => {
    const row = bodyOf.get(seq);
    if (row === null) return null;
    return { ...row, headers: headersOf(row.headers), attachments: attachmentsOf.all(seq) };
  };
  return {
    async messageForDelivery(id) {
      const row = messageById.get(id);
      const body = row === null ? null : contentOf(row.seq);
      return row === null || body === null ? null : { message: messageOf(row), body };
    },
    async body(accountId, id) {
      const row = messageById.get(id);
      return row === null || row.accountId !== accountId ? null : { body: contentOf(row.seq) };
    },
  };
}
