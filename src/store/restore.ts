/**
 * Puts a backup in the place of a data directory's mail file and key.
 *
 * Promises that nothing is touched before the backup has proved whole, that a directory in use is
 * refused, that what was there is set aside and not deleted, and that a crash half way leaves either the
 * old files or the new ones. Refuses a backup of a newer schema. The request log is not part of a
 * backup and stays; the search index is made anew at the next start.
 */
import { Database } from 'bun:sqlite';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import { OperatorError } from '../base/errors.ts';
import { MASTER_KEY_BYTES } from '../base/secret-box.ts';
import { sync, verifyBackup } from './backup.ts';
import type { RowCounts } from './backup.ts';
import { SEARCH_FILE } from './indexer.ts';
import { makeDataDir } from './key-file.ts';
import { lockDirectory } from './lock.ts';
import { MAIL_MIGRATIONS, migrate } from './migrations.ts';

export interface RestoreReport {
  rows: RowCounts;
  /** Folder with the files that were there before; null when there were none. */
  setAside: string | null;
}

/** Restores `file` into `dataDir`. `now`: epoch milliseconds. Throws `OperatorError`. */
export function restoreBackup(file: string, dataDir: string, now: number): RestoreReport {
  if (!existsSync(file)) {
    throw new OperatorError(
      `${file} does not exist`,
      'Name a file that postrider backup has made.',
    );
  }
  makeDataDir(dataDir);
  const lock = lockDirectory(dataDir);
  const draft = join(dataDir, 'mail.db.restoring');
  try {
    const rows = checkBackup(file);
    copyFileSync(file, draft);
    // A copy takes over the rights of what it is a copy of.
    chmodSync(draft, 0o600);
    const key = unpackKey(draft, now);
    sync(draft);
    return { rows, setAside: exchange(dataDir, draft, key, now) };
  } finally {
    rmSync(draft, { force: true });
    lock.release();
  }
}

function checkBackup(file: string): RowCounts {
  try {
    return verifyBackup(file);
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new OperatorError(
      `${file} is not a whole backup: ${reason}`,
      'Name a file that postrider backup has made; nothing was changed.',
    );
  }
}

/** Takes the key out of the copy, overwriting its bytes, and brings the schema up to date. */
function unpackKey(draft: string, now: number): Uint8Array {
  const db = new Database(draft, { readwrite: true });
  try {
    const row = db.prepare<{ key: Uint8Array }, []>('SELECT key FROM backup_key').get();
    if (row?.key.length !== MASTER_KEY_BYTES) throw new Error('no key in it');
    db.run('PRAGMA secure_delete = ON');
    db.run('DROP TABLE backup_key');
    migrate(db, MAIL_MIGRATIONS, now);
    return row.key;
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    throw new OperatorError(
      'the file is a database, but no backup of this program',
      'Name a file that postrider backup has made; nothing was changed.',
    );
  } finally {
    db.close();
  }
}

/** Sets the old files aside and moves the new ones into place. */
function exchange(dataDir: string, draft: string, key: Uint8Array, now: number): string | null {
  const stamp = new Date(now).toISOString().replaceAll(/[-:]|\..*/g, '');
  const mail = join(dataDir, 'mail.db');
  const keyFile = join(dataDir, 'secret.key');
  let setAside: string | null = null;
  if (existsSync(mail)) {
    setAside = join(dataDir, `before-restore-${stamp}Z`);
    mkdirSync(setAside, { mode: 0o700 });
    foldLog(mail);
    linkSync(mail, join(setAside, 'mail.db'));
    if (existsSync(keyFile)) linkSync(keyFile, join(setAside, 'secret.key'));
    sync(setAside);
  }
  writeFileSync(`${keyFile}.restoring`, key, { mode: 0o600, flush: true });
  renameSync(`${keyFile}.restoring`, keyFile);
  renameSync(draft, mail);
  for (const name of [SEARCH_FILE, `${SEARCH_FILE}-wal`, `${SEARCH_FILE}-shm`]) {
    rmSync(join(dataDir, name), { force: true });
  }
  sync(dataDir);
  return setAside;
}

/** The old file's WAL goes into the file: beside another file it would be taken for that one's. */
function foldLog(mail: string): void {
  try {
    const db = new Database(mail, { readwrite: true });
    db.run('PRAGMA wal_checkpoint(TRUNCATE)');
    db.close();
  } catch {
    // A damaged file is what restores are for: it is set aside as it is.
  }
  for (const end of ['-wal', '-shm']) {
    if (existsSync(mail + end)) renameSync(mail + end, `${mail}.damaged${end}`);
  }
}
