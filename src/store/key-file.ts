/**
 * The key file: 32 random bytes in the data directory, which seal every secret that a store keeps.
 *
 * Promises that a key is complete on disk before anything is sealed with it, and that only the owner may read it. A key
 * is replaced only by one that was staged before (`secret.key.next`), by a rename: a crash leaves the one or the other.
 * Belongs to the directory and not to one kind of store: the rows hold only sealed bytes. Fails with `OperatorError`
 * when others may read the file or it is not a key.
 */
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fstatSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { errorCode } from '../base/error-code.ts';
import { EXIT_CONFIG, OperatorError } from '../base/errors.ts';
import { MASTER_KEY_BYTES, SecretBox } from '../base/secret-box.ts';

const KEY_FILE = 'secret.key';
/** The key that is to follow: written before the store is sealed under it, renamed after that. */
const NEXT_KEY_FILE = 'secret.key.next';

/** What an operator does whose key is missing, foreign or damaged. */
export const HOW_TO_BRING_BACK =
  'Bring the key back: copy secret.key from a copy of the data directory or from another node, or run `postrider restore --key-only FILE` with a backup, which holds it. A new key cannot open the secrets in the database.';

/** The setting that holds the fingerprint of the key (`SecretBox.fingerprint`). */
export const FINGERPRINT_SETTING = 'key_fingerprint';

/** There is no key beside a database that needs one. */
export function missingKey(dataDir: string): OperatorError {
  return new OperatorError(
    `${keyPath(dataDir)} is missing, and the database beside it holds secrets that only this key opens.`,
    HOW_TO_BRING_BACK,
    EXIT_CONFIG,
  );
}

/** The key beside a database is not the one that its secrets are sealed under. */
export function foreignKey(dataDir: string): OperatorError {
  return new OperatorError(
    `${keyPath(dataDir)} is not the key of the database beside it: another key, or damaged.`,
    HOW_TO_BRING_BACK,
    EXIT_CONFIG,
  );
}

/** `unknown`: no secret is stored that a key could open. */
export type KeyState = 'right' | 'unknown' | OperatorError;

/** Whether the key of `dataDir` is the one with the fingerprint that a store has (null: it has none). */
export function keyState(dataDir: string, fingerprint: string | null): KeyState {
  if (fingerprint === null) return 'unknown';
  try {
    const key = keyIn(dataDir);
    if (key === null) return missingKey(dataDir);
    return new SecretBox(key).fingerprint === fingerprint ? 'right' : foreignKey(dataDir);
  } catch (error) {
    if (error instanceof OperatorError) return error;
    throw error;
  }
}

/** Creates the data directory (mode 0700) when it is missing. Throws `OperatorError` when it cannot. */
export function makeDataDir(dataDir: string): void {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new OperatorError(
      `data_dir: ${dataDir} cannot be created or is not a directory: ${reasonOf(error)}`,
      'Set data_dir to a directory that the service may write to.',
      EXIT_CONFIG,
    );
  }
}

/**
 * The master key (32 bytes) of `dataDir`; creates key and directory when there are none.
 * Throws `OperatorError` when the file is readable by others or has another length.
 */
export function masterKey(dataDir: string): Uint8Array {
  makeDataDir(dataDir);
  const existing = keyIn(dataDir);
  if (existing !== null) return existing;
  create(dataDir, keyPath(dataDir));
  const made = keyIn(dataDir);
  if (made === null) throw new Error('the key file vanished while it was made');
  return made;
}

export function keyPath(dataDir: string): string {
  return join(dataDir, KEY_FILE);
}

/** The master key of `dataDir`; null when there is none. Throws `OperatorError` as `masterKey` does. */
export function keyIn(dataDir: string): Uint8Array | null {
  return read(keyPath(dataDir));
}

/** The master key in a file of any name. Throws `OperatorError` as `masterKey` does, and when there is no such file. */
export function keyFromFile(path: string): Uint8Array {
  const key = read(path);
  if (key !== null) return key;
  throw new OperatorError(`${path} does not exist`, 'Name a copy of secret.key.', EXIT_CONFIG);
}

/** Makes `key` the key of a data directory that has none; creates the directory. Throws `EEXIST` where one is there. */
export function installKey(dataDir: string, key: Uint8Array): void {
  makeDataDir(dataDir);
  writeKey(keyPath(dataDir), key);
  syncDirectory(dataDir);
}

/** The staged key; null when there is none, or one that a crash has left incomplete. */
export function stagedKey(dataDir: string): Uint8Array | null {
  try {
    return read(join(dataDir, NEXT_KEY_FILE));
  } catch (error) {
    if (error instanceof OperatorError) return null;
    throw error;
  }
}

/** Writes the key that is to follow, on disk when this returns. Makes a new one when `key` is not given. */
export function stageKey(
  dataDir: string,
  key: Uint8Array = randomBytes(MASTER_KEY_BYTES),
): Uint8Array {
  const path = join(dataDir, NEXT_KEY_FILE);
  rmSync(path, { force: true });
  writeKey(path, key);
  syncDirectory(dataDir);
  return key;
}

/** Gives the staged key the name of the key: the one before is gone. */
export function promoteKey(dataDir: string): void {
  renameSync(join(dataDir, NEXT_KEY_FILE), keyPath(dataDir));
  syncDirectory(dataDir);
}

/** Removes a staged key, if there is one. */
export function dropStagedKey(dataDir: string): void {
  rmSync(join(dataDir, NEXT_KEY_FILE), { force: true });
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function read(path: string): Uint8Array | null {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null;
    throw error;
  }
  try {
    if ((fstatSync(file).mode & 0o077) !== 0) {
      throw new OperatorError(
        `${path} may be read by other users`,
        `Run: chmod 600 ${path}. If someone may have read it, rotate DKIM keys and webhook secrets.`,
      );
    }
    const key = readFileSync(file);
    if (key.length !== MASTER_KEY_BYTES) {
      throw new OperatorError(
        `${path} has ${key.length} bytes, not ${MASTER_KEY_BYTES}`,
        `The file is damaged. ${HOW_TO_BRING_BACK}`,
        EXIT_CONFIG,
      );
    }
    return key;
  } finally {
    closeSync(file);
  }
}

/** Writes under another name and links that to the final one: a crash leaves a whole key or none. */
function create(dataDir: string, path: string): void {
  const draft = `${path}.${process.pid}`;
  // Of an earlier process of the same number, as in a container, that a crash or a full disk ended.
  rmSync(draft, { force: true });
  writeKey(draft, randomBytes(MASTER_KEY_BYTES));
  try {
    // Unlike a rename, a link never replaces a key that another process has just made.
    linkSync(draft, path);
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
  } finally {
    unlinkSync(draft);
  }
  syncDirectory(dataDir);
}

/** `path` must not exist. */
function writeKey(path: string, key: Uint8Array): void {
  const file = openSync(path, 'wx', 0o600);
  try {
    writeSync(file, key);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function syncDirectory(dataDir: string): void {
  const directory = openSync(dataDir, 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
