/**
 * Whether the schema of a file that calls itself a backup is ours, before SQLite does any work for it.
 *
 * Promises that no trigger, view, virtual table, generated column or check of somebody else's is ever run, and an end in
 * bounded time: the tree of the schema is walked here first, each page once, since a tree whose pages point to each other
 * would keep SQLite reading for years while it opens the file. Every object must have the text that the migrations give
 * it. The rows themselves are left to SQLite's integrity check, which visits each page once. Throws `Error`.
 */
import { Database } from 'bun:sqlite';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { MAIL_MIGRATIONS, checkHistory, migrate } from './migrations.ts';

/** The table that a backup has beside those of the mail file. */
export const KEY_TABLE = 'CREATE TABLE backup_key (key BLOB NOT NULL) STRICT';

const MAGIC = 'SQLite format 3\0';
const HEADER_BYTES = 100;
/** Ours takes 10 pages of 4 KiB, and its longest text 2 KB. */
const MOST_PAGES = 100;
const LONGEST_ROW = 65_536;
const INTERIOR = 5;
const LEAF = 13;

/** SQLite's own, where somebody has run ANALYZE. */
const STATISTICS: Readonly<Record<string, string>> = {
  sqlite_stat1: 'CREATE TABLE sqlite_stat1(tbl,idx,stat)',
  sqlite_stat4: 'CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)',
};

/** Refuses a file whose header, length or schema tree is not that of a whole database. Only reads. */
export function refuseTangledSchema(path: string): void {
  const file = openSync(path, 'r');
  try {
    const header = Buffer.alloc(HEADER_BYTES);
    readSync(file, header, 0, HEADER_BYTES, 0);
    if (header.toString('latin1', 0, MAGIC.length) !== MAGIC) throw new Error('not a database');
    const size = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16);
    const pages = header.readUInt32BE(28);
    if (size < 512 || pages * size !== fstatSync(file).size) throw new Error('its length is wrong');
    walk(file, size, pages);
  } finally {
    closeSync(file);
  }
}

/** Each page of the schema once, from page 1 (https://www.sqlite.org/fileformat.html, section 1.6). */
function walk(file: number, size: number, pages: number): void {
  const seen = new Set<number>();
  const waiting = [1];
  for (let number = waiting.pop(); number !== undefined; number = waiting.pop()) {
    if (number < 1 || number > pages || seen.has(number) || seen.size >= MOST_PAGES) {
      throw new Error('its schema is damaged');
    }
    seen.add(number);
    const page = Buffer.alloc(size);
    readSync(file, page, 0, size, (number - 1) * size);
    waiting.push(...childrenOf(page, number === 1 ? HEADER_BYTES : 0));
  }
}

/** Pages below this one; a leaf has none. `start`: where its own header begins. Throws where it reaches out of the page. */
function childrenOf(page: Buffer, start: number): number[] {
  const kind = page.readUInt8(start);
  if (kind !== INTERIOR && kind !== LEAF) throw new Error('its schema is damaged');
  const first = start + (kind === LEAF ? 8 : 12);
  const cells = Array.from({ length: page.readUInt16BE(start + 3) }, (_, index) =>
    page.readUInt16BE(first + index * 2),
  );
  if (kind === INTERIOR) {
    return [...cells.map((cell) => page.readUInt32BE(cell)), page.readUInt32BE(start + 8)];
  }
  for (const cell of cells) {
    if (lengthAt(page, cell) > LONGEST_ROW) throw new Error('its schema has too long a text');
  }
  return [];
}

/** A variable-length integer; above 3 bytes it is more than any length that is accepted here. */
function lengthAt(page: Buffer, at: number): number {
  let value = 0;
  for (let index = 0; index < 3; index += 1) {
    const byte = page.readUInt8(at + index);
    value = value * 128 + (byte & 0x7f);
    if (byte < 0x80) return value;
  }
  return Infinity;
}

/** Refuses a schema with anything that the migrations applied to it do not make. Throws `OperatorError` for a newer one. */
export function refuseUnknownSchema(db: Database): void {
  db.run('PRAGMA trusted_schema = OFF');
  db.run('PRAGMA cell_size_check = ON');
  const found = objectsOf(db);
  const model = new Database(':memory:');
  try {
    migrate(model, [], 0);
    if (found.get('table migrations') !== objectsOf(model).get('table migrations')) {
      throw new Error('it has no history of migrations');
    }
    migrate(model, MAIL_MIGRATIONS.slice(0, checkHistory(db, MAIL_MIGRATIONS)), 0);
    model.run(KEY_TABLE);
    const expected = objectsOf(model);
    for (const [name, sql] of found) {
      const statistics = STATISTICS[name.replace('table ', '')];
      if (sql !== expected.get(name) && sql !== statistics) throw new Error(`unknown ${name}`);
      expected.delete(name);
    }
    for (const name of expected.keys()) throw new Error(`${name} is missing`);
  } finally {
    model.close();
  }
}

interface SchemaRow {
  object: string;
  sql: string;
}

function objectsOf(db: Database): Map<string, string> {
  const rows = db
    .prepare<SchemaRow, []>(
      "SELECT type || ' ' || name AS object, coalesce(sql, 'of ' || tbl_name) AS sql FROM sqlite_schema",
    )
    .all();
  return new Map(rows.map(({ object, sql }) => [object, sql]));
}
