/**
 * The lists of messages: by cursor, by page number, by status, by substring.
 *
 * Promises newest first in commit order, so that a page read later neither repeats nor skips a row. A
 * cursor is a message's id. Every page is found by position, however deep it is. Never reads content.
 */
import type { Database } from 'bun:sqlite';
import type { MessageStatus } from '../../base/status.ts';
import { messageOf } from '../sql/columns.ts';
import { SELECT_LISTED_MESSAGE } from './listed-columns.ts';
import type { ListedMessageRow } from './listed-columns.ts';
import { readingTogether } from './database.ts';
import type { ReadTogether } from './database.ts';
import { fold, markOf } from './grams.ts';
import { pageOf, rangeOf } from './paging.ts';
import { POSITION } from './positions.ts';
import type { Range } from './paging.ts';
import { SandboxEmails } from './read-sandbox-emails.ts';
import type { Message } from '../rows.ts';
import { SearchReader } from './search-index.ts';
import { scanRows, searchRows } from './search-rows.ts';
import type { Searched } from './search-rows.ts';
import { messageText } from './search-sources.ts';
import type { EmailFilter } from '../messages.ts';
import type { PageOf } from '../pages.ts';
import type { Store } from '../store.ts';

/** With at most this many rows of a status, they are looked through instead of the index. */
const FEW_OF_STATUS = 2000;

type SearchedRow = Pick<ListedMessageRow, 'accountId' | 'status' | 'subject' | 'sender' | 'toList'>;

/** Where a message stands: among all messages, and in the list of its account. */
interface Location {
  seq: number;
  position: number;
}

/** The lists over reading connections to the mail and the search file. */
export function emailLists(
  mail: Database,
  search: Database,
): Pick<Store, 'emails' | 'emailsByPage'> {
  const lists = new EmailLists(mail, search);
  const ofSandbox = new SandboxEmails(mail, search);
  return {
    emails: (accountId, filter) =>
      (filter.isSandboxOnly === true ? ofSandbox : lists).emails(accountId, filter),
    emailsByPage: async (accountId, page, limit, isSandboxOnly = false) =>
      (isSandboxOnly ? ofSandbox : lists).byPage(accountId, page, limit),
  };
}

class EmailLists {
  readonly #index: SearchReader;
  readonly #together: ReadTogether;
  readonly #location;
  readonly #seqBefore;
  readonly #seqOfPosition;
  readonly #last;
  readonly #older;
  readonly #newer;
  readonly #olderOf;
  readonly #newerOf;
  readonly #countOf;
  readonly #bySeq;
  readonly #searchedBySeq;
  readonly #seqsOf;

  constructor(mail: Database, search: Database) {
    this.#index = new SearchReader(search, 'email');
    this.#together = readingTogether(mail);
    this.#location = mail.prepare<Location, [string, string]>(
      'SELECT seq, ' + POSITION + ' AS position FROM messages WHERE id = ? AND account_id = ?',
    );
    this.#seqBefore = mail.prepare<{ seq: number }, [string]>(
      'SELECT seq FROM messages WHERE id <= ? ORDER BY id DESC LIMIT 1',
    );
    // Or of the next older row: an erased one leaves a gap.
    this.#seqOfPosition = mail.prepare<{ seq: number }, [string, number]>(
      'SELECT seq FROM messages WHERE account_id = ? AND ' +
        POSITION +
        ' <= ? ORDER BY ' +
        POSITION +
        ' DESC LIMIT 1',
    );
    this.#last = mail.prepare<{ position: number | null }, [string]>(
      'SELECT max(' + POSITION + ') AS position FROM messages WHERE account_id = ?',
    );
    const ofAccount =
      SELECT_LISTED_MESSAGE +
      ' WHERE account_id = ? AND ' +
      POSITION +
      ' > ? AND ' +
      POSITION +
      ' < ?';
    type ByPosition = [string, number, number, number];
    this.#older = mail.prepare<ListedMessageRow, ByPosition>(
      ofAccount + ' ORDER BY ' + POSITION + ' DESC LIMIT ?',
    );
    this.#newer = mail.prepare<ListedMessageRow, ByPosition>(
      ofAccount + ' ORDER BY ' + POSITION + ' LIMIT ?',
    );
    const ofStatus =
      SELECT_LISTED_MESSAGE + ' WHERE account_id = ? AND status = ? AND seq > ? AND seq < ?';
    type ByStatus = [string, string, number, number, number];
    this.#olderOf = mail.prepare<ListedMessageRow, ByStatus>(
      ofStatus + ' ORDER BY seq DESC LIMIT ?',
    );
    this.#newerOf = mail.prepare<ListedMessageRow, ByStatus>(ofStatus + ' ORDER BY seq LIMIT ?');
    this.#countOf = mail.prepare<{ count: number }, [string, string, number]>(
      'SELECT count(*) AS count FROM' +
        ' (SELECT 1 FROM messages WHERE account_id = ? AND status = ? LIMIT ?)',
    );
    this.#bySeq = mail.prepare<ListedMessageRow, [number]>(
      SELECT_LISTED_MESSAGE + ' WHERE seq = ?',
    );
    // Most candidates of a hard query do not match: what they are compared by comes alone.
    this.#searchedBySeq = mail.prepare<SearchedRow, [number]>(
      'SELECT account_id AS accountId, status, subject, sender, to_list AS toList' +
        ' FROM messages WHERE seq = ?',
    );
    this.#seqsOf = mail.prepare<{ seq: number }, [string, string, number, number]>(
      'SELECT seq FROM messages WHERE account_id = ? AND status = ? AND seq BETWEEN ? AND ?',
    );
  }

  async emails(accountId: string, filter: EmailFilter): Promise<PageOf<Message>> {
    const wanted = filter.limit + 1;
    const { status } = filter;
    const text = fold(filter.q ?? '');
    if (text === '' && status === null) {
      const range = rangeOf(filter, (id) => this.#positionAt(accountId, id, filter.after !== null));
      return pageOf(this.#ofAccount(accountId, range, wanted), filter, messageOf);
    }
    const range = rangeOf(filter, (id) => this.#seqAt(accountId, id, filter.after !== null));
    const rows =
      text === '' && status !== null
        ? this.#ofStatus(accountId, status, range, wanted)
        : await this.#search(accountId, status, text, range, wanted);
    return pageOf(rows, filter, messageOf);
  }

  /** The older list: pages from 1, newest first. Positions behind the last one name no rows, so nothing is scanned. */
  byPage(accountId: string, page: number, limit: number): Message[] {
    const last = this.#last.get(accountId)?.position ?? 0;
    const below = Math.max(last - (page - 1) * limit + 1, 0);
    return this.#older.all(accountId, Math.max(below - limit - 1, 0), below, limit).map(messageOf);
  }

  /** Rows of a range of positions. */
  #ofAccount(accountId: string, range: Range, limit: number): ListedMessageRow[] {
    const list = range.isForward ? this.#newer : this.#older;
    return list.all(accountId, range.above, range.below, limit);
  }

  #ofStatus(
    accountId: string,
    status: MessageStatus,
    range: Range,
    limit: number,
  ): ListedMessageRow[] {
    const list = range.isForward ? this.#newerOf : this.#olderOf;
    return list.all(accountId, status, range.above, range.below, limit);
  }

  async #search(
    accountId: string,
    status: MessageStatus | null,
    text: string,
    range: Range,
    wanted: number,
  ): Promise<ListedMessageRow[]> {
    const isMatch = (row: SearchedRow): boolean =>
      row.accountId === accountId &&
      (status === null || row.status === status) &&
      messageText(row).includes(text);
    const searched: Searched<ListedMessageRow> = {
      index: this.#index,
      marks: [markOf('account', accountId)],
      text,
      scan: ({ above, below, isForward }, limit) => {
        const positions = {
          above: this.#positionOfSeq(accountId, above),
          below: this.#positionOfSeq(accountId, below - 1) + 1,
          isForward,
        };
        return this.#ofAccount(accountId, positions, limit);
      },
      matchesAt: (seqs) =>
        this.#together(() => {
          const kept = status === null ? seqs : this.#withStatus(accountId, status, seqs);
          return kept.flatMap((seq) => {
            const row = this.#searchedBySeq.get(seq);
            return row !== null && isMatch(row) ? (this.#bySeq.get(seq) ?? []) : [];
          });
        }),
      isMatch,
      seqOf: (row) => row.seq,
    };
    if (status !== null) {
      const count = this.#countOf.get(accountId, status, FEW_OF_STATUS + 1)?.count ?? 0;
      if (count <= FEW_OF_STATUS) {
        const found: ListedMessageRow[] = [];
        const scan = (part: Range, limit: number) => this.#ofStatus(accountId, status, part, limit);
        await scanRows({ ...searched, scan }, range, wanted, found);
        return found;
      }
    }
    return searchRows(searched, range, wanted);
  }

  /** Where candidates lie close together, one walk of the status index spares reading most rows. */
  #withStatus(
    accountId: string,
    status: MessageStatus,
    seqs: readonly number[],
  ): readonly number[] {
    const ends = [seqs[0] ?? 0, seqs.at(-1) ?? 0];
    const lowest = Math.min(...ends);
    const highest = Math.max(...ends);
    if (highest - lowest > seqs.length * 8) return seqs;
    const rows = this.#seqsOf.all(accountId, status, lowest, highest);
    const having = new Set(rows.map(({ seq }) => seq));
    return seqs.filter((seq) => having.has(seq));
  }

  /** An id that names no row of the account, or one that has gone, stands right behind the last row that is older. */
  #seqAt(accountId: string, id: string, isAfter: boolean): number {
    const known = this.#location.get(id, accountId);
    return known?.seq ?? (this.#seqBefore.get(id)?.seq ?? 0) + (isAfter ? 1 : 0);
  }

  #positionAt(accountId: string, id: string, isAfter: boolean): number {
    const known = this.#location.get(id, accountId);
    if (known !== null) return known.position;
    const older = this.#positionOfSeq(accountId, this.#seqBefore.get(id)?.seq ?? 0);
    return older + (isAfter ? 1 : 0);
  }

  /** How many of the account's messages have come up to `seq`. */
  #positionOfSeq(accountId: string, seq: number): number {
    let low = 0;
    let high = this.#last.get(accountId)?.position ?? 0;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((this.#seqOfPosition.get(accountId, middle)?.seq ?? 0) <= seq) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
