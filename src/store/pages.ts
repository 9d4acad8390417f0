/**
 * A page of a list by cursor, as every list of the store takes and gives it.
 *
 * Holds only types. A cursor names a row; it stays good when rows come and go around it.
 */

/** Rows newest first, after the row `after`; `before` pages the other way. At most one of the two is set. */
export interface Page {
  limit: number;
  after: string | null;
  before: string | null;
}

export interface PageOf<T> {
  rows: T[];
  /** Whether there are more rows in the direction of the page. */
  hasMore: boolean;
}
