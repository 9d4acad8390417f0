/** Where the indexer goes on: behind the last row that it has taken, whatever numbers are missing, also after a new start. */
import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test';
import type { Database } from 'bun:sqlite';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { openForWriting } from '../../../src/store/sqlite/database.ts';
import { Indexer } from '../../../src/store/sqlite/indexer.ts';
import { LOG_MIGRATIONS, MAIL_MIGRATIONS, migrate } from '../../../src/store/sqlite/migrations.ts';
import { SearchWriter } from '../../../src/store/sqlite/search-index.ts';

let dir: string;
let mail: Database;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'postrider-indexer-'));
  mail = openForWriting(join(dir, 'mail.db'), 'normal');
  migrate(mail, MAIL_MIGRATIONS, 0);
  mail.run('PRAGMA foreign_keys = OFF');
  const log = openForWriting(join(dir, 'log.db'), 'normal');
  migrate(log, LOG_MIGRATIONS, 0);
  log.close();
});
afterEach(() => {
  mail.close();
  rmSync(dir, { recursive: true });
});

/** Rows of suppressions with these numbers. */
function add(...numbers: number[]): void {
  const row = mail.prepare(
    "INSERT INTO suppressions (seq, id, account_id, email, reason, created_at) VALUES (?1, ?1, 'a', 'sup' || ?1, 'manual', 0)",
  );
  for (const number of numbers) row.run(number);
}

test('each row is taken once, though numbers are missing between them', () => {
  const taking = spyOn(SearchWriter.prototype, 'add');
  /** The numbers of the rows that are taken until none are left. */
  const taken = (indexer: Indexer): number[] => {
    taking.mockClear();
    while (indexer.step());
    return taking.mock.calls.map(([seq]) => seq);
  };
  add(2, 5, 9);
  const indexer = new Indexer(dir, 0);
  expect([taken(indexer), taken(indexer)]).toEqual([[2, 5, 9], []]);
  add(12);
  expect([taken(indexer), taken(indexer)]).toEqual([[12], []]);
  indexer.close();
  add(13, 20);
  const again = new Indexer(dir, 0);
  expect([taken(again), taken(again)]).toEqual([[13, 20], []]);
  again.close();
  taking.mockRestore();
});
