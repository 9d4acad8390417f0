/** Positions in the lists of accounts: from one on, after the last that is written, and remembered for so many accounts. */
import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, expect, test } from 'bun:test';

import { POSITION, Positions } from '../../../src/store/sqlite/positions.ts';

let db: Database;

beforeEach(() => {
  db = new Database(':memory:');
  db.run('CREATE TABLE messages (account_id TEXT, ' + POSITION + ' INTEGER)');
});
afterEach(() => db.close());

test('each account has its own, after the last that is written', () => {
  const positions = new Positions(db);
  expect(['a', 'a', 'b', 'a', 'b'].map((id) => positions.next(id))).toEqual([1, 2, 1, 3, 2]);
  db.run("INSERT INTO messages VALUES ('a', 7), ('a', 6), ('b', 3)");
  // What is remembered goes on until something was undone.
  expect(positions.next('a')).toBe(4);
  positions.forget();
  expect(['a', 'b', 'c', 'a'].map((id) => positions.next(id))).toEqual([8, 4, 1, 9]);
});

test.each([
  [9_999, 2],
  [10_000, 1],
])('of %d accounts the next one is remembered as %d, where none is written', (count, expected) => {
  const positions = new Positions(db);
  const given = Array.from({ length: count }, (_, n) => positions.next(`a${n}`));
  expect(new Set(given)).toEqual(new Set([1]));
  // With the ten thousandth all are forgotten but the one that is asked for.
  expect(positions.next('a0')).toBe(2);
  expect(positions.next('a1')).toBe(expected);
  expect(positions.next('a0')).toBe(3);
});
