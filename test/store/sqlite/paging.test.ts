/** Pages by cursor: between which positions a page lies, where a cursor stands whose row has gone, and what is cut off. */
import { expect, test } from 'bun:test';

import { pageOf, rangeOf, seqOfCursor } from '../../../src/store/sqlite/paging.ts';

const END = Number.MAX_SAFE_INTEGER;

test('a page lies beyond its cursor, and is read from its old end where it comes before one', () => {
  const positionOf = (cursor: string): number => cursor.length;
  const range = (after: string | null, before: string | null) =>
    rangeOf({ limit: 5, after, before }, positionOf);
  expect(range(null, null)).toEqual({ above: 0, below: END, isForward: false });
  expect(range('seven..', null)).toEqual({ above: 0, below: 7, isForward: false });
  expect(range(null, 'four')).toEqual({ above: 4, below: END, isForward: true });
  expect(range('seven..', 'four')).toEqual({ above: 4, below: 7, isForward: true });
});

test('a cursor stands at its row, or between the neighbours of one that has gone', () => {
  const page = { limit: 5, after: null, before: null };
  const [after, before] = [
    { ...page, after: 'c' },
    { ...page, before: 'c' },
  ];
  const row = { seq: 7, id: 'c' };
  expect([seqOfCursor('c', row, after), seqOfCursor('c', row, before)]).toEqual([7, 7]);
  // Only an older one is left: that belongs to what comes after the cursor, and not to what comes before it.
  const older = { seq: 6, id: 'b' };
  expect([seqOfCursor('c', older, after), seqOfCursor('c', older, before)]).toEqual([7, 6]);
  // None is left that is older: the first row of all is before the cursor.
  expect([seqOfCursor('c', null, after), seqOfCursor('c', null, before)]).toEqual([0, 0]);
});

test('a page has so many rows, newest first, and says whether there are more', () => {
  const cut = (rows: number[], before: string | null) =>
    pageOf(rows, { limit: 2, after: null, before }, (row) => `row ${row}`);
  expect(cut([], null)).toEqual({ rows: [], hasMore: false });
  expect(cut([9], null)).toEqual({ rows: ['row 9'], hasMore: false });
  expect(cut([9, 8], null)).toEqual({ rows: ['row 9', 'row 8'], hasMore: false });
  expect(cut([9, 8, 7], null)).toEqual({ rows: ['row 9', 'row 8'], hasMore: true });
  expect(cut([4, 5, 6], 'three')).toEqual({ rows: ['row 5', 'row 4'], hasMore: true });
  expect(cut([4, 5], 'three')).toEqual({ rows: ['row 5', 'row 4'], hasMore: false });
});
