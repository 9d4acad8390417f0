/**
 * Opening a database file: the settings that the store's promises rest on, set and read back.
 *
 * Promises a connection in WAL mode with the durability asked for, or an `OperatorError`. Files are created with mode
 * 0600. The appliance has one writer by construction; for other programs, see `WAIT_FOR_OTHERS`.
 */
import { Database } from 'bun:sqlite';
import type { SQLQueryBindings, Statement } from 'bun:sqlite';
import { closeSync, openSync } from 'node:fs';
import { OperatorError } from '../../base/errors.ts';
import { withKeptPlan } from './kept-plans.ts';

/** `full`: an fsync a commit. `normal`: the last commits may be lost with the power, never torn. */
export type Durability = 'full' | 'normal';

/** Read back after setting: SQLite ignores a setting that it cannot apply, without an error. */
const DURABILITY = {
  full: { set: 'PRAGMA synchronous = FULL', value: 2 },
  normal: { set: 'PRAGMA synchronous = NORMAL', value: 1 },
} as const;

/**
 * KiB. Small, because the system caches the file's pages too, five connections read, and at the end of a commit that
 * reordered pages SQLite goes through the whole cache (docs/decisions.md D495).
 */
const CACHE = 'PRAGMA cache_size = -4000';

/**
 * What copies a live file (Litestream, an operator's sqlite3 shell) takes the write lock for moments. The
 * writer waits for it on its own thread, where nobody else waits with it; a failed commit would end the process.
 */
export const WAIT_FOR_OTHERS = 'PRAGMA busy_timeout = 5000';

/**
 * A connection whose statements keep their plans, and that ends them before it closes: SQLite keeps files open while a
 * statement lives, and Bun's `close` leaves that to the garbage collector.
 */
export class Connection extends Database {
  readonly #statements: Statement[] = [];

  override prepare<Row, Params extends SQLQueryBindings | SQLQueryBindings[]>(
    sql: string,
    params?: Params,
    // oxlint-disable-next-line typescript/no-explicit-any -- word for word what is overridden
  ): Statement<Row, Params extends any[] ? Params : [Params]> {
    const statement = super.prepare<Row, Params>(withKeptPlan(sql), params);
    this.#statements.push(statement);
    return statement;
  }

  override close(): void {
    for (const statement of this.#statements.splice(0)) statement.finalize();
    super.close(true);
  }
}

/** The only connection that writes. Creates the file when it is missing. Throws `OperatorError`, with nothing open. */
export function openForWriting(path: string, durability: Durability): Database {
  // SQLite gives its WAL and shared-memory files the mode of the database file.
  closeSync(openSync(path, 'a', 0o600));
  const db = new Connection(path, { readwrite: true, strict: true });
  try {
    prepareForWriting(db, durability);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function prepareForWriting(db: Database, durability: Durability): void {
  db.run(WAIT_FOR_OTHERS);
  db.run('PRAGMA journal_mode = WAL');
  db.run(DURABILITY[durability].set);
  db.run('PRAGMA foreign_keys = ON');
  // The WAL is cut back to this many bytes when it starts from the beginning.
  db.run('PRAGMA journal_size_limit = 33554432');
  db.run('PRAGMA temp_store = MEMORY');
  // What is deleted is overwritten with zeros (docs/decisions.md D154).
  db.run('PRAGMA secure_delete = ON');
  db.run(CACHE);
  expectSetting(db, 'PRAGMA journal_mode', 'wal');
  expectSetting(db, 'PRAGMA synchronous', DURABILITY[durability].value);
  expectSetting(db, 'PRAGMA foreign_keys', 1);
  expectSetting(db, 'PRAGMA secure_delete', 1);
}

/** A connection that cannot write; it sees every commit of the writer. The file must exist. */
export function openForReading(path: string): Database {
  const db = new Connection(path, { readonly: true, strict: true });
  db.run('PRAGMA query_only = ON');
  db.run('PRAGMA temp_store = MEMORY');
  db.run(CACHE);
  expectSetting(db, 'PRAGMA journal_mode', 'wal');
  return db;
}

/** Runs many small reads as one: they see one state, and the file's locks are taken once, not for each. */
export type ReadTogether = <T>(reads: () => T) => T;

/** `ReadTogether` over a connection. Calls must not be nested. */
export function readingTogether(db: Database): ReadTogether {
  const begin = db.prepare('BEGIN');
  const end = db.prepare('COMMIT');
  return (reads) => {
    begin.run();
    try {
      return reads();
    } finally {
      end.run();
    }
  };
}

/** Throws `OperatorError` unless the setting that `pragma` reads has this value. */
export function expectSetting(db: Database, pragma: string, expected: string | number): void {
  const row = db.prepare<Record<string, unknown>, []>(pragma).get();
  const actual = row === null ? undefined : Object.values(row)[0];
  if (actual !== expected) {
    throw new OperatorError(
      `${db.filename}: "${pragma}" is ${String(actual)}, not ${expected}`,
      'Put data_dir on a local file system: NFS and SMB do not support the memory-mapped files that SQLite needs.',
    );
  }
}
