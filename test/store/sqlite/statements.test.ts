/**
 * The SQL of the store on SQLite, its plans and the steps of its schema are those of statements.txt.
 *
 * When that fails and the change is meant: run this test with POSTRIDER_WRITE_STATEMENTS=1, and read the difference.
 * Another release of SQLite may find rows another way: see that none of them walks a table that it did not walk before.
 * The checksum of a step of the schema that was released must never change: databases hold it.
 */
import { expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';

import { STATEMENTS_FILE, statementText } from './statement-plans.ts';

test('every statement, the rows that SQLite goes through for it, and the schema are as they are written down', async () => {
  const text = await statementText();
  if (process.env['POSTRIDER_WRITE_STATEMENTS'] === '1') writeFileSync(STATEMENTS_FILE, text);
  expect(text.split('\n')).toEqual(readFileSync(STATEMENTS_FILE, 'utf8').split('\n'));
});
