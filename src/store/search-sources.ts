/**
 * What the substring index holds of each source: which text, and which exact values as marks.
 *
 * Readers compare hits with the same text, so that index and scan can not differ. Holds no state.
 */
import type { MessageRow } from './columns.ts';
import { fold, markOf } from './grams.ts';
import type { Source } from './search-index.ts';

/** A message's searched text: subject, sender and the `to` addresses. */
export function messageText(row: Pick<MessageRow, 'subject' | 'sender' | 'toList'>): string {
  const to = (JSON.parse(row.toList) as string[]).join('\n');
  return fold(`${row.subject}\n${row.sender}\n${to}`);
}

export const statusClass = (status: number): number => Math.floor(status / 100);

/** A row on its way into the index. */
export interface IndexedRow {
  seq: number;
  id: string;
  marks: string[];
  text: string;
}

export interface SearchSource {
  source: Source;
  /** Which file it is in. */
  file: 'mail' | 'log';
  /** Rows after a `seq`, in order, at most so many. */
  select: string;
  /** The id of the row at a `seq`. */
  selectId: string;
  /** The last `seq` there is; null when there are no rows. */
  selectLast: string;
  /** The first `seq` there is, where retention deletes rows; their entries go too then. */
  selectFirst: string | null;
  shape(row: never): Omit<IndexedRow, 'seq' | 'id'>;
}

export const SEARCH_SOURCES: readonly SearchSource[] = [
  {
    source: 'email',
    file: 'mail',
    select:
      'SELECT seq, id, account_id AS accountId, subject, sender, to_list AS toList FROM messages' +
      ' WHERE seq > ? ORDER BY seq LIMIT ?',
    selectId: 'SELECT id FROM messages WHERE seq = ?',
    selectLast: 'SELECT max(seq) AS seq FROM messages',
    selectFirst: null,
    shape: (row: MessageRow) => ({
      marks: [markOf('account', row.accountId)],
      text: messageText(row),
    }),
  },
  {
    source: 'suppression',
    file: 'mail',
    select:
      'SELECT seq, id, account_id AS accountId, email FROM suppressions WHERE seq > ? ORDER BY seq LIMIT ?',
    selectId: 'SELECT id FROM suppressions WHERE seq = ?',
    selectLast: 'SELECT max(seq) AS seq FROM suppressions',
    selectFirst: null,
    shape: (row: { accountId: string; email: string }) => ({
      marks: [markOf('account', row.accountId)],
      text: fold(row.email),
    }),
  },
  {
    source: 'log',
    file: 'log',
    select:
      'SELECT seq, id, account_id AS accountId, method, status, path FROM logs' +
      ' WHERE seq > ? ORDER BY seq LIMIT ?',
    selectId: 'SELECT id FROM logs WHERE seq = ?',
    selectLast: 'SELECT max(seq) AS seq FROM logs',
    selectFirst: 'SELECT min(seq) AS seq FROM logs',
    shape: (row: { accountId: string; method: string; status: number; path: string }) => ({
      marks: [
        markOf('account', row.accountId),
        markOf('method', row.method),
        markOf('status', row.status),
        markOf('class', statusClass(row.status)),
      ],
      text: fold(row.path),
    }),
  },
];
