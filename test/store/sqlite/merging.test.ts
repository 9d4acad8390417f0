/**
 * Merging the search index: tidying up ends, leaves each list of terms in one piece, and is not begun again by a start;
 * while rows keep coming the pieces stay few.
 */
import { expect, test } from 'bun:test';
import { Database } from 'bun:sqlite';
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
/** Each with a piece of its own: more than FTS5 would leave unmerged. */
const COMMITS = 300;

/** Tidies up until nothing is left to do; gives the number of steps. */
function tidy(indexer: Indexer): number {
  let steps = 0;
  while (indexer.tidyStep()) {
    steps += 1;
    if (steps > MOST_STEPS) throw new Error('tidying up does not end');
  }
  return steps;
}

/** In how many pieces the lists of suppressions are. */
function pieces(search: Database): (number | undefined)[] {
  return ['triples', 'pairs'].map(
    (kind) =>
      search
        .prepare<{ count: number }, []>(
          `SELECT count(DISTINCT segid) AS count FROM suppression_${kind}_idx`,
        )
        .get()?.count,
  );
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
    expect(pieces(search)).not.toEqual([1, 1]);
    expect(tidy(indexer)).toBeGreaterThan(0);
    expect(pieces(search)).toEqual([1, 1]);
    search.close();
    indexer.close();

    const again = new Indexer(dir, 0);
    while (again.step());
    expect(tidy(again)).toBe(0);
    again.close();
  }));

test('an index that is never left alone stays in few pieces, merged by its own steps', () =>
  withDir(async (dir) => {
    const store = await openTestStore(dir);
    const account = newAccount('default');
    await store.createAccount(account);
    await store.close();
    const mail = new Database(join(dir, 'mail.db'), { readwrite: true });
    const insert = mail.prepare(
      `INSERT INTO suppressions (id, account_id, email, reason, created_at) VALUES (?, ?, ?, 'manual', 0)`,
    );
    const indexer = new Indexer(dir, 0);
    const search = openForReading(join(dir, SEARCH_FILE));
    let most = 0;
    for (let at = 0; at < COMMITS; at += 1) {
      insert.run(`suppression-${at}`, account.id, `reader${at}@example.org`);
      while (indexer.step());
      most = Math.max(most, ...pieces(search).map(Number));
    }
    // Up to sixteen of each level, and what comes until a merge is worth a statement.
    expect(most).toBeLessThan(3 * 16);
    expect(pieces(search)).not.toEqual([1, 1]);
    const settings = search
      .prepare<{ k: string; v: number }, []>(
        `SELECT k, v FROM suppression_triples_config WHERE k LIKE '%merge'`,
      )
      .all();
    expect(Object.fromEntries(settings.map(({ k, v }) => [k, v]))).toEqual({
      automerge: 0,
      crisismerge: 256,
      usermerge: 16,
    });
    search.close();
    indexer.close();
    mail.close();
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
  expect([writer.compact(37), told.splice(0)]).toEqual([undefined, both(37)]);
  // FTS5 documentation, "The 'merge' Command": one change alone is its note that nothing was left to do.
  const ends = [
    [2, 1],
    [1, 2],
    [1, 1],
    [0, 0],
  ].map((changes) => mergesOf(...changes).writer.merge(false));
  expect(ends).toEqual([true, true, false, false]);
});
