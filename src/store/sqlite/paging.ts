/**
 * Pages by cursor, for every list that runs newest first.
 *
 * Promises that `after` and `before` never repeat the row they name. A list is asked for one row more
 * than a page holds; that row says whether there are more.
 */
import type { Page, PageOf } from '../pages.ts';

/** The open interval of positions that a page lies in, and whether it is read from its old end. */
export interface Range {
  above: number;
  below: number;
  isForward: boolean;
}

/** `positionOf` gives the position of a cursor's row, or one between those of its neighbours when it has gone. */
export function rangeOf(page: Page, positionOf: (cursor: string) => number): Range {
  return {
    above: page.before === null ? 0 : positionOf(page.before),
    below: page.after === null ? Number.MAX_SAFE_INTEGER : positionOf(page.after),
    isForward: page.before !== null,
  };
}

/** For `rangeOf`: the position from the row of the cursor `id`, or from the next older one when that has gone. */
export function seqOfCursor(
  id: string,
  upTo: { seq: number; id: string } | null,
  { after }: Page,
): number {
  if (upTo === null) return 0;
  return after !== null && upTo.id !== id ? upTo.seq + 1 : upTo.seq;
}

/** Cuts `rows` (up to `limit + 1`, nearest to the cursor first) to a page, newest first. */
export function pageOf<Row, T>(rows: Row[], page: Page, shape: (row: Row) => T): PageOf<T> {
  const hasMore = rows.length > page.limit;
  const kept = hasMore ? rows.slice(0, page.limit) : rows;
  if (page.before !== null) kept.reverse();
  return { rows: kept.map(shape), hasMore };
}
