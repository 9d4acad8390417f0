/**
 * Replaces a data directory's mail file and key with those of a backup.
 *
 * Promises that nothing is touched before a copy of the backup has passed its checks (backup-schema, then SQLite's), that a directory in use is refused, that
 * the files from before are set aside and not deleted, and that a crash halfway leaves either the old files or the new
 * ones. Refuses a backup of a newer schema. The request log is not part of a backup and stays; the search index is
 * built again at the next start. Fails with `OperatorError`.
 */
import { Database } from 'bun:sqlite';
import {
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  statfsSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';

import { errorCode } from '../../base/error-code.ts';
import { OperatorError } from '../../base/errors.ts';
import { MASTER_KEY_BYTES } from '../../base/secret-box.ts';
import { sync, verifyBackup } from './backup.ts';
import { refuseTangledSchema, refuseUnknownSchema } from './backup-schema.ts';
import type { RowCounts } from '../operator.ts';
import { SEARCH_FILE } from './indexer.ts';
import { keyPath, makeDataDir, promoteKey, stageKey } from '../key-file.ts';
import { lockDirectory } from '../directory-lock.ts';
import { MAIL_MIGRATIONS, migrate } from './migrations.ts';

export interface RestoreReport {
  rows: RowCounts;
  /** Folder with the files that were there before; null when there were none. */
  setAside: string | null;
}

/** Restores `file` into `dataDir`. `now`: epoch milliseconds. Throws `OperatorError`. */
export function restoreBackup(file: string, dataDir: string, now: number): RestoreReport {
  refuseMissing(file);
  makeDataDir(dataDir);
  const lock = lockDirectory(dataDir);
  const draft = join(dataDir, 'mail.db.restoring');
  try {
    removeDraft(draft);
    // What is checked is the copy: nobody changes that meanwhile.
    const rows = checkedCopy(file, draft);
    const key = unpackKey(draft, now);
    sync(draft);
    return { rows, setAside: exchange(dataDir, draft, key, now) };
  } finally {
    removeDraft(draft);
    lock.release();
  }
}

/** With the logs that SQLite would take for its own. */
function removeDraft(draft: string): void {
  for (const end of ['', '-journal', '-wal', '-shm']) rmSync(draft + end, { force: true });
}

function refuseMissing(file: string): void {
  const there = statSync(file, { throwIfNoEntry: false });
  // A pipe would never end.
  if (there?.isFile() === true) return;
  const fault = there === undefined ? 'does not exist' : 'is not a file';
  throw new OperatorError(`${file} ${fault}`, 'Name a file that postrider backup has made.');
}

/** Copies `file` to `draft`, which must not exist, and proves that the copy is whole and ours. */
function checkedCopy(file: string, draft: string): RowCounts {
  refuseTooLarge(file, dirname(draft));
  try {
    refuseTangledSchema(file);
    copyFileSync(file, draft, constants.COPYFILE_EXCL);
    // A copied file has the mode of its original.
    chmodSync(draft, 0o600);
    refuseTangledSchema(draft);
    refuseForeignSchema(draft);
    return verifyBackup(draft);
  } catch (error) {
    if (error instanceof OperatorError) {
      // The copy is gone by the time that somebody looks for it.
      const message = error.message.replaceAll(draft, file);
      throw new OperatorError(message, error.hint, error.exitCode);
    }
    const reason = error instanceof Error ? error.message : String(error);
    throw new OperatorError(
      `${file} is not a complete backup: ${reason}`,
      'Name a file that postrider backup has made. Nothing was changed.',
    );
  }
}

/** Before any of it is written: a file of holes is as long as it likes. */
function refuseTooLarge(file: string, dataDir: string): void {
  const { bavail, bsize } = statfsSync(dataDir);
  if (statSync(file).size <= bavail * bsize) return;
  throw new OperatorError(
    `${file} does not fit on the disk of ${dataDir}`,
    'Free as much space as the backup takes. Nothing was changed.',
  );
}

function refuseForeignSchema(file: string): void {
  const db = new Database(file, { readonly: true });
  try {
    refuseUnknownSchema(db);
  } finally {
    db.close();
  }
}

/** Takes the key out of the copy, overwriting its bytes, and brings the schema up to date. */
function unpackKey(draft: string, now: number): Uint8Array {
  const db = new Database(draft, { readwrite: true });
  try {
    const key = readKey(db);
    db.run('PRAGMA secure_delete = ON');
    db.run('DROP TABLE backup_key');
    migrate(db, MAIL_MIGRATIONS, now);
    return key;
  } catch (error) {
    throw noBackup(error);
  } finally {
    db.close();
  }
}

function readKey(db: Database): Uint8Array {
  const row = db.prepare<{ key: Uint8Array }, []>('SELECT key FROM backup_key').get();
  if (row?.key.length !== MASTER_KEY_BYTES) throw new Error('no key in it');
  return row.key;
}

function noBackup(error: unknown): OperatorError {
  if (error instanceof OperatorError) return error;
  return new OperatorError(
    'the file is a database, but not a backup of Postrider',
    'Name a file that postrider backup has made. Nothing was changed.',
  );
}

/** The key that a backup holds; the data in it are not looked at. Throws `OperatorError`. */
export function keyOfBackup(file: string): Uint8Array {
  refuseMissing(file);
  try {
    refuseTangledSchema(file);
    refuseForeignSchema(file);
    const db = new Database(file, { readonly: true });
    try {
      return readKey(db);
    } finally {
      db.close();
    }
  } catch (error) {
    throw noBackup(error);
  }
}

/**
 * Sets the old files aside and gives the new ones their names. The key is staged before the data and named after them:
 * a start in between finds the key that fits the data.
 */
function exchange(dataDir: string, draft: string, key: Uint8Array, now: number): string | null {
  const stamp = new Date(now).toISOString().replaceAll(/[-:]|\..*/g, '');
  const mail = join(dataDir, 'mail.db');
  const keyFile = keyPath(dataDir);
  let setAside: string | null = null;
  // A log without its file, too, would be taken for that of the restored one.
  foldLog(mail);
  const before = [mail, keyFile].filter((path) => existsSync(path));
  if (before.length > 0) {
    setAside = newFolder(join(dataDir, `before-restore-${stamp}Z`));
    for (const path of before) linkSync(path, join(setAside, basename(path)));
    sync(setAside);
  }
  stageKey(dataDir, key);
  renameSync(draft, mail);
  sync(dataDir);
  promoteKey(dataDir);
  for (const name of [SEARCH_FILE, `${SEARCH_FILE}-wal`, `${SEARCH_FILE}-shm`]) {
    rmSync(join(dataDir, name), { force: true });
  }
  sync(dataDir);
  return setAside;
}

/** Makes a folder of this name, or of the first free `-2`, `-3` …: two restores may share a second. Its path. */
function newFolder(path: string): string {
  for (let count = 1; ; count += 1) {
    const folder = count === 1 ? path : `${path}-${count}`;
    try {
      mkdirSync(folder, { mode: 0o700 });
      return folder;
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error;
    }
  }
}

/** Writes the old file's WAL into the file: SQLite would take it for the WAL of the restored file. */
function foldLog(mail: string): void {
  try {
    const db = new Database(mail, { readwrite: true });
    db.run('PRAGMA wal_checkpoint(TRUNCATE)');
    db.close();
  } catch {
    // A damaged file is why one restores: it is set aside as it is.
  }
  for (const end of ['-wal', '-shm']) {
    if (existsSync(mail + end)) renameSync(mail + end, `${mail}.damaged${end}`);
  }
}
