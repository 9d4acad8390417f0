/**
 * The schema's history: forward-only steps, embedded in the program, each applied once.
 *
 * Promises that a step and its record commit together. Refuses with `OperatorError` a file that a newer
 * release has written, and one whose applied steps are not the ones this program holds.
 */
import type { Database } from 'bun:sqlite';
import { createHash } from 'node:crypto';
import { OperatorError } from '../base/errors.ts';
import log0001 from '../../migrations/log/0001_initial.sql' with { type: 'text' };
import search0001 from '../../migrations/search/0001_initial.sql' with { type: 'text' };
import mail0001 from '../../migrations/mail/0001_initial.sql' with { type: 'text' };

export interface Migration {
  version: number;
  name: string;
  sql: string;
}

export const MAIL_MIGRATIONS: readonly Migration[] = [
  { version: 1, name: 'initial', sql: mail0001 },
];

export const LOG_MIGRATIONS: readonly Migration[] = [{ version: 1, name: 'initial', sql: log0001 }];

export const SEARCH_MIGRATIONS: readonly Migration[] = [
  { version: 1, name: 'initial', sql: search0001 },
];

const HISTORY = `CREATE TABLE IF NOT EXISTS migrations (
  version INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  checksum TEXT NOT NULL,
  applied_at INTEGER NOT NULL
) STRICT`;

interface Applied {
  version: number;
  name: string;
  checksum: string;
}

/** Brings `db` to the last of `migrations`; `now` in epoch milliseconds. Throws `OperatorError`. */
export function migrate(db: Database, migrations: readonly Migration[], now: number): void {
  db.run(HISTORY);
  const applied = db
    .prepare<Applied, []>('SELECT version, name, checksum FROM migrations ORDER BY version')
    .all();
  for (const row of applied) checkApplied(row, migrations, db.filename);
  for (const migration of migrations.slice(applied.length)) apply(db, migration, now);
}

function checkApplied(row: Applied, migrations: readonly Migration[], file: string): void {
  const known = migrations.find((migration) => migration.version === row.version);
  if (known === undefined) {
    throw new OperatorError(
      `${file} has schema version ${row.version}, newer than this program knows`,
      'Run the release that wrote it, or a later one; or restore the backup made before the upgrade.',
    );
  }
  if (checksumOf(known.sql) !== row.checksum) {
    throw new OperatorError(
      `${file}: step ${row.version} (${row.name}) of its schema is not the one this program holds`,
      'The file was made by another build. Run that build, or restore a backup made by a release.',
    );
  }
}

function apply(db: Database, migration: Migration, now: number): void {
  db.run('BEGIN IMMEDIATE');
  try {
    db.run(migration.sql);
    db.run('INSERT INTO migrations (version, name, checksum, applied_at) VALUES (?, ?, ?, ?)', [
      migration.version,
      migration.name,
      checksumOf(migration.sql),
      now,
    ]);
    db.run('COMMIT');
  } catch (error) {
    if (db.inTransaction) db.run('ROLLBACK');
    throw error;
  }
}

function checksumOf(sql: string): string {
  return createHash('sha256').update(sql).digest('hex');
}
