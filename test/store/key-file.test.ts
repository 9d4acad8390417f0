/** The key file, the key offered to a directory, and the lock of the directory: what is written, kept and refused. */
import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test';
import * as fs from 'node:fs';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { EXIT_CONFIG, OperatorError } from '../../src/base/errors.ts';
import { SecretBox } from '../../src/base/secret-box.ts';
import { DirectoryInUseError, lockDirectory } from '../../src/store/directory-lock.ts';
import {
  HOW_TO_BRING_BACK,
  dropStagedKey,
  installKey,
  keyFromFile,
  keyIn,
  keyState,
  makeDataDir,
  masterKey,
  promoteKey,
  stageKey,
  stagedKey,
} from '../../src/store/key-file.ts';
import { offerKey } from '../../src/store/key-offer.ts';

let root: string;
let dir: string;
let file: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'postrider-key-'));
  dir = join(root, 'data', 'inner');
  file = join(dir, 'secret.key');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** What an operator is told, with what is different on each machine left out. */
function toldBy(thing: unknown): unknown {
  if (!(thing instanceof OperatorError)) return thing;
  const [message, hint] = [thing.message, thing.hint].map((text) => text.replaceAll(root, 'ROOT'));
  return [message, hint, thing.exitCode];
}

function thrownBy(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return toldBy(error);
  }
  return 'nothing';
}

const KEY = Buffer.alloc(32, 1);
const OTHER = Buffer.alloc(32, 2);
const MISSING = [
  'ROOT/data/inner/secret.key is missing, and the database beside it holds secrets that only this key opens.',
  HOW_TO_BRING_BACK,
  EXIT_CONFIG,
];
const FOREIGN = [
  'ROOT/data/inner/secret.key is not the key of the database beside it: another key, or damaged.',
  HOW_TO_BRING_BACK,
  EXIT_CONFIG,
];
const DAMAGED = [
  'ROOT/data/inner/secret.key has 31 bytes, not 32',
  `The file is damaged. ${HOW_TO_BRING_BACK}`,
  EXIT_CONFIG,
];
const OPEN = [
  'ROOT/data/inner/secret.key may be read by other users',
  'Run: chmod 600 ROOT/data/inner/secret.key. If someone may have read it, rotate DKIM keys and webhook secrets.',
  1,
];

test('a key is made once, with its directory, for its owner alone', () => {
  const before = process.umask(0);
  const key = masterKey(dir);
  process.umask(before);
  expect(key).toHaveLength(32);
  expect(Buffer.from(key).equals(Buffer.alloc(32))).toBe(false);
  expect(readdirSync(dir)).toEqual(['secret.key']);
  expect([statSync(dir).mode & 0o777, statSync(file).mode & 0o777]).toEqual([0o700, 0o600]);
  expect(readFileSync(file).equals(key)).toBe(true);
  expect(masterKey(dir)).toEqual(key);
  expect(masterKey(join(root, 'another'))).not.toEqual(key);
});

test('the state of a key beside the data says what is wrong with it', () => {
  const fingerprint = new SecretBox(KEY).fingerprint;
  const state = (): unknown => toldBy(keyState(dir, fingerprint));
  expect([state(), keyState(dir, null)]).toEqual([MISSING, 'unknown']);
  installKey(dir, KEY);
  expect([state(), keyState(dir, null)]).toEqual(['right', 'unknown']);
  expect(thrownBy(() => installKey(dir, OTHER))).toMatchObject({ code: 'EEXIST' });
  expect(keyIn(dir)).toEqual(KEY);
  writeFileSync(file, OTHER);
  expect(state()).toEqual(FOREIGN);
  writeFileSync(file, KEY.subarray(1));
  expect(state()).toEqual(DAMAGED);
  for (const mode of [0o640, 0o604, 0o620, 0o610, 0o602, 0o601]) {
    chmodSync(file, mode);
    expect([mode, state()]).toEqual([mode, OPEN]);
  }
  unlinkSync(file);
  mkdirSync(file, { mode: 0o700 });
  expect(() => keyState(dir, fingerprint)).toThrow('EISDIR');
});

test('a key file that cannot be used is refused, not replaced', () => {
  makeDataDir(dir);
  writeFileSync(file, KEY.subarray(1), { mode: 0o600 });
  for (const use of [masterKey, keyIn]) expect(thrownBy(() => use(dir))).toEqual(DAMAGED);
  expect(thrownBy(() => keyFromFile(file))).toEqual(DAMAGED);
  expect(readFileSync(file)).toHaveLength(31);
  const nowhere = join(root, 'no.key');
  expect(thrownBy(() => keyFromFile(nowhere))).toEqual([
    'ROOT/no.key does not exist',
    'Name a copy of secret.key.',
    EXIT_CONFIG,
  ]);
  writeFileSync(nowhere, OTHER, { mode: 0o600 });
  expect(keyFromFile(nowhere)).toEqual(OTHER);
  expect(thrownBy(() => makeDataDir(join(nowhere, 'data')))).toEqual([
    expect.stringMatching(
      /^data_dir: ROOT\/no\.key\/data cannot be created or is not a directory: ENOTDIR/,
    ),
    'Set data_dir to a directory that the service may write to.',
    EXIT_CONFIG,
  ]);
});

test('a key that cannot be opened, or not be given its name, is said: no other is made in its stead', () => {
  makeDataDir(dir);
  symlinkSync('secret.key', file);
  for (const use of [masterKey, keyIn]) expect(() => use(dir)).toThrow('ELOOP');
  unlinkSync(file);
  const linking = spyOn(fs, 'linkSync').mockImplementation(() => {
    throw Object.assign(new Error('no links here'), { code: 'EPERM' });
  });
  expect(() => masterKey(dir)).toThrow('no links here');
  linking.mockRestore();
  expect(readdirSync(dir)).toEqual([]);
});

test('a key that another process makes at the same moment is the key', () => {
  makeDataDir(dir);
  const linking = spyOn(fs, 'linkSync').mockImplementation(() => {
    writeFileSync(file, OTHER, { mode: 0o600 });
    throw Object.assign(new Error('there is one'), { code: 'EEXIST' });
  });
  const key = masterKey(dir);
  linking.mockRestore();
  expect(key).toEqual(OTHER);
  expect(readdirSync(dir)).toEqual(['secret.key']);
});

test('a key that is gone as soon as it was made is a fault, and no key is drawn for it', () => {
  makeDataDir(dir);
  const linking = spyOn(fs, 'linkSync').mockImplementation(() => undefined);
  expect(() => masterKey(dir)).toThrow('the key file vanished while it was made');
  linking.mockRestore();
  expect(readdirSync(dir)).toEqual([]);
});

test('what an earlier process of the same number has left half-made keeps no key from being made', () => {
  makeDataDir(dir);
  // In a container every start may have the same number; this one ended before it had written all.
  writeFileSync(`${file}.${process.pid}`, KEY.subarray(1));
  const key = masterKey(dir);
  expect([key.length, statSync(file).mode & 0o777]).toEqual([32, 0o600]);
  expect(Buffer.from(key).subarray(0, 31).equals(KEY.subarray(1))).toBe(false);
  expect(readdirSync(dir)).toEqual(['secret.key']);
});

test('a staged key waits beside the key, is replaced whole, and follows or goes', () => {
  installKey(dir, KEY);
  expect(stagedKey(dir)).toBeNull();
  const next = join(dir, 'secret.key.next');
  const made = stageKey(dir);
  expect(made).toHaveLength(32);
  expect([stagedKey(dir), keyIn(dir)]).toEqual([Buffer.from(made), KEY]);
  expect(stageKey(dir, OTHER)).toBe(OTHER);
  expect([stagedKey(dir), statSync(next).mode & 0o777]).toEqual([OTHER, 0o600]);
  // As a crash leaves it.
  writeFileSync(next, OTHER.subarray(1));
  expect(stagedKey(dir)).toBeNull();
  stageKey(dir, OTHER);
  promoteKey(dir);
  expect([keyIn(dir), readdirSync(dir)]).toEqual([OTHER, ['secret.key']]);
  stageKey(dir, KEY);
  dropStagedKey(dir);
  dropStagedKey(dir);
  expect([keyIn(dir), readdirSync(dir)]).toEqual([OTHER, ['secret.key']]);
  mkdirSync(next, { mode: 0o700 });
  expect(() => stagedKey(dir)).toThrow('EISDIR');
});

/** The files of the directory that hold keys, with which key it is. */
function keys(): Record<string, number | undefined> {
  const names = readdirSync(dir).filter((name) => name.startsWith('secret.key'));
  return Object.fromEntries(
    names.toSorted().map((name) => [name, readFileSync(join(dir, name))[0]]),
  );
}

test('an offered key is staged; the one it replaces is kept, with its mode, until another is replaced', () => {
  installKey(dir, KEY);
  const aside = `${file}.set-aside`;
  writeFileSync(aside, 'of an earlier offer');
  const offered = offerKey(dir, OTHER);
  expect(keys()).toEqual({ 'secret.key': 1, 'secret.key.next': 2, 'secret.key.set-aside': 1 });
  promoteKey(dir);
  expect(offered.setAside()).toBe(aside);
  expect(keys()).toEqual({ 'secret.key': 2, 'secret.key.set-aside': 1 });
  expect(statSync(aside).mode & 0o777).toBe(0o600);
});

test('nothing is set aside where the key stayed, or where there was none', () => {
  installKey(dir, KEY);
  const refused = offerKey(dir, OTHER);
  dropStagedKey(dir);
  expect(refused.setAside()).toBeNull();
  expect(keys()).toEqual({ 'secret.key': 1 });
  unlinkSync(file);
  writeFileSync(`${file}.set-aside`, 'of an earlier offer');
  const offered = offerKey(dir, OTHER);
  expect(keys()).toEqual({ 'secret.key.next': 2 });
  promoteKey(dir);
  expect([offered.setAside(), keys()]).toEqual([null, { 'secret.key': 2 }]);
});

test('an offer that is taken back leaves the directory as it was, and one to a running server does nothing', () => {
  installKey(dir, KEY);
  offerKey(dir, OTHER).undo();
  expect(keys()).toEqual({ 'secret.key': 1 });
  const lock = lockDirectory(dir);
  expect(() => offerKey(dir, OTHER)).toThrow(DirectoryInUseError);
  expect(keys()).toEqual({ 'secret.key': 1 });
  lock.release();
  offerKey(dir, OTHER);
  // Each offer gives the lock back.
  lockDirectory(dir).release();
});

test('an offer that cannot be written leaves the directory as it was, and its lock free', () => {
  installKey(dir, KEY);
  const writing = spyOn(fs, 'writeSync').mockImplementation(() => {
    throw Object.assign(new Error('full'), { code: 'ENOSPC' });
  });
  expect(() => offerKey(dir, OTHER)).toThrow('full');
  writing.mockRestore();
  expect(keys()).toEqual({ 'secret.key': 1 });
  lockDirectory(dir).release();
});

test('no key file stays open, whether it was a key or not', () => {
  const open = (): string[] =>
    fs.readdirSync('/proc/self/fd').flatMap((fd) => {
      try {
        const path = fs.readlinkSync(`/proc/self/fd/${fd}`);
        return path.startsWith(root) ? [path.slice(root.length)] : [];
      } catch {
        // The one that lists them.
        return [];
      }
    });
  masterKey(dir);
  stageKey(dir);
  promoteKey(dir);
  writeFileSync(file, KEY.subarray(1));
  expect(thrownBy(() => keyIn(dir))).toEqual(DAMAGED);
  expect(thrownBy(() => installKey(dir, OTHER))).toMatchObject({ code: 'EEXIST' });
  expect(open()).toEqual([]);
});

test('a directory is locked once: the second is told who has it, as far as that is known', () => {
  makeDataDir(dir);
  const before = process.umask(0);
  const lock = lockDirectory(dir);
  process.umask(before);
  const pidFile = join(dir, 'postrider.pid');
  expect(readFileSync(pidFile, 'utf8')).toBe(`${process.pid}\n`);
  for (const name of ['lock.db', 'postrider.pid']) {
    expect([name, statSync(join(dir, name)).mode & 0o777]).toEqual([name, 0o600]);
  }
  const refusal = (pid: string | number): unknown => [
    `another process (pid ${pid}) uses the data directory ROOT/data/inner`,
    'Stop the running server first, or give this one a data_dir of its own.',
    1,
  ];
  expect(thrownBy(() => lockDirectory(dir))).toEqual(refusal(process.pid));
  unlinkSync(pidFile);
  expect(thrownBy(() => lockDirectory(dir))).toEqual(refusal('unknown'));
  // Who was refused has written no pid.
  expect(existsSync(pidFile)).toBe(false);
  lock.release();
  writeFileSync(pidFile, '1\n');
  const next = lockDirectory(dir);
  expect(readFileSync(pidFile, 'utf8')).toBe(`${process.pid}\n`);
  next.release();
});

test('whoever has let go of a lock, or was refused it, has its file open no longer', () => {
  makeDataDir(dir);
  const open = (): number =>
    fs.readdirSync('/proc/self/fd').filter((fd) => {
      try {
        return fs.readlinkSync(`/proc/self/fd/${fd}`).startsWith(join(dir, 'lock.db'));
      } catch {
        return false;
      }
    }).length;
  const lock = lockDirectory(dir);
  const files = open();
  expect(files).toBeGreaterThan(0);
  expect(() => lockDirectory(dir)).toThrow(DirectoryInUseError);
  // SQLite keeps a file of which the process holds a lock until that is given back.
  lock.release();
  expect(open()).toBe(0);
  writeFileSync(join(dir, 'lock.db'), Buffer.alloc(8_192, 'garbage'));
  expect(() => lockDirectory(dir)).toThrow();
  expect(open()).toBe(0);
});

test('on a full disk a locked directory has no pid rather than the one of before', () => {
  makeDataDir(dir);
  const pidFile = join(dir, 'postrider.pid');
  writeFileSync(pidFile, '1\n');
  const writing = spyOn(fs, 'writeFileSync').mockImplementation(() => {
    throw Object.assign(new Error('full'), { code: 'ENOSPC' });
  });
  const lock = lockDirectory(dir);
  writing.mockRestore();
  expect(existsSync(pidFile)).toBe(false);
  lock.release();
});

test('a lock file that is damaged is no other process', () => {
  makeDataDir(dir);
  writeFileSync(join(dir, 'lock.db'), Buffer.alloc(8_192, 'garbage'));
  expect(thrownBy(() => lockDirectory(dir))).toMatchObject({ code: 'SQLITE_NOTADB' });
  // Without it the next start makes another.
  rmSync(join(dir, 'lock.db'));
  lockDirectory(dir).release();
  // A pid that cannot be written is said.
  rmSync(join(dir, 'postrider.pid'));
  mkdirSync(join(dir, 'postrider.pid'));
  expect(thrownBy(() => lockDirectory(dir))).toMatchObject({ code: 'EISDIR' });
  // The lock is free again when that was repaired.
  rmSync(join(dir, 'postrider.pid'), { recursive: true });
  lockDirectory(dir).release();
});
