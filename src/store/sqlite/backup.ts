/**
 * An online backup: one consistent copy of the mail file and the key, checked before it gets its name.
 *
 * Promises that the finished file holds every commit made before the call, and the key that opens its
 * secrets, and that its integrity check passed; a copy that failed leaves nothing behind. Writers go on
 * meanwhile. Only its owner may read the file: whoever has it can sign as every customer. Runs on
 * a thread of its own: it blocks for the length of the copy.
 */
import { Database } from 'bun:sqlite';
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { OperatorError } from '../../base/errors.ts';
import { SecretBox } from '../../base/secret-box.ts';
import type { BackupReport, RowCounts } from '../operator.ts';
import { isDiskFull } from '../full-disk.ts';
import { KEY_TABLE } from './backup-schema.ts';
import { draftOf } from './copy-watch.ts';
import { FINGERPRINT_SETTING, foreignKey, keyIn, missingKey } from '../key-file.ts';

/** Copies the mail file and the key of `dataDir` to `file`, which must not exist. Throws `OperatorError`. */
export function backUp(dataDir: string, file: string): BackupReport {
  if (existsSync(file)) {
    throw new OperatorError(`${file} already exists`, 'Name a file that does not exist yet.');
  }
  const draft = draftOf(file);
  rmSync(draft, { force: true });
  let copy: number | null = null;
  try {
    // VACUUM INTO keeps the mode of a file that is there already: nobody else may read it, ever. Open until it is
    // synced: `copy-flush.ts` syncs it too, and an error that it is told of is told to this descriptor all the same.
    copy = openSync(draft, 'wx', 0o600);
    const db = new Database(join(dataDir, 'mail.db'), { readonly: true });
    try {
      db.run('VACUUM INTO ?', [draft]);
    } finally {
      db.close();
    }
    packKey(draft, dataDir);
    const rows = verifyBackup(draft);
    fsyncSync(copy);
    renameSync(draft, file);
    sync(dirname(file));
    return { file, bytes: Bun.file(file).size, rows };
  } catch (error) {
    for (const end of ['', '-journal', '-wal', '-shm']) rmSync(draft + end, { force: true });
    throw explained(error, file);
  } finally {
    if (copy !== null) closeSync(copy);
  }
}

/** As an operator can act on it: a folder or disk that cannot be used is no fault of the appliance. */
function explained(error: unknown, file: string): unknown {
  if (isDiskFull(error)) {
    return new OperatorError(
      `the backup ${file} does not fit: the disk is full`,
      'Name a file on a disk with more free space than mail.db takes. Nothing was left behind.',
    );
  }
  if (!(error instanceof Error) || !('syscall' in error)) return error;
  return new OperatorError(
    `the backup ${file} cannot be written: ${error.message}`,
    'Name a folder that the user of the server may write to. Nothing was left behind.',
  );
}

/**
 * The key goes into a table of its own, which a restore takes out again. Throws `OperatorError` where the key file is
 * not the key of the copy: such a backup could not be used.
 */
function packKey(draft: string, dataDir: string): void {
  const key = keyIn(dataDir);
  if (key === null) throw missingKey(dataDir);
  const db = new Database(draft, { readwrite: true });
  try {
    const fingerprint = db
      .prepare<{ value: string }, [string]>('SELECT value FROM settings WHERE name = ?')
      .get(FINGERPRINT_SETTING);
    if (fingerprint !== null && fingerprint.value !== new SecretBox(key).fingerprint) {
      throw foreignKey(dataDir);
    }
    db.run(KEY_TABLE);
    db.run('INSERT INTO backup_key (key) VALUES (?)', [key]);
  } finally {
    db.close();
  }
}

/** Checks a copy's structure and counts its rows. Throws `OperatorError` when it is damaged. */
export function verifyBackup(file: string): RowCounts {
  const db = new Database(file, { readonly: true });
  try {
    const results = db.prepare<{ integrity_check: string }, []>('PRAGMA integrity_check').all();
    const faults = results.map((row) => row.integrity_check).filter((text) => text !== 'ok');
    if (faults.length > 0) {
      throw new OperatorError(
        `${file} is damaged: ${faults.slice(0, 3).join('; ')}`,
        'Check the disk, then take another backup; keep the older ones.',
      );
    }
    return countRows(db);
  } finally {
    db.close();
  }
}

const COUNTS = {
  accounts: 'SELECT count(*) AS count FROM accounts',
  api_keys: 'SELECT count(*) AS count FROM api_keys',
  domains: 'SELECT count(*) AS count FROM domains',
  messages: 'SELECT count(*) AS count FROM messages',
  recipients: 'SELECT count(*) AS count FROM recipients',
  events: 'SELECT count(*) AS count FROM events',
  suppressions: 'SELECT count(*) AS count FROM suppressions',
} as const;

function countRows(db: Database): RowCounts {
  return Object.fromEntries(
    Object.entries(COUNTS).map(([table, sql]) => [
      table,
      db.prepare<{ count: number }, []>(sql).get()?.count ?? 0,
    ]),
  );
}

/** Waits until a file, or a folder's entries, are on the disk. */
export function sync(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
