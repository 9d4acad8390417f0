/**
 * The pages of the suppression list.
 *
 * Promises newest first; a cursor is an address or an id, and still serves when its row has been removed, because
 * removed rows stay for a while. Never shows a removed row.
 */
import type { Database } from 'bun:sqlite';
import { isId } from '../../base/ids.ts';
import type { SuppressionReason } from '../../base/status.ts';
import type { Page, PageOf } from '../pages.ts';
import type { Suppression } from '../rows.ts';
import type { SuppressionStore } from '../suppressions.ts';
import { SELECT_LISTED_SUPPRESSION } from './listed-columns.ts';
import type { ListedSuppressionRow } from './listed-columns.ts';
import { readingTogether } from './database.ts';
import type { ReadTogether } from './database.ts';
import { fold, markOf } from './grams.ts';
import { pageOf, rangeOf } from './paging.ts';
import type { Range } from './paging.ts';
import { SearchReader } from './search-index.ts';
import { searchRows } from './search-rows.ts';

/** The list over reading connections to the mail and the search file. */
export function suppressionLists(
  mail: Database,
  search: Database,
): Pick<SuppressionStore, 'suppressions'> {
  const list = new SuppressionList(mail, search);
  return {
    suppressions: (accountId, q, page, reason) =>
      list.page(accountId, fold(q ?? ''), page, reason ?? null),
  };
}

/** Whose rows, and with which reason; null for all. */
interface Listed {
  accountId: string;
  reason: SuppressionReason | null;
}

class SuppressionList {
  readonly #index: SearchReader;
  readonly #together: ReadTogether;
  readonly #seqOf;
  readonly #seqOfId;
  readonly #older;
  readonly #newer;
  readonly #olderOf;
  readonly #newerOf;
  readonly #bySeq;

  constructor(mail: Database, search: Database) {
    this.#index = new SearchReader(search, 'suppression');
    this.#together = readingTogether(mail);
    this.#seqOf = mail.prepare<{ seq: number }, [string, string]>(
      'SELECT seq FROM suppressions WHERE account_id = ? AND email = ?',
    );
    this.#seqOfId = mail.prepare<{ seq: number }, [string, string]>(
      'SELECT seq FROM suppressions WHERE account_id = ? AND id = ?',
    );
    const ofAccount =
      SELECT_LISTED_SUPPRESSION +
      ' WHERE account_id = ? AND removed_at IS NULL AND seq > ? AND seq < ?';
    type ByAccount = [string, number, number, number];
    this.#older = mail.prepare<ListedSuppressionRow, ByAccount>(
      ofAccount + ' ORDER BY seq DESC LIMIT ?',
    );
    this.#newer = mail.prepare<ListedSuppressionRow, ByAccount>(
      ofAccount + ' ORDER BY seq LIMIT ?',
    );
    // Left to itself SQLite walks the account's whole list: 256 ms for 10 of a million rows.
    const ofReason =
      SELECT_LISTED_SUPPRESSION +
      ' INDEXED BY suppressions_by_reason WHERE account_id = ? AND reason = ? AND removed_at IS NULL AND seq > ? AND seq < ?';
    type ByReason = [string, string, number, number, number];
    this.#olderOf = mail.prepare<ListedSuppressionRow, ByReason>(
      ofReason + ' ORDER BY seq DESC LIMIT ?',
    );
    this.#newerOf = mail.prepare<ListedSuppressionRow, ByReason>(
      ofReason + ' ORDER BY seq LIMIT ?',
    );
    this.#bySeq = mail.prepare<ListedSuppressionRow, [number]>(
      SELECT_LISTED_SUPPRESSION + ' WHERE seq = ? AND removed_at IS NULL',
    );
  }

  /** `text`: folded, empty for all rows. */
  async page(
    accountId: string,
    text: string,
    page: Page,
    reason: SuppressionReason | null,
  ): Promise<PageOf<Suppression>> {
    // A cursor that never was in the list says nothing about where to go on: the list ends there.
    const range = rangeOf(page, (cursor) => {
      const seqOf = isId(cursor) ? this.#seqOfId : this.#seqOf;
      return seqOf.get(accountId, cursor)?.seq ?? 0;
    });
    const listed = { accountId, reason };
    const wanted = page.limit + 1;
    const found =
      text === ''
        ? this.#rows(listed, range, wanted)
        : await this.#search(listed, text, range, wanted);
    return pageOf(found, page, ({ seq: _seq, ...row }) => row);
  }

  #rows({ accountId, reason }: Listed, range: Range, limit: number): ListedSuppressionRow[] {
    const { above, below, isForward } = range;
    if (reason === null) {
      return (isForward ? this.#newer : this.#older).all(accountId, above, below, limit);
    }
    const list = isForward ? this.#newerOf : this.#olderOf;
    return list.all(accountId, reason, above, below, limit);
  }

  #search(
    listed: Listed,
    text: string,
    range: Range,
    wanted: number,
  ): Promise<ListedSuppressionRow[]> {
    const { accountId, reason } = listed;
    const isMatch = (row: ListedSuppressionRow): boolean =>
      row.accountId === accountId &&
      (reason === null || row.reason === reason) &&
      fold(row.email).includes(text);
    return searchRows<ListedSuppressionRow>(
      {
        index: this.#index,
        marks: [markOf('account', accountId)],
        text,
        scan: (part, limit) => this.#rows(listed, part, limit),
        matchesAt: (seqs) =>
          this.#together(() => seqs.flatMap((seq) => this.#bySeq.get(seq) ?? []).filter(isMatch)),
        isMatch,
        seqOf: (row) => row.seq,
      },
      range,
      wanted,
    );
  }
}
