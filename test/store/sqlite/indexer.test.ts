/**
 * The indexer, step by step, on files that a test writes itself: how much it takes at a time, what it notes, when it begins
 * anew and when not, when it merges, and what it takes out again.
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect, spyOn, test } from 'bun:test';
import { Database } from 'bun:sqlite';
import { copyFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

import { openForWriting } from '../../../src/store/sqlite/database.ts';
import { Indexer, SEARCH_FILE } from '../../../src/store/sqlite/indexer.ts';
import { LOG_MIGRATIONS, MAIL_MIGRATIONS, migrate } from '../../../src/store/sqlite/migrations.ts';
import { POSITION } from '../../../src/store/sqlite/positions.ts';
import { openIn } from './open-files.ts';
import { durabilitiesIn } from './writer-told.ts';

const ADD = {
  email:
    `INSERT INTO messages (id, account_id, ${POSITION}, status, created_at, updated_at, is_sandbox, message_id,` +
    ' sender, to_list, cc_list, bcc_list, reply_to_list, subject, tags)' +
    " VALUES (?, 'a', 1, 'queued', 0, 0, 0, 'm', 's', '[]', '[]', '[]', '[]', 'sup', '[]')",
  suppression:
    "INSERT INTO suppressions (id, account_id, email, reason, created_at) VALUES (?1, 'a', ?1, 'manual', 0)",
  log: "INSERT INTO logs (id, account_id, method, path, status, created_at) VALUES (?, 'a', 'GET', '/sup', 200, 0)",
};
type Source = keyof typeof ADD;

let template: string;
let dir: string;
let mail: Database;
let log: Database;
const opened: { close(): void }[] = [];
const made: string[] = [];

/** A copy of a directory, in which nothing is open. */
function copyOf(from: string): string {
  const to = mkdtempSync(join(tmpdir(), 'postrider-indexer-'));
  made.push(to);
  for (const name of readdirSync(from)) copyFileSync(join(from, name), join(to, name));
  return to;
}

beforeAll(() => {
  template = mkdtempSync(join(tmpdir(), 'postrider-indexer-'));
  for (const [name, history] of [
    ['mail.db', MAIL_MIGRATIONS],
    ['log.db', LOG_MIGRATIONS],
  ] as const) {
    const db = openForWriting(join(template, name), 'normal');
    migrate(db, history, 0);
    db.close();
  }
  new Indexer(template, 0).close();
});

beforeEach(() => openCopy(template));

function openCopy(from: string): void {
  dir = copyOf(from);
  mail = openForWriting(join(dir, 'mail.db'), 'normal');
  log = openForWriting(join(dir, 'log.db'), 'normal');
  opened.push(mail, log);
  mail.run('PRAGMA foreign_keys = OFF');
}

function closeAll(): void {
  for (const thing of opened.splice(0).toReversed()) thing.close();
}

afterEach(() => {
  closeAll();
  for (const each of made.splice(0)) rmSync(each, { recursive: true });
});

afterAll(() => rmSync(template, { recursive: true }));

/** Rows with the ids `SOURCE NUMBER`, from `from` to `to`. */
function add(source: Source, from: number, to: number): void {
  const db = source === 'log' ? log : mail;
  const row = db.prepare(ADD[source]);
  db.run('BEGIN');
  for (let number = from; number <= to; number += 1) row.run(`${source} ${number}`);
  db.run('COMMIT');
}

function newIndexer(): Indexer {
  const indexer = new Indexer(dir, 0);
  opened.push(indexer);
  return indexer;
}

function search(): Database {
  const db = new Database(join(dir, SEARCH_FILE));
  opened.push(db);
  return db;
}

/** What the index has noted of its sources: `SOURCE SEQ ID MERGED`. */
function noted(db: Database): string[] {
  return db
    .prepare<{ text: string }, []>(
      "SELECT source || ' ' || seq || ' ' || row_id || ' ' || merged_to AS text FROM progress ORDER BY source",
    )
    .all()
    .map(({ text }) => text);
}

/** The rows that a table of the index has, by number: each holds this text. */
function entries(db: Database, source: Source, kind: 'triples' | 'pairs'): number[] {
  const table = `${source}_${kind}`;
  return db
    .prepare<{ seq: number }, [string]>(
      `SELECT rowid AS seq FROM ${table} WHERE ${table} MATCH ? ORDER BY rowid`,
    )
    .all(kind === 'triples' ? '"sup"' : '"su"')
    .map(({ seq }) => seq);
}

test('a thousand rows of one source after the other, until each has fewer in a row', () => {
  add('suppression', 1, 1_000);
  add('log', 1, 1_001);
  const indexer = newIndexer();
  const db = search();
  const steps: unknown[] = [];
  let isMore = true;
  while (isMore) {
    isMore = indexer.step();
    steps.push([isMore, ...noted(db)]);
  }
  const suppression = 'suppression 1000 suppression 1000 0';
  expect(steps).toEqual([
    [true],
    [true, suppression],
    [true, 'log 1000 log 1000 0', suppression],
    [true, 'log 1000 log 1000 0', suppression],
    [true, 'log 1000 log 1000 0', suppression],
    [false, 'log 1001 log 1001 0', suppression],
  ]);
  // The next call begins again with the first source, and goes through all of them.
  add('email', 1, 2);
  expect([indexer.step(), noted(db)[0]]).toEqual([true, 'email 2 email 2 0']);
  expect([indexer.step(), indexer.step()]).toEqual([true, false]);
  for (const kind of ['triples', 'pairs'] as const) {
    expect(entries(db, 'email', kind)).toEqual([1, 2]);
    expect(entries(db, 'suppression', kind)).toHaveLength(1_000);
    expect(entries(db, 'log', kind)).toHaveLength(1_001);
  }
});

test('a step that fails leaves nothing, and the next one takes the same rows', () => {
  add('email', 1, 3);
  const indexer = newIndexer();
  const db = search();
  db.run("CREATE TRIGGER refused BEFORE INSERT ON progress BEGIN SELECT RAISE(ABORT, 'no'); END");
  expect(() => indexer.step()).toThrow('no');
  expect([noted(db), entries(db, 'email', 'triples'), entries(db, 'email', 'pairs')]).toEqual([
    [],
    [],
    [],
  ]);
  db.run('DROP TRIGGER refused');
  while (indexer.step());
  expect([noted(db), entries(db, 'email', 'triples')]).toEqual([['email 3 email 3 0'], [1, 2, 3]]);
});

/** Whether the index goes on from where it was, what had happened to which file, and how. */
const HAPPENED: readonly (readonly [boolean, 'mail' | 'log', string, ...string[]])[] = [
  [true, 'mail', 'nothing'],
  [true, 'log', 'retention took all log rows', 'DELETE FROM logs'],
  [
    true,
    'log',
    'retention took the last indexed log row, and there are newer',
    ADD.log.replace('?', "'new'"),
    'DELETE FROM logs WHERE seq <= 5',
  ],
  [false, 'log', 'only older log rows are left', 'DELETE FROM logs WHERE seq > 3'],
  [false, 'log', 'the last indexed log row is another', "UPDATE logs SET id = 'x' WHERE seq = 5"],
  [true, 'mail', 'an address came back', 'UPDATE suppressions SET seq = 6 WHERE seq = 5'],
  [true, 'mail', 'all suppressions are gone', 'DELETE FROM suppressions'],
  [false, 'mail', 'only older suppressions are left', 'DELETE FROM suppressions WHERE seq > 3'],
  [
    false,
    'mail',
    'the last suppression is another',
    "UPDATE suppressions SET id = 'x' WHERE seq = 5",
  ],
  [false, 'mail', 'only older messages are left', 'DELETE FROM messages WHERE seq > 3'],
  [false, 'mail', 'all messages are gone', 'DELETE FROM messages'],
  [false, 'mail', 'the last message is another', "UPDATE messages SET id = 'x' WHERE seq = 5"],
  [false, 'mail', 'the last message is gone', 'UPDATE messages SET seq = 6 WHERE seq = 5'],
];

test('an index is kept where its files only went on, and made anew where they are others', () => {
  for (const source of ['email', 'suppression', 'log'] as const) add(source, 1, 5);
  const indexer = newIndexer();
  while (indexer.step());
  closeAll();
  const indexed = dir;
  const seen = HAPPENED.map(([, file, what, ...changes]) => {
    openCopy(indexed);
    for (const change of changes) (file === 'log' ? log : mail).run(change);
    newIndexer();
    const progress = noted(search());
    closeAll();
    return [what, progress];
  });
  const all = ['email 5 email 5 0', 'log 5 log 5 0', 'suppression 5 suppression 5 0'];
  expect(seen).toEqual(HAPPENED.map(([isKept, , what]) => [what, isKept ? all : []]));
});

test('the index is merged when it has more than two thousand rows, and again when it has grown by half', () => {
  const merged: unknown[] = [];
  const tidy = (indexer: Indexer): void => {
    while (indexer.step());
    let steps = 0;
    while (indexer.tidyStep()) steps += 1;
    merged.push([steps > 0, noted(search())[0]]);
  };
  const indexer = new Indexer(dir, 0);
  add('email', 1, 2_000);
  tidy(indexer);
  add('email', 2_001, 2_001);
  tidy(indexer);
  add('email', 2_002, 3_001);
  tidy(indexer);
  indexer.close();
  const again = newIndexer();
  tidy(again);
  add('email', 3_002, 3_002);
  tidy(again);
  expect(merged).toEqual([
    [false, 'email 2000 email 2000 0'],
    [true, 'email 2001 email 2001 2001'],
    [false, 'email 3001 email 3001 2001'],
    [false, 'email 3001 email 3001 2001'],
    [true, 'email 3002 email 3002 3002'],
  ]);
});

test('a merge counts for the rows that there were when it began, and entries of rows that are gone go before', () => {
  const indexer = newIndexer();
  add('email', 1, 2_001);
  add('log', 1, 51);
  while (indexer.step());
  log.run('DELETE FROM logs');
  const db = search();
  expect([indexer.tidyStep(), entries(db, 'log', 'pairs')]).toEqual([true, [51]]);
  expect([indexer.tidyStep(), entries(db, 'log', 'pairs')]).toEqual([true, []]);
  expect([indexer.tidyStep(), noted(db)[0]]).toEqual([true, 'email 2001 email 2001 0']);
  add('email', 2_002, 2_500);
  while (indexer.step());
  while (indexer.tidyStep());
  expect(noted(db)[0]).toBe('email 2500 email 2500 2001');
});

test('an index made anew waits for no disk, has its time, and lets go of the file that it replaces', () => {
  add('email', 1, 5);
  const old = newIndexer();
  while (old.step());
  old.close();
  opened.pop();
  mail.run("UPDATE messages SET id = 'x' WHERE seq = 5");
  const { settings, spy } = durabilitiesIn(dir);
  const indexer = new Indexer(dir, 9);
  spy.mockRestore();
  opened.push(indexer);
  expect(settings).toEqual(Array(2).fill('search.db PRAGMA synchronous = NORMAL'));
  const db = search();
  expect(db.query('SELECT DISTINCT applied_at FROM migrations').values()).toEqual([[9]]);
  expect(openIn(dir).filter((path) => path.endsWith('(deleted)'))).toEqual([]);
});

test('an index that a full disk keeps from being opened stays as it is', () => {
  add('email', 1, 5);
  const indexer = newIndexer();
  while (indexer.step());
  indexer.close();
  opened.pop();
  // oxlint-disable-next-line typescript/unbound-method -- called with its `this` below
  const { run } = Database.prototype;
  const full = spyOn(Database.prototype, 'run').mockImplementation(function (this: Database, sql) {
    if (this.filename.endsWith(SEARCH_FILE) && sql === 'PRAGMA journal_mode = WAL')
      throw Object.assign(new Error('full'), { code: 'SQLITE_FULL' });
    return run.call(this, sql);
  });
  expect(() => new Indexer(dir, 0)).toThrow('full');
  full.mockRestore();
  newIndexer();
  expect(noted(search())).toEqual(['email 5 email 5 0']);
});

test('entries of log rows that are gone are taken out fifty at a time, both kinds, to the last', () => {
  add('log', 1, 123);
  const indexer = newIndexer();
  while (indexer.step());
  const db = search();
  const left = (): unknown[] =>
    (['triples', 'pairs'] as const).map((kind) => entries(db, 'log', kind)[0]);
  log.run('DELETE FROM logs WHERE seq <= 110');
  const seen: unknown[] = [];
  while (indexer.tidyStep()) seen.push(left());
  expect(seen).toEqual([
    [51, 51],
    [101, 101],
    [111, 111],
  ]);
  log.run('DELETE FROM logs');
  expect([indexer.tidyStep(), left(), indexer.tidyStep()]).toEqual([
    true,
    [undefined, undefined],
    false,
  ]);
});

test('where it is never quiet, fifty go with each step that brings rows', () => {
  add('log', 1, 123);
  const indexer = newIndexer();
  while (indexer.step());
  log.run('DELETE FROM logs WHERE seq <= 110');
  const db = search();
  const left: unknown[] = [];
  for (const seq of [124, 125, 126]) {
    add('log', seq, seq);
    while (indexer.step());
    left.push(entries(db, 'log', 'triples')[0], entries(db, 'log', 'pairs')[0]);
  }
  expect(left).toEqual([51, 51, 101, 101, 111, 111]);
});

test('closes every file that it has opened, those it reads before the index', () => {
  const indexer = new Indexer(dir, 0);
  // oxlint-disable-next-line typescript/unbound-method -- called with its `this` below
  const { close } = Database.prototype;
  const closed: string[] = [];
  const spy = spyOn(Database.prototype, 'close').mockImplementation(function (this: Database) {
    closed.push(basename(this.filename));
    close.call(this, true);
  });
  indexer.close();
  spy.mockRestore();
  expect(closed).toEqual(['mail.db', 'log.db', SEARCH_FILE]);
});

test('is closed on a full disk as well, and says what else went wrong', () => {
  const fails = (code: string): Indexer => {
    const indexer = new Indexer(dir, 0);
    // oxlint-disable-next-line typescript/unbound-method -- called with its `this` below
    const { run } = Database.prototype;
    spyOn(Database.prototype, 'run').mockImplementation(function (this: Database, sql: string) {
      if (sql.includes('wal_checkpoint')) throw Object.assign(new Error(code), { code });
      return run.call(this, sql);
    });
    return indexer;
  };
  fails('SQLITE_FULL').close();
  spyOn(Database.prototype, 'run').mockRestore();
  const broken = fails('SQLITE_IOERR');
  expect(() => broken.close()).toThrow('SQLITE_IOERR');
  spyOn(Database.prototype, 'run').mockRestore();
});
