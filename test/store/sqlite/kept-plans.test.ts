/** Statements keep their plans: SQLite does not make them anew for each value that is bound. */
import { expect, test } from 'bun:test';
import { Database } from 'bun:sqlite';
import { join } from 'node:path';

import { openForReading, openForWriting } from '../../../src/store/sqlite/database.ts';
import { withKeptPlan } from '../../../src/store/sqlite/kept-plans.ts';
import { withDir } from '../test-store.ts';

const ROWS = 'SELECT n FROM rows WHERE n > ? ORDER BY n LIMIT ?';

/** The steps of a statement's program after it ran with `values`. */
function stepsOf(db: Database, values: readonly number[]): string[] {
  const statement = db.prepare<{ opcode: string }, number[]>(`EXPLAIN ${ROWS}`);
  statement.all(...values);
  return statement.all(...values).map(({ opcode }) => opcode);
}

test('a statement of a connection is one program for all values, where SQLite made another for each', () =>
  withDir((dir) => {
    const path = join(dir, 'one.db');
    const writing = openForWriting(path, 'full');
    writing.run('CREATE TABLE rows (n INTEGER PRIMARY KEY)');
    const reading = openForReading(path);
    const bare = new Database(path);
    // A limit that was looked at is a constant of the program; one that was not is read when it runs, and checked.
    const isChecked = (db: Database): boolean => stepsOf(db, [1, 5]).includes('MustBeInt');
    expect([bare, writing, reading].map(isChecked)).toEqual([false, true, true]);
    for (const db of [writing, reading, bare]) db.close();
  }));

test('it finds the same rows', () =>
  withDir((dir) => {
    const db = openForWriting(join(dir, 'one.db'), 'full');
    db.run('CREATE TABLE rows (n INTEGER PRIMARY KEY, name TEXT NOT NULL, bytes BLOB) STRICT');
    const add = db.prepare('INSERT INTO rows VALUES (?, ?, ?)');
    for (const n of [1, 2, 3, 4]) add.run(n, `name-${n}`, new Uint8Array([n]));
    const select = (sql: string, ...values: (string | number | Uint8Array)[]): unknown =>
      db.prepare<{ n: number }, typeof values>(sql).values(...values);
    expect(select(ROWS, 1, 2)).toEqual([[2], [3]]);
    expect(select('SELECT n FROM rows WHERE name = ?', 'name-3')).toEqual([[3]]);
    // A number is none of a column of text, and text that is one is one of a column of numbers, as before.
    expect(select('SELECT n FROM rows WHERE n = ?', '3')).toEqual([[3]]);
    expect(select('SELECT n FROM rows WHERE bytes = ?', new Uint8Array([4]))).toEqual([[4]]);
    db.prepare('UPDATE rows SET name = ?, bytes = ? WHERE n = ?').run('other', null, 1);
    expect(select('SELECT name, bytes FROM rows WHERE n <= ?', 1)).toEqual([['other', null]]);
    db.close();
  }));

test.each([
  ['a = ? AND b >= ?2 OR c < ?', 'a = +? AND b >= +?2 OR c < +?'],
  ['a <= ?12 LIMIT ?', 'a <= +?12 LIMIT +?'],
  ['SET a = ? WHERE b <> ?1', 'SET a = +? WHERE b <> +?1'],
  ['VALUES (?, ?)', 'VALUES (?, ?)'],
  ['(a, b) > (?1, ?2) AND c MATCH ?', '(a, b) > (?1, ?2) AND c MATCH ?'],
])('%s', (sql, expected) => {
  expect(withKeptPlan(sql)).toBe(expected);
  // Once is enough.
  expect(withKeptPlan(expected)).toBe(expected);
});
