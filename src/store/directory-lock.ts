/**
 * One process a data directory: a lock that the kernel frees by itself when its holder dies.
 *
 * Promises that a second process is refused at once, with the holder's pid in the message. Belongs to the directory and
 * not to one kind of store: key, control socket and certificates in it must have one owner too. The lock is a file lock
 * taken through SQLite, because the runtime offers no other, so that kill -9 leaves nothing to clean up. The pid file
 * beside it only serves the message and may be stale.
 */
import { Database } from 'bun:sqlite';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorCode } from '../base/error-code.ts';
import { OperatorError } from '../base/errors.ts';

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
  try {
    db.run('PRAGMA busy_timeout = 0');
    db.run('BEGIN EXCLUSIVE');
  } catch (error) {
    db.close();
    if (errorCode(error) !== 'SQLITE_BUSY') throw error;
    throw new DirectoryInUseError(
      `another process (pid ${readPid(pidFile)}) uses the data directory ${dataDir}`,
      'Stop the running server first, or give this one a data_dir of its own.',
    );
  }
  writeFileSync(pidFile, `${process.pid}\n`, { mode: 0o600 });
  return {
    release(): void {
      db.run('ROLLBACK');
      db.close();
    },
  };
}

function readPid(pidFile: string): string {
  try {
    return readFileSync(pidFile, 'utf8').trim();
  } catch {
    return 'unknown';
  }
}
