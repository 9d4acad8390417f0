/**
 * Writing a data directory's files from what a transfer carries.
 *
 * The rows go into drafts, without a log and without waiting for the disk; the indexes are made after them. Promises that
 * the files get their names only when they are whole and on the disk, the mail file last, and that a directory with a draft
 * of the mail file is refused by `refuseHalfTransfer` until a transfer has begun anew and ended. Row numbers and positions
 * follow the order of ids. The caller has the directory's lock. Fails with `OperatorError`.
 */
import { closeSync, existsSync, openSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from 'bun:sqlite';
import { EXIT_CONFIG, OperatorError } from '../../base/errors.ts';
import { fieldValue, rowsIn } from '../transfer-lines.ts';
import type { Field } from '../transfer-lines.ts';
import type { Lines, TransferTable, TransferTarget } from '../transfer.ts';
import { sync } from './backup.ts';
import { Connection } from './database.ts';
import { LOG_MIGRATIONS, MAIL_MIGRATIONS, migrate } from './migrations.ts';
import { FilesReading } from './transfer-reading.ts';
import { rowWriter } from './transfer-rows.ts';
import { fileOf } from './transfer-shapes.ts';
import type { SqliteFile } from './transfer-shapes.ts';

const NAMES = { mail: 'mail.db', log: 'log.db' } as const;
const DRAFT = '.migrating';
/** What SQLite puts beside a file. */
const ENDS = ['', '-journal', '-wal', '-shm'];

/** Throws `OperatorError` when a transfer into `dataDir` has begun and has not ended. */
export function refuseHalfTransfer(dataDir: string): void {
  const draft = join(dataDir, NAMES.mail + DRAFT);
  if (!existsSync(draft)) return;
  throw new OperatorError(
    `A migration into ${dataDir} was interrupted`,
    `Run postrider migrate again, with the config that it was run with. To give it up, remove ${draft}.`,
    EXIT_CONFIG,
  );
}

/** The directory, which must hold no data, as a target. `now`: epoch milliseconds. Throws `OperatorError`. */
export function openFilesTarget(dataDir: string, now: number): TransferTarget {
  for (const name of Object.values(NAMES)) {
    if (!existsSync(join(dataDir, name))) continue;
    throw new OperatorError(
      `${join(dataDir, name)} exists already: the target of a migration must be empty`,
      'Move mail.db, log.db and search.db of that directory to another directory, or name one.',
    );
  }
  return new FilesTarget(dataDir, now);
}

class FilesTarget implements TransferTarget {
  readonly #dataDir: string;
  readonly #drafts: Readonly<Record<SqliteFile, string>>;
  readonly #reading: FilesReading;
  /** Indexes that are made when all rows are there. */
  #later: { db: Database; sql: string }[] = [];

  constructor(dataDir: string, now: number) {
    this.#dataDir = dataDir;
    this.#drafts = {
      mail: join(dataDir, NAMES.mail + DRAFT),
      log: join(dataDir, NAMES.log + DRAFT),
    };
    this.#removeDrafts();
    const mail = newFile(this.#drafts.mail);
    const log = newFile(this.#drafts.log);
    migrate(mail, MAIL_MIGRATIONS, now);
    migrate(log, LOG_MIGRATIONS, now);
    this.#reading = new FilesReading({ mail, log });
  }

  catalog(): ReturnType<FilesReading['catalog']> {
    return this.#reading.catalog();
  }

  count(table: TransferTable): Promise<number> {
    return this.#reading.count(table);
  }

  read(table: TransferTable): AsyncGenerator<Lines> {
    return this.#reading.read(table);
  }

  async begin(): Promise<void> {
    for (const db of Object.values(this.#reading.files)) {
      const indexes = db
        .prepare<{ name: string; sql: string }, []>(
          "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL",
        )
        .all();
      for (const { name, sql } of indexes) {
        db.run('DROP INDEX ' + name);
        this.#later.push({ db, sql });
      }
    }
  }

  async write(table: TransferTable, lines: AsyncIterable<Lines>): Promise<void> {
    const db = this.#reading.files[fileOf(table.name)];
    const add = rowWriter(db, table);
    db.run('BEGIN');
    for await (const piece of lines) {
      for (const fields of rowsIn(piece)) add(valuesOf(fields, table));
    }
    db.run('COMMIT');
  }

  async complete(): Promise<void> {
    for (const { db, sql } of this.#later) db.run(sql);
  }

  async settle(): Promise<void> {
    for (const db of Object.values(this.#reading.files)) {
      // As the store opens it.
      db.run('PRAGMA journal_mode = WAL');
      db.close();
    }
    // The mail file last: without it there is no store.
    for (const file of ['log', 'mail'] as const) {
      sync(this.#drafts[file]);
      renameSync(this.#drafts[file], join(this.#dataDir, NAMES[file]));
      sync(this.#dataDir);
    }
  }

  async close(): Promise<void> {
    for (const db of Object.values(this.#reading.files)) db.close();
  }

  #removeDrafts(): void {
    for (const draft of Object.values(this.#drafts)) {
      for (const end of ENDS) rmSync(draft + end, { force: true });
    }
  }
}

function newFile(path: string): Database {
  closeSync(openSync(path, 'wx', 0o600));
  const db = new Connection(path, { readwrite: true, strict: true });
  // A draft that a crash has broken is made anew.
  db.run('PRAGMA journal_mode = OFF');
  db.run('PRAGMA synchronous = OFF');
  db.run('PRAGMA locking_mode = EXCLUSIVE');
  db.run('PRAGMA cache_size = -64000');
  db.run('PRAGMA foreign_keys = OFF');
  return db;
}

function valuesOf(fields: readonly string[], { columns }: TransferTable): Field[] {
  return columns.map(({ kind }, at) => fieldValue(fields[at] ?? '', kind));
}
