/**
 * A page of a list by cursor, as every long list of the store takes and gives it, and a part of one that is also read whole.
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

/**
 * A part of a list by rising id: the first `limit` rows after the one with the id `after`, or the last ones before
 * `before`. At most one of the two is set.
 */
export interface ListPart {
  limit: number;
  after?: string | undefined;
  before?: string | undefined;
}
