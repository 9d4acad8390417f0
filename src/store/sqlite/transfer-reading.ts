/**
 * Reading SQLite's files for a transfer: a data directory as the source, or what was written into one to compare it.
 *
 * Promises that nothing of the files is written, and that rows are read one after the other. A source must have been
 * opened by this release before, must have no counter left to compute and no transfer under way into it. The caller has
 * the directory's lock. Fails with `OperatorError`.
 */
import { existsSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from 'bun:sqlite';
import { OperatorError } from '../../base/errors.ts';
import { fieldText, piecesOf } from '../transfer-lines.ts';
import type { Field } from '../transfer-lines.ts';
import type { Catalog, Lines, TransferEnd, TransferSource, TransferTable } from '../transfer.ts';
import { Connection } from './database.ts';
import { LOG_MIGRATIONS, MAIL_MIGRATIONS, checkHistory } from './migrations.ts';
import type { Migration } from './migrations.ts';
import { catalogOf, fileOf, shapeOf } from './transfer-shapes.ts';
import type { SqliteFile } from './transfer-shapes.ts';

const START_ONCE = 'Start the server of this release on it once, wait for';

/** Reads two open files. */
export class FilesReading implements TransferEnd {
  readonly files: Readonly<Record<SqliteFile, Database>>;

  constructor(files: Readonly<Record<SqliteFile, Database>>) {
    this.files = files;
    // What has to be sorted may be larger than the memory.
    for (const db of Object.values(files)) db.run('PRAGMA temp_store = FILE');
  }

  async catalog(): Promise<Catalog> {
    return catalogOf(this.files.mail, this.files.log);
  }

  async count({ name }: TransferTable): Promise<number> {
    const { from = name } = shapeOf(name);
    const sql = 'SELECT count(*) AS count FROM ' + from;
    return this.#in(name).prepare<{ count: number }, []>(sql).get()?.count ?? 0;
  }

  async *read(table: TransferTable): AsyncGenerator<Lines> {
    yield* piecesOf(this.#lines(table));
  }

  *#lines(table: TransferTable): Generator<string> {
    const { name, columns, key } = table;
    const { from = name, made = {} } = shapeOf(name);
    const list = columns.map((column) => (made[column.name] ?? column.name) + ' AS ' + column.name);
    const sql = 'SELECT ' + list.join(', ') + ' FROM ' + from + ' ORDER BY ' + key.join(', ');
    const rows = this.#in(name).prepare<Record<string, Field>, []>(sql);
    try {
      for (const row of rows.iterate()) {
        yield columns.map((column) => fieldText(row[column.name] ?? null, column.kind)).join('\t');
      }
    } finally {
      rows.finalize();
    }
  }

  #in(table: string): Database {
    return this.files[fileOf(table)];
  }
}

/** The data in `dataDir` as a source. Throws `OperatorError`. */
export function openFilesSource(dataDir: string): TransferSource {
  const paths = { mail: join(dataDir, 'mail.db'), log: join(dataDir, 'log.db') };
  for (const path of Object.values(paths)) {
    if (existsSync(path)) continue;
    throw new OperatorError(
      `${path} does not exist: there is nothing to migrate`,
      'Check data_dir.',
    );
  }
  const [mail, log] = [openSource(paths.mail), openSource(paths.log)];
  const reading = new FilesReading({ mail: mail.db, log: log.db });
  const close = (): void => {
    mail.close();
    log.close();
  };
  try {
    for (const [db, steps] of [
      [mail.db, MAIL_MIGRATIONS],
      [log.db, LOG_MIGRATIONS],
    ] as const) {
      checkSource(db, steps);
    }
    checkCounters(mail.db);
  } catch (error) {
    close();
    throw error;
  }
  return {
    catalog: () => reading.catalog(),
    count: (table) => reading.count(table),
    read: (table) => reading.read(table),
    async setting(name) {
      const sql = 'SELECT value FROM settings WHERE name = ?';
      return mail.db.prepare<{ value: string }, [string]>(sql).get(name)?.value ?? null;
    },
    // The directory's lock keeps servers away.
    checkQuiet: () => Promise.resolve(),
    close: () => Promise.resolve(close()),
  };
}

/** SQLite makes the files beside a database to read it; those that were not there go again. */
function openSource(path: string): { db: Database; close: () => void } {
  const beside = ['-wal', '-shm'].map((end) => path + end).filter((file) => !existsSync(file));
  const db = new Connection(path, { readonly: true, strict: true });
  return {
    db,
    close() {
      db.close();
      for (const file of beside) if (isEmptyLog(file)) rmSync(file, { force: true });
    },
  };
}

/** The index of a log that is empty says nothing. */
const isEmptyLog = (file: string): boolean =>
  file.endsWith('-shm') || (statSync(file, { throwIfNoEntry: false })?.size ?? 0) === 0;

function checkSource(db: Database, steps: readonly Migration[]): void {
  const hasHistory =
    db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'migrations'").get() !== null;
  if (hasHistory && checkHistory(db, steps) === steps.length) return;
  throw new OperatorError(
    `${db.filename} was written by an earlier release`,
    `${START_ONCE} its first line that it listens, stop it, then migrate.`,
  );
}

function checkCounters(mail: Database): void {
  if (mail.prepare('SELECT 1 FROM recounts').get() === null) return;
  throw new OperatorError(
    `${mail.filename}: counters for mail from before the last upgrade are still being computed`,
    `${START_ONCE} counters_computed in its log, stop it, then migrate.`,
  );
}
