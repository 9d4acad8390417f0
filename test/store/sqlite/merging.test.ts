/** Tidying up the search index: it ends, leaves each list of terms in one piece, and is not begun again by a start. */
import { expect, test } from 'bun:test';
import type { Database } from 'bun:sqlite';
import { rmSync } from 'node:fs';
import { join } from 'node:path';

import { openForReading } from '../../../src/store/sqlite/database.ts';
import { Indexer, SEARCH_FILE } from '../../../src/store/sqlite/indexer.ts';
import { SearchWriter } from '../../../src/store/sqlite/search-index.ts';
import { newAccount, newSuppression } from '../samples.ts';
import { openTestStore, withDir } from '../test-store.ts';

/** More than are indexed before the first merge, in so few commits that SQLite merges none of them by itself. */
const ROWS = 2500;
/** Far more than one merge takes. */
const MOST_STEPS = 1000;

/** Tidies up until nothing is left to do; gives the number of steps. */
function tidy(indexer: Indexer): number {
  let steps = 0;
  while (indexer.tidyStep()) {
    steps += 1;
    if (steps > MOST_STEPS) throw new Error('tidying up does not end');
  }
  return steps;
}

test('a grown index is merged into one piece, once', () =>
  withDir(async (dir) => {
    const store = await openTestStore(dir);
    const account = newAccount('default');
    await store.createAccount(account);
    const addresses = Array.from({ length: ROWS }, (_, at) => `reader${at}@example.org`);
    await store.addSuppressions(addresses.map((email) => newSuppression(account.id, email)));
    await store.close();
    for (const end of ['', '-wal', '-shm']) rmSync(join(dir, SEARCH_FILE + end), { force: true });

    const indexer = new Indexer(dir, 0);
    while (indexer.step());
    const search = openForReading(join(dir, SEARCH_FILE));
    const pieces = (): unknown[] =>
      ['triples', 'pairs'].map(
        (kind) =>
          search
            .prepare<{ count: number }, []>(
              `SELECT count(DISTINCT segid) AS count FROM suppression_${kind}_idx`,
            )
            .get()?.count,
      );
    expect(pieces()).not.toEqual([1, 1]);
    expect(tidy(indexer)).toBeGreaterThan(0);
    expect(pieces()).toEqual([1, 1]);
    search.close();
    indexer.close();

    const again = new Indexer(dir, 0);
    while (again.step());
    expect(tidy(again)).toBe(0);
    again.close();
  }));

/** A file whose merges change so many rows, one after the other, and what it was told. */
function mergesOf(...changes: number[]) {
  const told: unknown[][] = [];
  let count = 7;
  const prepare = (sql: string): object => ({
    get: () => ({ count }),
    run(pages: number) {
      told.push([/^INSERT INTO (\w+)/.exec(sql)?.[1], pages]);
      count += changes.shift() ?? 0;
    },
  });
  const writer = new SearchWriter({ prepare } as unknown as Database, 'log');
  return { writer, told };
}

test('a step merges 200 pages of each list of terms, begins with everything, and ends when neither has changed', () => {
  const both = (pages: number) => [
    ['log_triples', pages],
    ['log_pairs', pages],
  ];
  const { writer, told } = mergesOf(9, 9, 9, 9);
  expect([writer.merge(true), told.splice(0)]).toEqual([true, both(-200)]);
  expect([writer.merge(false), told.splice(0)]).toEqual([true, both(200)]);
  // FTS5 documentation, "The 'merge' Command": one change alone is its note that nothing was left to do.
  const ends = [
    [2, 1],
    [1, 2],
    [1, 1],
    [0, 0],
  ].map((changes) => mergesOf(...changes).writer.merge(false));
  expect(ends).toEqual([true, true, false, false]);
});
