/** What a backup and a restore say when they refuse, and what either removes of attempts that a crash has ended. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, spyOn, test } from 'bun:test';
import { Database } from 'bun:sqlite';
import * as fs from 'node:fs';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { EXIT_CONFIG, OperatorError } from '../../../src/base/errors.ts';
import { SecretBox } from '../../../src/base/secret-box.ts';
import { FINGERPRINT_SETTING, HOW_TO_BRING_BACK, masterKey } from '../../../src/store/key-file.ts';
import { backUp, verifyBackup } from '../../../src/store/sqlite/backup.ts';
import { openForWriting } from '../../../src/store/sqlite/database.ts';
import { MAIL_MIGRATIONS, migrate } from '../../../src/store/sqlite/migrations.ts';
import { inspectKey } from '../../../src/store/sqlite/key-inspection.ts';
import { keyOfBackup, restoreBackup } from '../../../src/store/sqlite/restore.ts';

const AT = Date.UTC(2026, 0, 15, 12);

let template: string;
let root: string;
let dir: string;
let file: string;
let key: Uint8Array;

beforeAll(() => {
  template = mkdtempSync(join(tmpdir(), 'postrider-restore-'));
  key = masterKey(template);
  const db = openForWriting(join(template, 'mail.db'), 'normal');
  migrate(db, MAIL_MIGRATIONS, 0);
  db.prepare('INSERT INTO settings (name, value) VALUES (?, ?)').run(
    FINGERPRINT_SETTING,
    new SecretBox(key).fingerprint,
  );
  db.close();
  backUp(template, join(template, 'whole.backup'));
});
afterAll(() => rmSync(template, { recursive: true }));

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'postrider-restore-'));
  dir = join(root, 'data');
  file = join(root, 'one.backup');
  mkdirSync(dir, { mode: 0o700 });
  for (const name of ['mail.db', 'secret.key']) copyFileSync(join(template, name), join(dir, name));
  copyFileSync(join(template, 'whole.backup'), file);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** What an operator is told, with what is different on each machine left out. */
function toldBy(action: () => unknown): unknown {
  try {
    action();
    return 'nothing';
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    const text = (said: string): string => said.replaceAll(root, 'ROOT');
    return [text(error.message), text(error.hint), error.exitCode];
  }
}

const NAME_ONE = 'Name a file that postrider backup has made.';

/** A database of these statements. */
function write(...statements: string[]): void {
  rmSync(file, { force: true });
  const db = new Database(file);
  for (const statement of statements) db.run(statement);
  db.close();
}

test('a restore says what is wrong with the file, and its key alone says the same or less', () => {
  const fresh = (sql: string): void => {
    rmSync(file);
    copyFileSync(join(template, 'whole.backup'), file);
    const db = new Database(file);
    db.run(sql);
    db.close();
  };
  const text = (): void => {
    rmSync(file, { recursive: true });
    writeFileSync(file, 'no database');
  };
  const cases: [string, () => void][] = [
    ['missing', () => unlinkSync(file)],
    ['a folder', () => mkdirSync(file)],
    ['text', text],
    ['another database', () => write('CREATE TABLE notes (text)')],
    ['longer than the disk', () => truncateSync(file, 2 ** 43)],
    ['no key in it', () => fresh('DELETE FROM backup_key')],
    ['a short key', () => fresh("UPDATE backup_key SET key = x'00'")],
    ['newer', () => fresh("INSERT INTO migrations VALUES (9999, 'later', 'x', 0)")],
  ];
  const before = readFileSync(join(dir, 'mail.db'));
  const seen = cases.map(([what, make]) => {
    make();
    return [what, toldBy(() => restoreBackup(file, dir, AT)), toldBy(() => keyOfBackup(file))];
  });
  const noBackup = [
    'the file is a database, but not a backup of Postrider',
    `${NAME_ONE} Nothing was changed.`,
    1,
  ];
  const incomplete = (reason: string): unknown => [
    `ROOT/one.backup is not a complete backup: ${reason}`,
    `${NAME_ONE} Nothing was changed.`,
    1,
  ];
  const missing = ['ROOT/one.backup does not exist', NAME_ONE, 1];
  const folder = ['ROOT/one.backup is not a file', NAME_ONE, 1];
  const tooLarge = [
    'ROOT/one.backup does not fit on the disk of ROOT/data',
    'Free as much space as the backup takes. Nothing was changed.',
    1,
  ];
  const newer = [
    'ROOT/one.backup has schema version 9999, newer than this program knows',
    'Run the release that wrote it, or a later one; or restore the backup made before the upgrade.',
    1,
  ];
  expect(seen).toEqual([
    ['missing', missing, missing],
    ['a folder', folder, folder],
    ['text', incomplete('not a database'), noBackup],
    ['another database', incomplete('it has no history of migrations'), noBackup],
    ['longer than the disk', tooLarge, noBackup],
    ['no key in it', noBackup, noBackup],
    ['a short key', noBackup, noBackup],
    ['newer', newer, newer],
  ]);
  expect(readFileSync(join(dir, 'mail.db')).equals(before)).toBe(true);
  expect(readdirSync(dir).toSorted()).toEqual([
    'lock.db',
    'mail.db',
    'postrider.pid',
    'secret.key',
  ]);
});

test('what a crash has left of a restore, and the search index, are removed; the lock is given back', () => {
  const drafts = ['', '-journal', '-wal', '-shm'].map((end) => `mail.db.restoring${end}`);
  const index = ['search.db', 'search.db-wal', 'search.db-shm'];
  for (const name of [...drafts, ...index]) writeFileSync(join(dir, name), 'of a crash');
  expect(restoreBackup(file, dir, AT)).toEqual({
    rows: {
      accounts: 0,
      api_keys: 0,
      domains: 0,
      messages: 0,
      recipients: 0,
      events: 0,
      suppressions: 0,
    },
    setAside: join(dir, 'before-restore-20260115T120000Z'),
  });
  expect(readdirSync(dir).toSorted()).toEqual([
    'before-restore-20260115T120000Z',
    'lock.db',
    'mail.db',
    'postrider.pid',
    'secret.key',
  ]);
  expect(readFileSync(join(dir, 'secret.key')).equals(key)).toBe(true);
  // Twice: the first has let go of the directory.
  expect(restoreBackup(file, dir, AT).setAside).toBe(
    join(dir, 'before-restore-20260115T120000Z-2'),
  );
  const empty = join(root, 'empty');
  expect(restoreBackup(file, empty, AT).setAside).toBeNull();
  expect(Buffer.from(keyOfBackup(file)).equals(key)).toBe(true);
});

test('a backup of an older schema is brought up to date at the time of the restore', () => {
  const old = new Database(join(dir, 'old.db'));
  migrate(old, MAIL_MIGRATIONS.slice(0, -1), 0);
  old.run('CREATE TABLE backup_key (key BLOB NOT NULL) STRICT');
  old.run('INSERT INTO backup_key VALUES (?)', [key]);
  old.close();
  restoreBackup(join(dir, 'old.db'), dir, AT);
  const restored = new Database(join(dir, 'mail.db'), { readonly: true });
  const steps = restored.query('SELECT applied_at FROM migrations ORDER BY version').values();
  restored.close();
  expect(steps).toHaveLength(MAIL_MIGRATIONS.length);
  expect(steps.slice(-2)).toEqual([[0], [AT]]);
});

test('the log of a damaged file is not taken for that of the restored one, and stays under another name', () => {
  writeFileSync(join(dir, 'mail.db'), 'damaged'.repeat(1_000));
  writeFileSync(join(dir, 'mail.db-wal'), 'a log');
  restoreBackup(file, dir, AT);
  expect(readFileSync(join(dir, 'mail.db.damaged-wal'), 'utf8')).toBe('a log');
  for (const name of ['mail.db-wal', 'mail.db-shm'])
    expect(existsSync(join(dir, name))).toBe(false);
});

test('where no folder can be made for what was there, nothing is replaced', () => {
  const before = readFileSync(join(dir, 'mail.db'));
  const making = spyOn(fs, 'mkdirSync').mockImplementation(((path: string) => {
    if (path.includes('before-restore')) throw Object.assign(new Error('full'), { code: 'ENOSPC' });
  }) as never);
  try {
    expect(() => restoreBackup(file, dir, AT)).toThrow('full');
  } finally {
    making.mockRestore();
  }
  expect(readFileSync(join(dir, 'mail.db')).equals(before)).toBe(true);
});

test('a backup that fits to the last byte is restored', () => {
  const statfs = spyOn(fs, 'statfsSync');
  const freeFor = (bytes: number): void => {
    // On another disk there is plenty; blocks that only the system may use are not free.
    statfs.mockImplementation(((path: string) => ({
      bavail: path === dir ? bytes : 1e12,
      bsize: 1,
      bfree: 1e12,
    })) as never);
  };
  const { size } = statSync(file);
  freeFor(size - 1);
  const refused = toldBy(() => restoreBackup(file, dir, AT));
  freeFor(size);
  const taken = toldBy(() => restoreBackup(file, dir, AT));
  statfs.mockRestore();
  expect([refused, taken]).toEqual([
    [
      'ROOT/one.backup does not fit on the disk of ROOT/data',
      'Free as much space as the backup takes. Nothing was changed.',
      1,
    ],
    'nothing',
  ]);
});

test('a file that becomes another one while it is copied is refused as that', () => {
  const copying = spyOn(fs, 'copyFileSync').mockImplementation((_, draft) => {
    writeFileSync(draft, 'no database');
  });
  const told = toldBy(() => restoreBackup(file, dir, AT));
  copying.mockRestore();
  expect(told).toEqual([
    'ROOT/one.backup is not a complete backup: not a database',
    `${NAME_ONE} Nothing was changed.`,
    1,
  ]);
  expect(existsSync(join(dir, 'mail.db.restoring'))).toBe(false);
});

test('a backup says why it was not made, and leaves nothing behind', () => {
  const to = join(root, 'new.backup');
  for (const end of ['', '-journal', '-wal', '-shm'])
    writeFileSync(`${to}.part${end}`, 'of a crash');
  expect(toldBy(() => backUp(dir, file))).toEqual([
    'ROOT/one.backup already exists',
    'Name a file that does not exist yet.',
    1,
  ]);
  writeFileSync(join(dir, 'secret.key'), Buffer.alloc(32, 1));
  expect(toldBy(() => backUp(dir, to))).toEqual([
    'ROOT/data/secret.key is not the key of the database beside it: another key, or damaged.',
    HOW_TO_BRING_BACK,
    EXIT_CONFIG,
  ]);
  unlinkSync(join(dir, 'secret.key'));
  expect(toldBy(() => backUp(dir, to))).toEqual([
    'ROOT/data/secret.key is missing, and the database beside it holds secrets that only this key opens.',
    HOW_TO_BRING_BACK,
    EXIT_CONFIG,
  ]);
  expect(toldBy(() => backUp(dir, join(root, 'no-folder', 'new.backup')))).toEqual([
    expect.stringMatching(
      /^the backup ROOT\/no-folder\/new\.backup cannot be written: ENOENT.*ROOT\/no-folder\/new\.backup\.part/,
    ),
    'Name a folder that the user of the server may write to. Nothing was left behind.',
    1,
  ]);
  expect(readdirSync(root).toSorted()).toEqual(['data', 'one.backup']);
  copyFileSync(join(template, 'secret.key'), join(dir, 'secret.key'));
  // oxlint-disable-next-line typescript/unbound-method -- called with its `this` below
  const { run } = Database.prototype;
  const full = spyOn(Database.prototype, 'run').mockImplementation(function (
    this: Database,
    sql,
    ...rest
  ) {
    if (sql.startsWith('VACUUM')) throw Object.assign(new Error('full'), { code: 'SQLITE_FULL' });
    return run.call(this, sql, ...rest);
  });
  const told = toldBy(() => backUp(dir, to));
  full.mockRestore();
  expect(told).toEqual([
    'the backup ROOT/new.backup does not fit: the disk is full',
    'Name a file on a disk with more free space than mail.db takes. Nothing was left behind.',
    1,
  ]);
  expect(readdirSync(root).toSorted()).toEqual(['data', 'one.backup']);
  // A store without a fingerprint yet has no secret that another key could have sealed.
  const db = new Database(join(dir, 'mail.db'));
  db.run('DELETE FROM settings');
  db.close();
  expect(backUp(dir, to)).toMatchObject({ file: to, bytes: statSync(to).size });
  expect(existsSync(`${to}.part`)).toBe(false);
});

test('a damaged copy is named with three of its faults', () => {
  write(
    'PRAGMA page_size = 4096',
    'CREATE TABLE rows (name)',
    'CREATE INDEX rows_by_name ON rows (name)',
    "INSERT INTO rows VALUES ('a'), ('b'), ('c'), ('d'), ('e')",
  );
  // The page of the index says that it has no rows.
  const content = readFileSync(file);
  content.writeUInt16BE(0, 2 * 4_096 + 3);
  writeFileSync(file, content);
  expect(toldBy(() => verifyBackup(file))).toEqual([
    expect.stringMatching(/^ROOT\/one\.backup is damaged: [^;]+; [^;]+; [^;]+$/),
    'Check the disk, then take another backup; keep the older ones.',
    1,
  ]);
});

test('a key without its database is set aside as well, and a log without its database is not taken for that of the restored one', () => {
  const other = Buffer.alloc(32, 7);
  writeFileSync(join(dir, 'secret.key'), other, { mode: 0o600 });
  // What a killed server leaves beside a file that somebody has moved away.
  const db = openForWriting(join(dir, 'mail.db'), 'normal');
  db.run("INSERT INTO settings VALUES ('of', 'the old one')");
  const left = readFileSync(join(dir, 'mail.db-wal'));
  expect(left.length).toBeGreaterThan(0);
  db.close();
  unlinkSync(join(dir, 'mail.db'));
  writeFileSync(join(dir, 'mail.db-wal'), left);
  const { setAside } = restoreBackup(file, dir, AT);
  expect(setAside).toBe(join(dir, 'before-restore-20260115T120000Z'));
  expect(readdirSync(setAside ?? '')).toEqual(['secret.key']);
  expect(readFileSync(join(setAside ?? '', 'secret.key')).equals(other)).toBe(true);
  expect(Buffer.from(masterKey(dir)).equals(key)).toBe(true);
  expect(readFileSync(join(dir, 'mail.db.damaged-wal')).equals(left)).toBe(true);
  const restored = new Database(join(dir, 'mail.db'), { readonly: true });
  expect(restored.query('SELECT name FROM settings').values()).toEqual([[FINGERPRINT_SETTING]]);
  restored.close();
});

test('whoever looks at a backup lets go of it, also where it has no key', () => {
  // oxlint-disable-next-line typescript/unbound-method -- called with its `this` below
  const { close } = Database.prototype;
  const closed: string[] = [];
  const closing = spyOn(Database.prototype, 'close').mockImplementation(function (this: Database) {
    closed.push(this.filename.replace(root, 'ROOT'));
    close.call(this);
  });
  const looked = (look: () => unknown): unknown => {
    closed.length = 0;
    toldBy(look);
    return [...closed];
  };
  try {
    // The schema that it should have is made in memory.
    const both = [':memory:', 'ROOT/one.backup', 'ROOT/one.backup'];
    expect(looked(() => keyOfBackup(file))).toEqual(both);
    expect(looked(() => verifyBackup(file))).toEqual(['ROOT/one.backup']);
    write('CREATE TABLE notes (text)');
    expect(looked(() => keyOfBackup(file))).toEqual(both.slice(0, 2));
    copyFileSync(join(template, 'whole.backup'), file);
    const db = new Database(file);
    db.run('DELETE FROM backup_key');
    close.call(db);
    expect(looked(() => keyOfBackup(file))).toEqual(both);
    const draft = ['ROOT/data/mail.db.restoring', 'ROOT/data/mail.db.restoring'];
    expect(looked(() => restoreBackup(file, dir, AT))).toEqual([
      ':memory:',
      ...draft,
      'ROOT/data/mail.db.restoring',
      'ROOT/data/lock.db',
    ]);
    expect(looked(() => inspectKey(dir))).toEqual(['ROOT/data/mail.db']);
    unlinkSync(join(dir, 'secret.key'));
    expect(looked(() => inspectKey(dir))).toEqual(['ROOT/data/mail.db']);
  } finally {
    closing.mockRestore();
  }
});
