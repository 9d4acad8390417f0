/**
 * The schema's history: forward-only steps, embedded in the program, each applied once.
 *
 * Promises that a step and its record commit together. Refuses with `OperatorError` a file that a newer release has
 * written, and one whose applied steps differ from those that this program holds.
 */
import type { Database } from 'bun:sqlite';
import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { OperatorError } from '../../base/errors.ts';
import type { OnSchemaStep } from '../schema-step.ts';
import log0001 from '../../../migrations/log/0001_initial.sql' with { type: 'text' };
import log0002 from '../../../migrations/log/0002_sandbox_rows.sql' with { type: 'text' };
import log0003 from '../../../migrations/log/0003_logs_by_key.sql' with { type: 'text' };
import search0001 from '../../../migrations/search/0001_initial.sql' with { type: 'text' };
import search0002 from '../../../migrations/search/0002_merges_in_steps.sql' with { type: 'text' };
import mail0001 from '../../../migrations/mail/0001_initial.sql' with { type: 'text' };
import mail0002 from '../../../migrations/mail/0002_event_headers.sql' with { type: 'text' };
import mail0003 from '../../../migrations/mail/0003_suppressions_by_reason.sql' with { type: 'text' };
import mail0004 from '../../../migrations/mail/0004_sandbox_lists.sql' with { type: 'text' };
import mail0005 from '../../../migrations/mail/0005_due_by_account.sql' with { type: 'text' };
import mail0006 from '../../../migrations/mail/0006_stored_bytes.sql' with { type: 'text' };
import mail0007 from '../../../migrations/mail/0007_dkim_rotation.sql' with { type: 'text' };
import mail0008 from '../../../migrations/mail/0008_outcome_hours.sql' with { type: 'text' };
import mail0009 from '../../../migrations/mail/0009_seen_records.sql' with { type: 'text' };
import mail0010 from '../../../migrations/mail/0010_call_responses.sql' with { type: 'text' };
import mail0011 from '../../../migrations/mail/0011_harm_hours.sql' with { type: 'text' };
import mail0012 from '../../../migrations/mail/0012_operators.sql' with { type: 'text' };
import mail0013 from '../../../migrations/mail/0013_checks_by_account.sql' with { type: 'text' };
import mail0014 from '../../../migrations/mail/0014_waiting_by_domain.sql' with { type: 'text' };
import mail0015 from '../../../migrations/mail/0015_rows_by_owner.sql' with { type: 'text' };

export interface Migration {
  version: number;
  name: string;
  sql: string;
}

export const MAIL_MIGRATIONS: readonly Migration[] = [
  { version: 1, name: 'initial', sql: mail0001 },
  { version: 2, name: 'event_headers', sql: mail0002 },
  { version: 3, name: 'suppressions_by_reason', sql: mail0003 },
  { version: 4, name: 'sandbox_lists', sql: mail0004 },
  { version: 5, name: 'due_by_account', sql: mail0005 },
  { version: 6, name: 'stored_bytes', sql: mail0006 },
  { version: 7, name: 'dkim_rotation', sql: mail0007 },
  { version: 8, name: 'outcome_hours', sql: mail0008 },
  { version: 9, name: 'seen_records', sql: mail0009 },
  { version: 10, name: 'call_responses', sql: mail0010 },
  { version: 11, name: 'harm_hours', sql: mail0011 },
  { version: 12, name: 'operators', sql: mail0012 },
  { version: 13, name: 'checks_by_account', sql: mail0013 },
  { version: 14, name: 'waiting_by_domain', sql: mail0014 },
  { version: 15, name: 'rows_by_owner', sql: mail0015 },
];

export const LOG_MIGRATIONS: readonly Migration[] = [
  { version: 1, name: 'initial', sql: log0001 },
  { version: 2, name: 'sandbox_rows', sql: log0002 },
  { version: 3, name: 'logs_by_key', sql: log0003 },
];

export const SEARCH_MIGRATIONS: readonly Migration[] = [
  { version: 1, name: 'initial', sql: search0001 },
  { version: 2, name: 'merges_in_steps', sql: search0002 },
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
export function migrate(
  db: Database,
  migrations: readonly Migration[],
  now: number,
  tell: OnSchemaStep = () => undefined,
): void {
  db.run(HISTORY);
  const applied = checkHistory(db, migrations);
  for (const migration of migrations.slice(applied)) {
    const { version: step, name } = migration;
    const database = basename(db.filename);
    if (applied > 0) tell({ database, step, of: migrations.length, name });
    apply(db, migration, now);
  }
}

/** How many of `migrations` a file with a history has; changes nothing. Throws `OperatorError` as `migrate` does. */
export function checkHistory(db: Database, migrations: readonly Migration[]): number {
  const applied = db
    .prepare<Applied, []>('SELECT version, name, checksum FROM migrations ORDER BY version')
    .all();
  for (const row of applied) checkApplied(row, migrations, db.filename);
  return applied.length;
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
      `${file}: step ${row.version} (${row.name}) of its schema differs from the one in this program`,
      'Another build wrote the file. Run that build, or restore a backup made by a release.',
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
