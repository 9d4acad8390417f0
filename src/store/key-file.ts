/**
 * The key file: 32 random bytes in the data directory, from which every secret at rest is sealed.
 *
 * Promises that a key is complete on disk before anything is sealed with it, and that only the owner
 * may read it. Never replaces a key: without the old one, sealed secrets are lost. Fails with
 * `OperatorError` when others may read the file or it is not a key.
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
  unlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { EXIT_CONFIG } from '../base/config-file.ts';
import { OperatorError } from '../base/errors.ts';
import { MASTER_KEY_BYTES } from '../base/secret-box.ts';

const KEY_FILE = 'secret.key';

/** Makes the data directory (mode 0700) when it is missing. Throws `OperatorError` where that is not possible. */
export function makeDataDir(dataDir: string): void {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new OperatorError(
      `data_dir: ${dataDir} can not be made or is no directory: ${(error as Error).message}`,
      'Name a directory in a place where the service may write.',
      EXIT_CONFIG,
    );
  }
}

/**
 * The master key (32 bytes) of `dataDir`; makes key and directory when there are none.
 * Throws `OperatorError` when the file is readable by others or has another length.
 */
export function masterKey(dataDir: string): Uint8Array {
  makeDataDir(dataDir);
  const path = join(dataDir, KEY_FILE);
  const existing = read(path);
  if (existing !== null) return existing;
  create(dataDir, path);
  const made = read(path);
  if (made === null) throw new Error('the key file vanished while it was made');
  return made;
}

function read(path: string): Uint8Array | null {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  try {
    if ((fstatSync(file).mode & 0o077) !== 0) {
      throw new OperatorError(
        `${path} may be read by other users`,
        `Take their rights away: chmod 600 ${path}. If someone may have read it, rotate DKIM keys and webhook secrets.`,
      );
    }
    const key = readFileSync(file);
    if (key.length !== MASTER_KEY_BYTES) {
      throw new OperatorError(
        `${path} has ${key.length} bytes, not ${MASTER_KEY_BYTES}`,
        'Put the key file of a backup in its place; a new key can not open the secrets in the database.',
      );
    }
    return key;
  } finally {
    closeSync(file);
  }
}

/** Written under another name and linked into place: a crash leaves a whole key or none. */
function create(dataDir: string, path: string): void {
  const draft = `${path}.${process.pid}`;
  const file = openSync(draft, 'wx', 0o600);
  try {
    writeSync(file, randomBytes(MASTER_KEY_BYTES));
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  try {
    // Unlike a rename, a link never replaces a key that another process made meanwhile.
    linkSync(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    unlinkSync(draft);
  }
  const directory = openSync(dataDir, 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
