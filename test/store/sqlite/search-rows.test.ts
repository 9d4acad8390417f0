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
    const near = range.isForward ? 1 : MOST_UNINDEXED + 1;
    // Nothing at all, or something but fewer than were asked for: such a page would pass for the last one.
    for (const [match, wanted] of [
      [0, 1],
      [near, 2],
    ] as const) {
      const rows = rowsOf(MOST_UNINDEXED + 1, 0, match);
      expect(await searchRows(rows, range, wanted).catch((error: unknown) => error)).toBeInstanceOf(
        SearchUnreadyError,
      );
    }
  });

  test('finds what lies near, however much the index lacks', async () => {
    const near = range.isForward ? 5 : 9_999_995;
    expect(await searchRows(rowsOf(10_000_000, 0, near), range, 1)).toEqual([near]);
  });

  test('is not refused for rows that the index has', async () => {
    expect(await searchRows(rowsOf(10_000_000, 9_999_990, 77), range, 2)).toEqual([77]);
  });
});

/** As many rows, all in the index, of which `isMatch` says which match; and what was asked of the index and of the rows. */
function indexed(count: number, isMatch: (seq: number) => boolean) {
  const asked = { searches: 0, candidates: 0, compared: [] as number[] };
  const rows = rowsOf(count, count, 0);
  rows.isMatch = isMatch;
  rows.index.candidates = function* ({ above, below }) {
    asked.searches += 1;
    for (let seq = Math.min(below - 1, count); seq > above; seq -= 1) {
      asked.candidates += 1;
      yield seq;
    }
  };
  rows.matchesAt = (seqs) => {
    asked.compared.push(seqs.length);
    return seqs.filter(isMatch);
  };
  return { rows, asked };
}

describe('hits of the index', () => {
  test('are compared with their rows in portions that grow from 64 to 1024', async () => {
    const { rows, asked } = indexed(5_000, (seq) => seq === 1);
    expect(await searchRows(rows, NEWEST_FIRST, 1)).toEqual([1]);
    expect(asked.compared).toEqual([64, 128, 256, 512, 1_024, 1_024, 1_024, 968]);
  });

  test.each([
    [64, [64]],
    [65, [64, 128]],
  ])('are read no further than for the %d that are wanted', async (wanted, compared) => {
    const { rows, asked } = indexed(5_000, () => true);
    const found = await searchRows(rows, NEWEST_FIRST, wanted);
    expect(found).toEqual(Array.from({ length: wanted }, (_, at) => 5_000 - at));
    const candidates = compared.reduce((sum, length) => sum + length, 0);
    expect(asked).toEqual({ searches: 1, candidates, compared });
  });

  test('are not asked for where the rows beyond it are enough, or the range has none of them', async () => {
    const { rows, asked } = indexed(5_000, () => true);
    rows.index.indexedTo = () => 4_990;
    expect(await searchRows(rows, NEWEST_FIRST, 10)).toHaveLength(10);
    expect(await searchRows(rows, { ...NEWEST_FIRST, above: 4_990 }, 20)).toHaveLength(10);
    expect(asked.searches).toBe(0);
    expect(await searchRows(rows, { ...NEWEST_FIRST, above: 4_989 }, 20)).toHaveLength(11);
    expect(asked.searches).toBe(1);
  });
});

test('the refusal crosses from the thread that searches', () => {
  expect(errorOf(textOf(new SearchUnreadyError()))).toBeInstanceOf(SearchUnreadyError);
});
