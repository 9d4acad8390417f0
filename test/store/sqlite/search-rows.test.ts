/** While the index lacks many rows a search looks through so many of them, then says that it cannot, in each direction. */
import { describe, expect, test } from 'bun:test';

import { MOST_UNINDEXED, searchRows } from '../../../src/store/sqlite/search-rows.ts';
import type { Searched } from '../../../src/store/sqlite/search-rows.ts';
import type { Range } from '../../../src/store/sqlite/paging.ts';
import type { SearchReader } from '../../../src/store/sqlite/search-index.ts';
import { errorOf, textOf } from '../../../src/store/sqlite/threads.ts';
import { SearchUnreadyError } from '../../../src/store/store.ts';

/** Rows 1 to `count`, of which the index has the first `indexedTo`; the row `wanted` matches. */
function rowsOf(count: number, indexedTo: number, wanted: number): Searched<number> {
  return {
    index: {
      indexedTo: () => indexedTo,
      candidates: ({ above, below }: Range) => [wanted].filter((seq) => seq > above && seq < below),
    } as unknown as SearchReader,
    marks: [],
    text: 'x',
    scan({ above, below, isForward }, limit) {
      const [first, last] = [above + 1, Math.min(below - 1, count)];
      const length = Math.max(Math.min(limit, last - first + 1), 0);
      return Array.from({ length }, (_, at) => (isForward ? first + at : last - at));
    },
    matchesAt: (seqs) => [...seqs],
    isMatch: (row) => row === wanted,
    seqOf: (row) => row,
  };
}

const NEWEST_FIRST: Range = { above: 0, below: Number.MAX_SAFE_INTEGER, isForward: false };
const OLDEST_FIRST: Range = { ...NEWEST_FIRST, isForward: true };

describe.each([
  ['newest first', NEWEST_FIRST],
  ['oldest first', OLDEST_FIRST],
])('a search, %s', (_, range) => {
  test('looks through as many rows beyond the index as it may', async () => {
    const rows = rowsOf(MOST_UNINDEXED, 0, range.isForward ? MOST_UNINDEXED : 1);
    expect(await searchRows(rows, range, 1)).toEqual([range.isForward ? MOST_UNINDEXED : 1]);
    expect(await searchRows(rows, range, 2)).toHaveLength(1);
  });

  test('fails when there is one more, and it has not found enough', async () => {
    const rows = rowsOf(MOST_UNINDEXED + 1, 0, 0);
    expect(await searchRows(rows, range, 1).catch((error: unknown) => error)).toBeInstanceOf(
      SearchUnreadyError,
    );
  });

  test('finds what lies near, however much the index lacks', async () => {
    const near = range.isForward ? 5 : 9_999_995;
    expect(await searchRows(rowsOf(10_000_000, 0, near), range, 1)).toEqual([near]);
  });

  test('is not refused for rows that the index has', async () => {
    expect(await searchRows(rowsOf(10_000_000, 9_999_990, 77), range, 2)).toEqual([77]);
  });
});

test('the refusal crosses from the thread that searches', () => {
  expect(errorOf(textOf(new SearchUnreadyError()))).toBeInstanceOf(SearchUnreadyError);
});
