/** Reads by text: each text is prepared once, values go in as they are, a fault is a promise that fails. */
import { expect, spyOn, test } from 'bun:test';
import { Database } from 'bun:sqlite';

import { KeptStatements } from '../../../src/store/sqlite/kept-statements.ts';

const ECHO = 'SELECT ? AS a, ? AS b, ? AS c, ? AS d, ? AS e';

test('values of every kind go in, and rows come out by the names of the text', async () => {
  const db = new Database(':memory:', { strict: true });
  const sql = new KeptStatements(db);
  const bytes = new Uint8Array([1, 0, 255]);
  const row = { a: 'x', b: 1.5e12, c: null, d: 1, e: bytes };
  expect(await sql.one<object>(ECHO, 'x', 1.5e12, null, true, bytes)).toEqual(row);
  expect(await sql.all<object>(ECHO, 'x', 1.5e12, null, true, bytes)).toEqual([row]);
  expect(await sql.one<object>('SELECT 1 AS one WHERE ?', false)).toBeNull();
  expect(await sql.all<object>('SELECT 1 AS one WHERE ?', false)).toEqual([]);
  db.close();
});

test('each text is prepared once, however it is asked for', async () => {
  const db = new Database(':memory:', { strict: true });
  const prepare = spyOn(db, 'prepare');
  const sql = new KeptStatements(db);
  for (let round = 0; round < 3; round += 1) {
    await sql.all('SELECT ? AS a', round);
    expect(await sql.one<object>('SELECT ? AS a', round)).toEqual({ a: round });
    await sql.one('SELECT ? AS b', round);
  }
  expect(prepare).toHaveBeenCalledTimes(2);
  db.close();
});

test('a fault does not throw: the promise fails', async () => {
  const db = new Database(':memory:', { strict: true });
  const sql = new KeptStatements(db);
  const asked = sql.one('SELECT a FROM absent');
  expect(await asked.catch((error: unknown) => String(error))).toContain('no such table');
  db.close();
});
