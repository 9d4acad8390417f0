/**
 * What the substring index holds of each source: which text, and which exact values as marks.
 *
 * Readers compare hits with the same text, so that index and scan cannot differ. Holds no state.
 */
import type { Database, Statement } from 'bun:sqlite';
import type { MessageRow } from '../sql/columns.ts';
import { fold } from './grams.ts';
import type { MarkOf } from './grams.ts';
import { stringsOf } from '../json-columns.ts';
import type { Source } from './search-index.ts';

type MessageTexts = Pick<MessageRow, 'subject' | 'sender' | 'toList'>;

/** A message's searched text: subject, sender and the `to` addresses. */
export function messageText(row: MessageTexts): string {
  return fold(`${row.subject}\n${row.sender}\n${stringsOf(row.toList).join('\n')}`);
}

export const statusClass = (status: number): number => Math.floor(status / 100);

/** A row on its way into the index. */
export interface IndexedRow {
  seq: number;
  id: string;
  marks: string[];
  text: string;
}

/** The rows after a `seq`, in order, at most `limit`. */
export type RowsAfter = (seq: number, limit: number) => IndexedRow[];

export interface SearchSource {
  source: Source;
  /** Which file it is in. */
  file: 'mail' | 'log';
  /** Prepares the reading of rows over a connection to that file. */
  rowsAfter(file: Database, markOf: MarkOf): RowsAfter;
  /** The id of the row at a `seq`. */
  selectId: string;
  /** The last `seq` there is; null when there are no rows. */
  selectLast: string;
  /** The first `seq` there is, where retention deletes rows; their entries go too then. */
  selectFirst: string | null;
}

/** `prepare`: a SELECT that takes a `seq` and a limit. `shape`: what of its row is searched. */
function reading<R extends Row>(
  prepare: (file: Database) => Statement<R, [number, number]>,
  shape: (row: R, markOf: MarkOf) => Pick<IndexedRow, 'marks' | 'text'>,
): SearchSource['rowsAfter'] {
  return (file, markOf) => {
    const statement = prepare(file);
    return (after, limit) =>
      statement.all(after, limit).map((row) => {
        const { marks, text } = shape(row, markOf);
        return {
          seq: row.seq,
          id: row.id,
          marks: [markOf('account', row.accountId), ...marks],
          text,
        };
      });
  };
}

/** What every source's row brings. */
interface Row {
  seq: number;
  id: string;
  accountId: string;
}

export const SEARCH_SOURCES: readonly SearchSource[] = [
  {
    source: 'email',
    file: 'mail',
    rowsAfter: reading(
      (file) =>
        file.prepare<Row & MessageTexts, [number, number]>(
          'SELECT seq, id, account_id AS accountId, subject, sender, to_list AS toList FROM messages' +
            ' WHERE seq > ? ORDER BY seq LIMIT ?',
        ),
      (row) => ({ marks: [], text: messageText(row) }),
    ),
    selectId: 'SELECT id FROM messages WHERE seq = ?',
    selectLast: 'SELECT max(seq) AS seq FROM messages',
    selectFirst: null,
  },
  {
    source: 'suppression',
    file: 'mail',
    rowsAfter: reading(
      (file) =>
        file.prepare<Row & { email: string }, [number, number]>(
          'SELECT seq, id, account_id AS accountId, email FROM suppressions WHERE seq > ? ORDER BY seq LIMIT ?',
        ),
      (row) => ({ marks: [], text: fold(row.email) }),
    ),
    selectId: 'SELECT id FROM suppressions WHERE seq = ?',
    selectLast: 'SELECT max(seq) AS seq FROM suppressions',
    selectFirst: null,
  },
  {
    source: 'log',
    file: 'log',
    rowsAfter: reading(
      (file) =>
        file.prepare<Row & { method: string; status: number; path: string }, [number, number]>(
          'SELECT seq, id, account_id AS accountId, method, status, path FROM logs' +
            ' WHERE seq > ? ORDER BY seq LIMIT ?',
        ),
      (row, markOf) => ({
        marks: [
          markOf('method', row.method),
          markOf('status', row.status),
          markOf('class', statusClass(row.status)),
        ],
        text: fold(row.path),
      }),
    ),
    selectId: 'SELECT id FROM logs WHERE seq = ?',
    selectLast: 'SELECT max(seq) AS seq FROM logs',
    selectFirst: 'SELECT min(seq) AS seq FROM logs',
  },
];
