/**
 * Every reference between tables has an index of all its rows: SQLite looks for those that refer to a row before it
 * removes that row, and without an index it looks through the whole table, with every other write waiting.
 */
import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';

import { MAIL_MIGRATIONS, migrate } from '../../../src/store/sqlite/migrations.ts';

test('what refers to a row is found by an index', () => {
  const db = new Database(':memory:', { strict: true });
  migrate(db, MAIL_MIGRATIONS, 0);
  const names = (sql: string, ...of: string[]): string[] =>
    db
      .query<{ name: string }, string[]>(sql)
      .all(...of)
      .map(({ name }) => name);
  const references: string[] = [];
  const slow: string[] = [];
  for (const table of names("SELECT name FROM sqlite_schema WHERE type = 'table'")) {
    const firstColumns = names(
      'SELECT i.name AS name FROM pragma_index_list(?) AS l, pragma_index_info(l.name) AS i' +
        ' WHERE l.partial = 0 AND i.seqno = 0',
      table,
    );
    const key = names('SELECT name FROM pragma_table_info(?) WHERE pk = 1', table);
    for (const column of names('SELECT "from" AS name FROM pragma_foreign_key_list(?)', table)) {
      references.push(`${table}.${column}`);
      if (![...firstColumns, ...key].includes(column)) slow.push(`${table}.${column}`);
    }
  }
  expect(references).toContain('calls.endpoint_id');
  expect(slow).toEqual([]);
  db.close();
});
