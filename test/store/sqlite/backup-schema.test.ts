/**
 * What is refused of a file that calls itself a backup, said by its reason and at its limits; what SQLite's own tools may have
 * added is none of it.
 */
import { afterEach, beforeAll, beforeEach, expect, test } from 'bun:test';
import { Database } from 'bun:sqlite';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import {
  KEY_TABLE,
  refuseTangledSchema,
  refuseUnknownSchema,
} from '../../../src/store/sqlite/backup-schema.ts';
import { MAIL_MIGRATIONS, migrate } from '../../../src/store/sqlite/migrations.ts';

let whole: Buffer;
let dir: string;
let file: string;

beforeAll(() => {
  const db = new Database(':memory:');
  migrate(db, MAIL_MIGRATIONS, 0);
  db.run(KEY_TABLE);
  whole = db.serialize();
  db.close();
});
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'postrider-schema-'));
  file = join(dir, 'one.backup');
});
afterEach(() => rmSync(dir, { recursive: true }));

/** Why the file is refused; empty when it is not. */
function refusalOf(content: Buffer, look = refuseTangledSchema): string {
  writeFileSync(file, content);
  try {
    look(file);
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

/** A copy with a change. */
function changed(change: (content: Buffer) => void, content = whole): Buffer {
  const copy = Buffer.from(content);
  change(copy);
  return copy;
}

/** A database of these statements, with pages of `pageSize`. */
function databaseOf(pageSize: number, ...statements: string[]): Buffer {
  const db = new Database(':memory:');
  db.run(`PRAGMA page_size = ${pageSize}`);
  for (const statement of statements) db.run(statement);
  const content = db.serialize();
  db.close();
  return content;
}

test('a file that is no database, or not as long as it says, is not opened', () => {
  expect(refusalOf(whole)).toBe('');
  expect(refusalOf(Buffer.alloc(0))).toBe('not a database');
  expect(refusalOf(whole.subarray(0, 99))).toBe('its length is wrong');
  for (const at of [0, 14, 15]) {
    expect([at, refusalOf(changed((copy) => copy.writeUInt8(copy.readUInt8(at) + 1, at)))]).toEqual(
      [at, 'not a database'],
    );
  }
  expect(refusalOf(whole.subarray(0, -1))).toBe('its length is wrong');
  expect(refusalOf(Buffer.concat([whole, Buffer.alloc(1)]))).toBe('its length is wrong');
  // Pages of no size would make any length right.
  expect(refusalOf(changed((copy) => copy.writeUInt16BE(0, 16)))).toBe('its length is wrong');
  const small = changed((copy) => {
    copy.writeUInt16BE(256, 16);
    copy.writeUInt32BE(copy.length / 256, 28);
  });
  expect(refusalOf(small)).toBe('its length is wrong');
});

test('pages of each size are read', () => {
  for (const size of [512, 1_024, 65_536]) {
    const tables = Array.from({ length: 40 }, (_, at) => `CREATE TABLE t${at} (a, b, c, d, e)`);
    expect([size, refusalOf(databaseOf(size, ...tables))]).toEqual([size, '']);
  }
});

/** The kind of page 1 and where its cells, or the page on its right, are noted. */
const [KIND, CELLS, RIGHT] = [100, 103, 108];

test('a schema whose pages are of no kind, out of the file, or met twice is damaged', () => {
  const damaged = 'its schema is damaged';
  expect(whole.readUInt8(KIND)).toBe(5);
  const children = Array.from({ length: whole.readUInt16BE(CELLS) }, (_, at) =>
    whole.readUInt32BE(whole.readUInt16BE(112 + at * 2)),
  );
  const last = whole.readUInt32BE(RIGHT);
  expect(children.length).toBeGreaterThan(1);
  const pages = whole.readUInt32BE(28);
  for (const right of [0, 1, children[0] ?? 0, pages + 1]) {
    expect([right, refusalOf(changed((copy) => copy.writeUInt32BE(right, RIGHT)))]).toEqual([
      right,
      damaged,
    ]);
  }
  const size = whole.readUInt16BE(16);
  for (const kind of [2, 10, 0]) {
    const other = changed((copy) => copy.writeUInt8(kind, (last - 1) * size));
    expect([kind, refusalOf(other)]).toEqual([kind, damaged]);
  }
  // A cell that is said to be beyond the page is not looked for in another.
  const beyond = changed((copy) => copy.writeUInt16BE(size - 2, 112));
  expect(refusalOf(beyond)).not.toBe('');
});

test('the last page of a file may belong to the schema', () => {
  const content = databaseOf(
    512,
    ...Array.from({ length: 40 }, (_, at) => `CREATE TABLE t${at} (a)`),
    'VACUUM',
  );
  const pages = content.readUInt32BE(28);
  expect(content.length).toBe(pages * 512);
  expect(refusalOf(content)).toBe('');
});

test('a schema has a hundred pages at most', () => {
  // As an interior page with so many leaves, each without a row.
  const schemaOf = (leaves: number): Buffer => {
    const content = Buffer.alloc(4_096 * (leaves + 1));
    whole.copy(content, 0, 0, 100);
    content.writeUInt16BE(4_096, 16);
    content.writeUInt32BE(leaves + 1, 28);
    content.writeUInt8(5, KIND);
    content.writeUInt16BE(leaves - 1, CELLS);
    content.writeUInt32BE(leaves + 1, RIGHT);
    for (let at = 0; at < leaves - 1; at += 1) {
      const cell = 4_096 - (at + 1) * 5;
      content.writeUInt16BE(cell, 112 + at * 2);
      content.writeUInt32BE(at + 2, cell);
    }
    for (let page = 1; page <= leaves; page += 1) content.writeUInt8(13, page * 4_096);
    return content;
  };
  expect(refusalOf(schemaOf(99))).toBe('');
  expect(refusalOf(schemaOf(100))).toBe('its schema is damaged');
});

test('a text of the schema has 64 KiB at most', () => {
  const rowOf = (length: number): Buffer =>
    databaseOf(4_096, `CREATE TABLE x (a /* ${'y'.repeat(length)} */)`);
  /** Bytes of the row of the schema as its leaf says. */
  const saidIn = (content: Buffer): number => {
    const cell = content.readUInt16BE(108);
    const [a, b, c] = [0, 1, 2].map((at) => content.readUInt8(cell + at)) as [
      number,
      number,
      number,
    ];
    return ((a & 127) << 14) | ((b & 127) << 7) | c;
  };
  const around = saidIn(rowOf(60_000)) - 60_000;
  const [fits, isOver] = [rowOf(65_536 - around), rowOf(65_537 - around)];
  expect([saidIn(fits), saidIn(isOver)]).toEqual([65_536, 65_537]);
  expect(refusalOf(fits)).toBe('');
  expect(refusalOf(isOver)).toBe('its schema has too long a text');
  expect(refusalOf(rowOf(2_100_000))).toBe('its schema has too long a text');
});

/** Why the schema is refused after these statements; empty when it is not. */
function unknownAfter(...statements: string[]): string {
  const db = Database.deserialize(whole);
  for (const statement of statements) db.run(statement);
  try {
    refuseUnknownSchema(db);
    return '';
  } catch (error) {
    return (error as Error).message;
  } finally {
    db.close();
  }
}

test('each object of the schema is the one that the migrations make, and none is missing', () => {
  const seen = [
    [],
    ['ANALYZE'],
    ['CREATE TABLE extra (a)'],
    ['CREATE VIEW extra AS SELECT 1'],
    ['CREATE TRIGGER extra AFTER INSERT ON accounts BEGIN SELECT 1; END'],
    ['DROP INDEX recipients_by_due'],
    ['DROP TABLE backup_key'],
    ['DROP TABLE backup_key', 'CREATE TABLE backup_key (key BLOB)'],
    ['DROP TABLE migrations'],
    ['DROP TABLE migrations', 'CREATE TABLE migrations (version INTEGER)'],
  ].map((statements) => [...statements, unknownAfter(...statements)]);
  expect(seen).toEqual([
    [''],
    ['ANALYZE', ''],
    ['CREATE TABLE extra (a)', 'unknown table extra'],
    ['CREATE VIEW extra AS SELECT 1', 'unknown view extra'],
    ['CREATE TRIGGER extra AFTER INSERT ON accounts BEGIN SELECT 1; END', 'unknown trigger extra'],
    ['DROP INDEX recipients_by_due', 'index recipients_by_due is missing'],
    ['DROP TABLE backup_key', 'table backup_key is missing'],
    ['DROP TABLE backup_key', 'CREATE TABLE backup_key (key BLOB)', 'unknown table backup_key'],
    ['DROP TABLE migrations', 'it has no history of migrations'],
    [
      'DROP TABLE migrations',
      'CREATE TABLE migrations (version INTEGER)',
      'it has no history of migrations',
    ],
  ]);
});

test('a file is looked at without its triggers, and with the size of its cells checked', () => {
  const db = Database.deserialize(whole);
  refuseUnknownSchema(db);
  expect([
    db.query('PRAGMA trusted_schema').get(),
    db.query('PRAGMA cell_size_check').get(),
  ]).toEqual([{ trusted_schema: 0 }, { cell_size_check: 1 }]);
  db.close();
});
