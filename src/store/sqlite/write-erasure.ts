/**
 * Erasing one address from the mail file and the log file, a step at a time.
 *
 * Promises that a step looks at no more than `limit` rows, that the bytes of content are given back to its account, and
 * that the newest message of all keeps its row, emptied, since row ids go on from it. Never touches waiting mail.
 */
import type { Database } from 'bun:sqlite';
import { ERASED_SUBJECT, erasureOf, isNamedIn, listWithout } from '../erased-address.ts';
import { stringsOf } from '../json-columns.ts';
import type { StoredBytes } from './stored-bytes.ts';
import type { ConfirmedPosition, LogWrites, Writes } from './verbs.ts';
import { contentDrop, messageDrop } from './write-retention.ts';

/** Messages that one step removes or changes; their content may be large. */
export const MOST_ERASED = 50;

interface Hit {
  id: string;
  messageId: string;
  address: string;
}

interface Found {
  seq: number;
  id: string;
  accountId: string;
  isOpen: number;
  isLast: number;
  others: number;
  toList: string;
  ccList: string;
  bccList: string;
  replyToList: string;
}

export function erasureWrites(
  db: Database,
  stored: StoredBytes,
): Pick<Writes, 'eraseStep' | 'eraseConfirmedStep' | 'eraseSuppressionsStep'> {
  const scan = db.prepare<Hit, [string, number]>(
    'SELECT id, message_id AS messageId, address FROM recipients WHERE id > ? ORDER BY id LIMIT ?',
  );
  const find = db.prepare<Found, [string, string]>(
    'SELECT seq, id, account_id AS accountId, to_list AS toList, cc_list AS ccList, bcc_list AS bccList,' +
      ' reply_to_list AS replyToList, seq = (SELECT max(seq) FROM messages) AS isLast,' +
      ' EXISTS (SELECT 1 FROM recipients WHERE message_id = ?1 AND next_attempt_at IS NOT NULL) AS isOpen,' +
      ' (SELECT count(*) FROM recipients WHERE message_id = ?1 AND lower(address) <> ?2) AS others' +
      ' FROM messages WHERE id = ?1',
  );
  const dropCalls = db.prepare(
    'DELETE FROM calls WHERE event_id IN (SELECT id FROM events WHERE message_id = ?)',
  );
  const dropMessage = messageDrop(db, stored);
  const takeOut = recipientTakeOut(db, stored);
  return {
    eraseStep(address, accountId, after, limit) {
      const step = { messages: 0, shared: 0, waiting: 0, next: null as string | null };
      const rows = scan.all(after, limit);
      for (const hit of rows) {
        if (hit.address.toLowerCase() !== address) continue;
        const found = find.get(hit.messageId, address);
        // Gone with another recipient of the same address, or another account's.
        if (found === null || (accountId !== null && found.accountId !== accountId)) continue;
        const erasure = erasureOf(found.isOpen === 1, found.others, found.isLast === 0);
        if (erasure === 'waits') {
          step.waiting += 1;
        } else if (erasure === 'goes') {
          dropCalls.run(found.id);
          dropMessage(found);
          step.messages += 1;
        } else {
          takeOut(found, hit.id, address);
          step.shared += 1;
        }
        if (step.messages + step.shared === MOST_ERASED) return { ...step, next: hit.id };
      }
      if (rows.length === limit) step.next = rows.at(-1)?.id ?? null;
      return step;
    },
    eraseConfirmedStep: confirmedErasure(db),
    eraseSuppressionsStep: suppressionErasure(db),
  };
}

/** Takes one recipient out of a message that stays: its rows, its address, and the content, which may name it. */
function recipientTakeOut(
  db: Database,
  stored: StoredBytes,
): (found: Found, recipientId: string, address: string) => void {
  const dropContent = contentDrop(db, stored);
  const dropRows = [
    'DELETE FROM calls WHERE event_id IN (SELECT id FROM events WHERE message_id = ? AND recipient_id = ?)',
    'DELETE FROM events WHERE message_id = ? AND recipient_id = ?',
    'DELETE FROM attempts WHERE message_id = ? AND recipient_id = ?',
    'DELETE FROM recipients WHERE message_id = ? AND id = ?',
  ].map((sql) => db.prepare(sql));
  const rewrite = db.prepare(
    'UPDATE messages SET to_list = ?, cc_list = ?, bcc_list = ?, reply_to_list = ?, subject = ?,' +
      ' failure_reason = NULL, event_headers = NULL WHERE seq = ?',
  );
  return (found, recipientId, address) => {
    dropContent(found.seq, found.accountId);
    for (const statement of dropRows) statement.run(found.id, recipientId);
    const { toList, ccList, bccList, replyToList, seq } = found;
    const lists = [toList, ccList, bccList, replyToList].map((list) =>
      JSON.stringify(listWithout(stringsOf(list), address)),
    );
    const [to = '[]', cc = '[]', bcc = '[]', replyTo = '[]'] = lists;
    rewrite.run(to, cc, bcc, replyTo, ERASED_SUBJECT, seq);
  };
}

function confirmedErasure(db: Database): Writes['eraseConfirmedStep'] {
  const scan = db.prepare<ConfirmedPosition, [string, string, number]>(
    'SELECT account_id AS accountId, email FROM confirmed_recipients WHERE (account_id, email) > (?, ?)' +
      ' ORDER BY account_id, email LIMIT ?',
  );
  const drop = db.prepare('DELETE FROM confirmed_recipients WHERE account_id = ? AND email = ?');
  return (address, accountId, after, limit) => {
    const rows = scan.all(after.accountId, after.email, limit);
    let removed = 0;
    for (const { accountId: owner, email } of rows) {
      if (accountId !== null && owner !== accountId) continue;
      if (email.toLowerCase() === address) removed += drop.run(owner, email).changes;
    }
    return { removed, next: rows.length < limit ? null : (rows.at(-1) ?? null) };
  };
}

function suppressionErasure(db: Database): Writes['eraseSuppressionsStep'] {
  const IS_MEANT =
    ' WHERE seq > ?1 AND seq <= ?2 AND lower(email) = ?3 AND (?4 IS NULL OR account_id = ?4)';
  const last = db.prepare<{ seq: number | null }, []>('SELECT max(seq) AS seq FROM suppressions');
  const empty = db.prepare(
    'UPDATE suppressions NOT INDEXED SET note = NULL, source = NULL' +
      IS_MEANT +
      ' AND removed_at IS NULL',
  );
  const drop = db.prepare(
    'DELETE FROM suppressions NOT INDEXED' + IS_MEANT + ' AND removed_at IS NOT NULL AND seq < ?5',
  );
  return (address, accountId, after, limit) => {
    const newest = last.get()?.seq ?? 0;
    const until = after + limit;
    drop.run(after, until, address, accountId, newest);
    const kept = empty.run(after, until, address, accountId).changes;
    return { kept, next: until < newest ? until : null };
  };
}

/** Rows of the request log that name the address, as it is or percent-encoded. */
export function logErasure(db: Database): Pick<LogWrites, 'eraseLogsStep'> {
  const scan = db.prepare<{ seq: number; accountId: string; text: string }, [number, number]>(
    'SELECT seq, account_id AS accountId,' +
      " path || ' ' || ifnull(request_body, '') || ' ' || ifnull(response_body, '') AS text" +
      ' FROM logs WHERE seq > ? ORDER BY seq LIMIT ?',
  );
  const drop = db.prepare('DELETE FROM logs WHERE seq = ?');
  return {
    eraseLogsStep(address, accountId, after, limit) {
      const rows = scan.all(after, limit);
      let removed = 0;
      for (const { seq, accountId: owner, text } of rows) {
        if (accountId !== null && owner !== accountId) continue;
        if (isNamedIn(text, address)) removed += drop.run(seq).changes;
      }
      return { removed, next: rows.length < limit ? null : (rows.at(-1)?.seq ?? null) };
    },
  };
}
