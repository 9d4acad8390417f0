/**
 * The lists of messages that sandbox keys sent: by cursor, by page number, by status, by substring.
 *
 * Promises that no live message is in any of them, and the order of `read-emails.ts`: newest first in commit order.
 * Reads by indexes that hold sandbox messages only, so that it costs the same beside a million live ones.
 */
import type { Database } from 'bun:sqlite';
import { messageOf } from '../sql/columns.ts';
import { SELECT_LISTED_MESSAGE } from './listed-columns.ts';
import type { ListedMessageRow } from './listed-columns.ts';
import { readingTogether } from './database.ts';
import type { ReadTogether } from './database.ts';
import { fold, markOf } from './grams.ts';
import { pageOf, rangeOf, seqOfCursor } from './paging.ts';
import type { Range } from './paging.ts';
import { SearchReader } from './search-index.ts';
import { scanRows, searchRows } from './search-rows.ts';
import type { Searched } from './search-rows.ts';
import { messageText } from './search-sources.ts';
import type { EmailFilter } from '../messages.ts';
import type { PageOf } from '../pages.ts';
import type { Message } from '../rows.ts';

/** With at most this many rows they are looked through: the index also holds every live message. */
const FEW_ROWS = 2000;
const OF_SANDBOX = ' WHERE account_id = ? AND is_sandbox = 1';

/** The lists over reading connections to the mail and the search file. */
export class SandboxEmails {
  readonly #index: SearchReader;
  readonly #together: ReadTogether;
  readonly #upTo;
  readonly #page;
  readonly #older;
  readonly #newer;
  readonly #olderOf;
  readonly #newerOf;
  readonly #count;
  readonly #bySeq;

  constructor(mail: Database, search: Database) {
    this.#index = new SearchReader(search, 'email');
    this.#together = readingTogether(mail);
    this.#upTo = mail.prepare<{ seq: number; id: string }, [string]>(
      'SELECT seq, id FROM messages WHERE id <= ? ORDER BY id DESC LIMIT 1',
    );
    // The rows of earlier pages are skipped in the index alone.
    this.#page = mail.prepare<ListedMessageRow, [string, number, number]>(
      SELECT_LISTED_MESSAGE +
        ' WHERE seq IN (SELECT seq FROM messages' +
        OF_SANDBOX +
        ' ORDER BY seq DESC LIMIT ? OFFSET ?) ORDER BY seq DESC',
    );
    const within = ' AND seq > ? AND seq < ? ORDER BY seq';
    const all = SELECT_LISTED_MESSAGE + OF_SANDBOX + within;
    type BySeq = [string, number, number, number];
    this.#older = mail.prepare<ListedMessageRow, BySeq>(all + ' DESC LIMIT ?');
    this.#newer = mail.prepare<ListedMessageRow, BySeq>(all + ' LIMIT ?');
    const ofStatus = SELECT_LISTED_MESSAGE + OF_SANDBOX + ' AND status = ?' + within;
    type ByStatus = [string, string, number, number, number];
    this.#olderOf = mail.prepare<ListedMessageRow, ByStatus>(ofStatus + ' DESC LIMIT ?');
    this.#newerOf = mail.prepare<ListedMessageRow, ByStatus>(ofStatus + ' LIMIT ?');
    this.#count = mail.prepare<{ count: number }, [string, number]>(
      'SELECT count(*) AS count FROM (SELECT 1 FROM messages' + OF_SANDBOX + ' LIMIT ?)',
    );
    this.#bySeq = mail.prepare<ListedMessageRow, [number, string]>(
      SELECT_LISTED_MESSAGE + ' WHERE seq = ? AND account_id = ? AND is_sandbox = 1',
    );
  }

  async emails(accountId: string, filter: EmailFilter): Promise<PageOf<Message>> {
    const range = rangeOf(filter, (id) => seqOfCursor(id, this.#upTo.get(id), filter));
    const wanted = filter.limit + 1;
    const text = fold(filter.q ?? '');
    const rows =
      text === ''
        ? this.#rows(accountId, filter, range, wanted)
        : await this.#search(accountId, filter, text, range, wanted);
    return pageOf(rows, filter, messageOf);
  }

  /** The older list: pages from 1, newest first. */
  byPage(accountId: string, page: number, limit: number): Message[] {
    return this.#page.all(accountId, limit, (page - 1) * limit).map(messageOf);
  }

  #rows(
    accountId: string,
    { status }: EmailFilter,
    range: Range,
    limit: number,
  ): ListedMessageRow[] {
    const { above, below, isForward } = range;
    if (status === null) {
      return (isForward ? this.#newer : this.#older).all(accountId, above, below, limit);
    }
    const list = isForward ? this.#newerOf : this.#olderOf;
    return list.all(accountId, status, above, below, limit);
  }

  async #search(
    accountId: string,
    filter: EmailFilter,
    text: string,
    range: Range,
    wanted: number,
  ): Promise<ListedMessageRow[]> {
    const isMatch = (row: ListedMessageRow): boolean =>
      (filter.status === null || row.status === filter.status) && messageText(row).includes(text);
    const searched: Searched<ListedMessageRow> = {
      index: this.#index,
      marks: [markOf('account', accountId)],
      text,
      scan: (part, limit) => this.#rows(accountId, filter, part, limit),
      matchesAt: (seqs) =>
        this.#together(() =>
          seqs.flatMap((seq) => this.#bySeq.get(seq, accountId) ?? []).filter(isMatch),
        ),
      isMatch,
      seqOf: (row) => row.seq,
    };
    const count = this.#count.get(accountId, FEW_ROWS + 1)?.count ?? 0;
    if (count > FEW_ROWS) return searchRows(searched, range, wanted);
    const found: ListedMessageRow[] = [];
    await scanRows(searched, range, wanted, found);
    return found;
  }
}
