/**
 * One process a data directory: a lock that the kernel frees by itself when its holder dies.
 *
 * Promises that a second process is refused at once, with the holder's pid in the message. Belongs to the directory and
 * not to one kind of store: key, control socket and certificates in it must have one owner too. The lock is a file lock
 * taken through SQLite, because the runtime offers no other, so that kill -9 leaves nothing to clean up. The pid file
 * beside it only serves the message and may be stale. Where the disk is full it frees space for what follows
 * (`disk-reserve`).
 */
import { Database } from 'bun:sqlite';
import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorCode } from '../base/error-code.ts';
import { OperatorError } from '../base/errors.ts';
import { DiskReserve } from './disk-reserve.ts';
import { isDiskFull } from './full-disk.ts';

/** Another process uses the directory. */
export class DirectoryInUseError extends OperatorError {}

export interface DirectoryLock {
  release(): void;
}

/** Takes the lock of `dataDir` (which must exist). Throws `DirectoryInUseError`. */
export function lockDirectory(dataDir: string): DirectoryLock {
  const pidFile = join(dataDir, 'postrider.pid');
  const path = join(dataDir, 'lock.db');
  closeSync(openSync(path, 'a', 0o600));
  const db = new Database(path, { readwrite: true });
  const reserve = new DiskReserve(dataDir);
  try {
    db.run('PRAGMA busy_timeout = 0');
    takeLock(db, reserve);
  } catch (error) {
    db.close();
    if (errorCode(error) !== 'SQLITE_BUSY') throw error;
    throw new DirectoryInUseError(
      `another process (pid ${readPid(pidFile)}) uses the data directory ${dataDir}`,
      'Stop the running server first, or give this one a data_dir of its own.',
    );
  }
  try {
    reserve.freeForStart();
    writePid(pidFile);
  } catch (error) {
    db.close();
    throw error;
  }
  return {
    release(): void {
      db.run('ROLLBACK');
      db.close();
    },
  };
}

/** A transaction has a journal of a page: on a full disk there is none for it. The directory is ours by then. */
function takeLock(db: Database, reserve: DiskReserve): void {
  try {
    db.run('BEGIN EXCLUSIVE');
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    reserve.freeForStart();
    db.run('BEGIN EXCLUSIVE');
  }
}

/** On a full disk there is no file: better no pid than the one of before. */
function writePid(pidFile: string): void {
  try {
    writeFileSync(pidFile, `${process.pid}\n`, { mode: 0o600 });
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    rmSync(pidFile, { force: true });
  }
}

function readPid(pidFile: string): string {
  try {
    return readFileSync(pidFile, 'utf8').trim();
  } catch {
    return 'unknown';
  }
}
