/**
 * Reads of the suppression list.
 *
 * Promises newest first; a cursor is an address and holds when its row has been removed since, because
 * removed rows stay. Looks never show a removed row.
 */
import type { Database } from 'bun:sqlite';
import { SELECT_LISTED_SUPPRESSION, SELECT_SUPPRESSION } from './columns.ts';
import type { ListedSuppressionRow, SuppressionRow } from './columns.ts';
import { readingTogether } from './database.ts';
import { fold, markOf } from './grams.ts';
import { pageOf, rangeOf } from './paging.ts';
import type { Range } from './paging.ts';
import type { Suppression } from './rows.ts';
import { SearchReader } from './search-index.ts';
import { searchRows } from './search-rows.ts';
import type { Store } from './store.ts';

/** The verbs over reading connections to the mail and the search file. */
export function suppressionReads(
  mail: Database,
  search: Database,
): Pick<Store, 'suppression' | 'suppressionById' | 'suppressed' | 'suppressions'> {
  const together = readingTogether(mail);
  const index = new SearchReader(search, 'suppression');
  const live = mail.prepare<SuppressionRow, [string, string]>(
    SELECT_SUPPRESSION + ' WHERE account_id = ? AND email = ? AND removed_at IS NULL',
  );
  const byId = mail.prepare<SuppressionRow, [string, string]>(
    SELECT_SUPPRESSION + ' WHERE id = ? AND account_id = ? AND removed_at IS NULL',
  );
  const seqOf = mail.prepare<{ seq: number }, [string, string]>(
    'SELECT seq FROM suppressions WHERE account_id = ? AND email = ?',
  );
  const LIVE = SELECT_LISTED_SUPPRESSION + ' WHERE account_id = ? AND removed_at IS NULL';
  const older = mail.prepare<ListedSuppressionRow, [string, number, number, number]>(
    LIVE + ' AND seq > ? AND seq < ? ORDER BY seq DESC LIMIT ?',
  );
  const newer = mail.prepare<ListedSuppressionRow, [string, number, number, number]>(
    LIVE + ' AND seq > ? AND seq < ? ORDER BY seq LIMIT ?',
  );
  const bySeq = mail.prepare<ListedSuppressionRow, [number]>(
    SELECT_LISTED_SUPPRESSION + ' WHERE seq = ? AND removed_at IS NULL',
  );

  const rows = (accountId: string, range: Range, limit: number): ListedSuppressionRow[] =>
    (range.isForward ? newer : older).all(accountId, range.above, range.below, limit);

  const findText = (accountId: string, text: string, range: Range, wanted: number) => {
    const isMatch = (row: ListedSuppressionRow): boolean =>
      row.accountId === accountId && fold(row.email).includes(text);
    return searchRows<ListedSuppressionRow>(
      {
        index,
        marks: [markOf('account', accountId)],
        text,
        scan: (part, limit) => rows(accountId, part, limit),
        matchesAt: (seqs) =>
          together(() => seqs.flatMap((seq) => bySeq.get(seq) ?? []).filter(isMatch)),
        isMatch,
        seqOf: (row) => row.seq,
      },
      range,
      wanted,
    );
  };

  return {
    suppression: async (accountId, email) => live.get(accountId, email),
    suppressionById: async (accountId, id) => byId.get(id, accountId),
    async suppressed(accountId, emails) {
      const found = new Map<string, Suppression>();
      for (const email of emails) {
        const row = live.get(accountId, email);
        if (row !== null) found.set(email, row);
      }
      return found;
    },
    async suppressions(accountId, q, page) {
      // An address that never was in the list says nothing about where to go on: the list ends there.
      const range = rangeOf(page, (email) => seqOf.get(accountId, email)?.seq ?? 0);
      const text = fold(q ?? '');
      const wanted = page.limit + 1;
      const found =
        text === ''
          ? rows(accountId, range, wanted)
          : await findText(accountId, text, range, wanted);
      return pageOf(found, page, withoutSeq);
    },
  };
}

const withoutSeq = ({ seq: _seq, ...row }: ListedSuppressionRow): Suppression => row;
