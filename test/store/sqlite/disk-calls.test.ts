/**
 * The order in which files are written, synced and named, and with which modes: keys, backups, what is restored and what
 * a transfer writes. A crash between two of these calls must leave one whole state or another.
 */
import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test';
import { Database } from 'bun:sqlite';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { lockDirectory } from '../../../src/store/directory-lock.ts';
import { offerKey } from '../../../src/store/key-offer.ts';
import {
  dropStagedKey,
  installKey,
  masterKey,
  promoteKey,
  stageKey,
} from '../../../src/store/key-file.ts';
import { backUp } from '../../../src/store/sqlite/backup.ts';
import { restoreBackup } from '../../../src/store/sqlite/restore.ts';
import { openFilesTarget } from '../../../src/store/sqlite/transfer-writing.ts';
import { openTestStore } from '../test-store.ts';

let root: string;
let dir: string;
let umask: number;
beforeEach(() => {
  root = fs.mkdtempSync(join(tmpdir(), 'postrider-calls-'));
  dir = join(root, 'data');
  umask = process.umask(0);
});
afterEach(() => {
  process.umask(umask);
  fs.rmSync(root, { recursive: true });
});

const NAMES = [
  'openSync',
  'writeSync',
  'fsyncSync',
  'renameSync',
  'linkSync',
  'unlinkSync',
  'rmSync',
  'chmodSync',
  'mkdirSync',
  'copyFileSync',
] as const;

/** Of SQL: what concerns the files themselves. */
const OF_FILES = /^(PRAGMA|VACUUM|DROP TABLE|BEGIN EXCLUSIVE|ROLLBACK)/;

/** What `work` asks of the disk, in order; paths as they stand in the root, modes in octal. */
function callsOf(work: () => void): string[] {
  const calls: string[] = [];
  const short = (text: string): string =>
    text.replaceAll(`${root}/`, '').replaceAll(root, 'ROOT').replaceAll(`.${process.pid}`, '.PID');
  const pathOf = (file: number): string => fs.readlinkSync(`/proc/self/fd/${file}`);
  const spies = NAMES.map((name) => {
    const real = fs[name] as (...args: unknown[]) => unknown;
    return spyOn(fs, name as 'openSync').mockImplementation(((...args: unknown[]) => {
      const [first, ...rest] = args;
      const isPassing =
        (name === 'openSync' && rest[0] === 'r') ||
        (name === 'rmSync' && !fs.existsSync(first as string));
      const shown = rest.flatMap((arg) =>
        typeof arg === 'number'
          ? arg.toString(8)
          : ArrayBuffer.isView(arg)
            ? `${arg.byteLength} bytes`
            : typeof arg === 'string'
              ? arg
              : Object.values(arg as { mode?: number }).map((each) =>
                  typeof each === 'number' ? each.toString(8) : String(each),
                ),
      );
      const path = typeof first === 'number' ? pathOf(first) : (first as string);
      if (!isPassing) calls.push(short([name.slice(0, -4), path, ...shown].join(' ')));
      return real(...args);
    }) as never);
  });
  // oxlint-disable-next-line typescript/unbound-method -- called with its `this` below
  const { run, close } = Database.prototype;
  const running = spyOn(Database.prototype, 'run').mockImplementation(function (
    this: Database,
    sql,
    ...rest
  ) {
    if (OF_FILES.test(sql)) calls.push(short(`${this.filename}: ${sql}`));
    return run.call(this, sql, ...rest);
  });
  const closing = spyOn(Database.prototype, 'close').mockImplementation(function (
    this: Database,
    ...args
  ) {
    calls.push(short(`close ${this.filename}`));
    return close.apply(this, args);
  });
  try {
    work();
  } finally {
    for (const spy of [...spies, running, closing]) spy.mockRestore();
  }
  return calls;
}

/** A file of 32 bytes that is whole on the disk, with its name. */
const written = (file: string): string[] => [
  `open ${file} wx 600`,
  `write ${file} 32 bytes`,
  `fsync ${file}`,
];
const STAGED = [...written('data/secret.key.next'), 'fsync data'];

test('a key has its name once it is whole, and a staged one replaces it by a rename', () => {
  expect(callsOf(() => void masterKey(dir))).toEqual([
    'mkdir data true 700',
    ...written('data/secret.key.PID'),
    'link data/secret.key.PID data/secret.key',
    'unlink data/secret.key.PID',
    'fsync data',
  ]);
  expect(callsOf(() => void masterKey(dir))).toEqual(['mkdir data true 700']);
  const other = join(root, 'other');
  expect(callsOf(() => installKey(other, Buffer.alloc(32)))).toEqual([
    'mkdir other true 700',
    ...written('other/secret.key'),
    'fsync other',
  ]);
  const twice = callsOf(() => {
    stageKey(dir);
    stageKey(dir);
  });
  expect(twice).toEqual([...STAGED, 'rm data/secret.key.next true', ...STAGED]);
  expect(callsOf(() => promoteKey(dir))).toEqual([
    'rename data/secret.key.next data/secret.key',
    'fsync data',
  ]);
  expect(callsOf(() => dropStagedKey(dir))).toEqual([]);
});

const LOCKED = [
  'open data/lock.db a 600',
  'data/lock.db: PRAGMA busy_timeout = 0',
  'data/lock.db: BEGIN EXCLUSIVE',
];
const UNLOCKED = ['data/lock.db: ROLLBACK', 'close data/lock.db'];

test('an offered key is staged under the lock, beside a second name of the one before', () => {
  masterKey(dir);
  fs.writeFileSync(join(dir, 'secret.key.set-aside'), 'of another time');
  expect(callsOf(() => lockDirectory(dir).release())).toEqual([...LOCKED, ...UNLOCKED]);
  const offered = { undo: (): void => undefined };
  const calls = callsOf(() => Object.assign(offered, offerKey(dir, Buffer.alloc(32))));
  expect(calls).toEqual([
    ...LOCKED,
    'rm data/secret.key.set-aside true',
    'link data/secret.key data/secret.key.set-aside',
    ...STAGED,
    ...UNLOCKED,
  ]);
  expect(callsOf(() => offered.undo())).toEqual([
    'rm data/secret.key.next true',
    'rm data/secret.key.set-aside true',
  ]);
});

/** A copy of the backup under the lock, checked and brought up to date before anything is replaced. */
const copied = (folder: string): string[] => [
  `mkdir ${folder} true 700`,
  ...LOCKED.map((call) => call.replace('data', folder)),
  `copyFile one.backup ${folder}/mail.db.restoring ${fs.constants.COPYFILE_EXCL}`,
  `chmod ${folder}/mail.db.restoring 600`,
  `${folder}/mail.db.restoring: PRAGMA trusted_schema = OFF`,
  `${folder}/mail.db.restoring: PRAGMA cell_size_check = ON`,
  'close :memory:',
  `close ${folder}/mail.db.restoring`,
  `close ${folder}/mail.db.restoring`,
  `${folder}/mail.db.restoring: PRAGMA secure_delete = ON`,
  `${folder}/mail.db.restoring: DROP TABLE backup_key`,
  `close ${folder}/mail.db.restoring`,
  `fsync ${folder}/mail.db.restoring`,
];

/** The new key is there before the new data, and has its name after them. */
const replaced = (folder: string): string[] => [
  ...STAGED.map((call) => call.replace('data', folder)),
  `rename ${folder}/mail.db.restoring ${folder}/mail.db`,
  `fsync ${folder}`,
  `rename ${folder}/secret.key.next ${folder}/secret.key`,
  `fsync ${folder}`,
];

test('a backup has its name once it is whole; what is restored replaces what was set aside, the key last', async () => {
  await (await openTestStore(dir)).close();
  masterKey(dir);
  const file = join(root, 'one.backup');
  fs.writeFileSync(`${file}.part`, 'of a server that was killed', { mode: 0o644 });
  expect(callsOf(() => void backUp(dir, file))).toEqual([
    'rm one.backup.part true',
    'open one.backup.part wx 600',
    'data/mail.db: VACUUM INTO ?',
    'close data/mail.db',
    // The key was put in; the whole was checked.
    'close one.backup.part',
    'close one.backup.part',
    'fsync one.backup.part',
    'rename one.backup.part one.backup',
    'fsync ROOT',
  ]);
  const aside = 'data/before-restore-19700101T000000Z';
  for (const name of ['mail.db.restoring', 'mail.db.restoring-wal'])
    fs.writeFileSync(join(dir, name), 'of a restore that was killed');
  expect(callsOf(() => void restoreBackup(file, dir, 0))).toEqual([
    ...copied('data').toSpliced(
      4,
      0,
      'rm data/mail.db.restoring true',
      'rm data/mail.db.restoring-wal true',
    ),
    'data/mail.db: PRAGMA wal_checkpoint(TRUNCATE)',
    'close data/mail.db',
    `mkdir ${aside} 700`,
    `link data/mail.db ${aside}/mail.db`,
    `link data/secret.key ${aside}/secret.key`,
    `fsync ${aside}`,
    ...replaced('data'),
    'rm data/search.db true',
    'fsync data',
    ...UNLOCKED,
  ]);
  expect(callsOf(() => void restoreBackup(file, join(root, 'new'), 0))).toEqual([
    ...copied('new'),
    ...replaced('new'),
    'fsync new',
    ...UNLOCKED.map((call) => call.replace('data', 'new')),
  ]);
});

test('a backup is synced by the descriptor that made its file, which is told of every error since (fsync(2))', async () => {
  await (await openTestStore(dir)).close();
  masterKey(dir);
  const opening = spyOn(fs, 'openSync');
  const syncing = spyOn(fs, 'fsyncSync');
  const closing = spyOn(fs, 'closeSync');
  backUp(dir, join(root, 'one.backup'));
  const at = opening.mock.calls.findIndex(([, flags]) => flags === 'wx');
  const made: unknown = opening.mock.results[at]?.value;
  const [synced, closed] = [syncing, closing].map(({ mock }) => mock.calls.map(([file]) => file));
  for (const spy of [opening, syncing, closing]) spy.mockRestore();
  expect(made).toBeNumber();
  expect([made, made]).toEqual([synced?.[0], closed?.at(-1)]);
});

test('a transfer writes drafts that do not wait for the disk; they are synced before they get their names, the mail last', () => {
  fs.mkdirSync(dir);
  const ends = ['', '-journal', '-wal', '-shm'];
  const old = ['mail', 'log'].flatMap((name) =>
    ends.map((end) => `data/${name}.db.migrating${end}`),
  );
  for (const name of old) fs.writeFileSync(join(root, name), 'of a transfer that was cut off');
  const calls = callsOf(() => {
    const target = openFilesTarget(dir, 7);
    void target.begin([]);
    void target.complete();
    void target.settle();
    void target.close();
  });
  const opened = (name: string): string[] => [
    `open data/${name}.db.migrating wx 600`,
    ...[
      'journal_mode = OFF',
      'synchronous = OFF',
      'locking_mode = EXCLUSIVE',
      'cache_size = -64000',
      'foreign_keys = OFF',
    ].map((setting) => `data/${name}.db.migrating: PRAGMA ${setting}`),
  ];
  const closed = (name: string): string[] => [
    `data/${name}.db.migrating: PRAGMA journal_mode = WAL`,
    `close data/${name}.db.migrating`,
  ];
  const named = (name: string): string[] => [
    `fsync data/${name}.db.migrating`,
    `rename data/${name}.db.migrating data/${name}.db`,
    'fsync data',
  ];
  expect(calls).toEqual([
    ...old.map((name) => `rm ${name} true`),
    ...opened('mail'),
    ...opened('log'),
    'data/mail.db.migrating: PRAGMA temp_store = FILE',
    'data/log.db.migrating: PRAGMA temp_store = FILE',
    ...closed('mail'),
    ...closed('log'),
    ...named('log'),
    ...named('mail'),
    'close data/mail.db.migrating',
    'close data/log.db.migrating',
  ]);
});

test('what is no backup is not copied', () => {
  const file = join(root, 'no.backup');
  fs.writeFileSync(file, 'text');
  const calls = callsOf(() => expect(() => restoreBackup(file, dir, 0)).toThrow('not a database'));
  expect(calls.filter((call) => call.includes(' data/mail.db'))).toEqual([]);
  expect(calls.filter((call) => call.startsWith('copyFile'))).toEqual([]);
  expect(calls[0]).toBe('mkdir data true 700');
});
