/** Each table that names an account is known to the deletion of accounts: a new one cannot be forgotten. */
import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { openTestStore, withDir } from '../test-store.ts';

const SOURCES = ['write-account-deletion.ts', 'write-retention.ts'].map((name) =>
  readFileSync(join(import.meta.dir, '../../../src/store/sqlite', name), 'utf8'),
);
/** The record of what operators did is theirs: it outlives what they deleted, and has a retention of its own. */
const KEPT = new Set(['audit']);

test.each(['mail.db', 'log.db'])('%s', (file) =>
  withDir(async (dir) => {
    const store = await openTestStore(dir);
    await store.close();
    const db = new Database(join(dir, file), { readonly: true });
    const tables = db
      .query<{ name: string }, []>(
        "SELECT m.name FROM sqlite_schema AS m, pragma_table_info(m.name) AS c WHERE m.type = 'table'" +
          " AND (c.name = 'account_id' OR m.name = 'accounts' AND c.name = 'id')",
      )
      .all();
    db.close();
    expect(tables.length).toBeGreaterThan(0);
    const forgotten = tables.filter(
      ({ name }) =>
        !KEPT.has(name) && !SOURCES.some((text) => text.includes(`DELETE FROM ${name} WHERE`)),
    );
    expect(forgotten).toEqual([]);
  }),
);
