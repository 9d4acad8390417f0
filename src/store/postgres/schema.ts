/**
 * The schema's history on PostgreSQL: forward-only steps, embedded in the program, each applied once.
 *
 * Promises that one node at a time brings the schema up to date, the others wait for it, and that a step and its record
 * commit together. Refuses with `OperatorError` a server that is too old, a database that a newer release has changed,
 * and one whose applied steps differ from those that this program holds.
 */
import { createHash } from 'node:crypto';
import { EXIT_CONFIG, OperatorError } from '../../base/errors.ts';
import postgres0001 from '../../../migrations/postgres/0001_initial.sql' with { type: 'text' };
import postgres0002 from '../../../migrations/postgres/0002_checks_by_account.sql' with { type: 'text' };
import type { OnSchemaStep } from '../schema-step.ts';
import type { Connection } from './connection.ts';
import type { Access, Session } from './database.ts';
import { lasting, part } from './statement.ts';
import type { Part } from './statement.ts';

const STEPS: readonly { name: string; sql: string }[] = [
  { name: 'initial', sql: postgres0001 },
  { name: 'checks_by_account', sql: postgres0002 },
];

/** `NULLS NOT DISTINCT` and more came with 15. */
const OLDEST_VERSION = 150_000;
/** Of the lock that one node holds while it changes the schema: any number that nothing else uses. */
const SCHEMA_LOCK = 7_867_478;
/** The setting that a database has while everything is carried into it: it is not whole. */
export const TRANSFER_MARK = 'migration';
/** A step may build an index over all mail. */
const MOST_STEP_MS = 6 * 3_600_000;
const HINT = 'Run the release that wrote this database, or a newer one.';

/** Brings the database to the newest schema. `now` in epoch milliseconds. */
export async function migrate(
  database: Access,
  now: number,
  tell: OnSchemaStep = () => undefined,
): Promise<void> {
  await database.transaction(async (session) => {
    await checkVersion(session);
    // Another node may be at it.
    const lock = part('SELECT pg_advisory_xact_lock($1)', SCHEMA_LOCK);
    await session.run(lasting(lock, MOST_STEP_MS));
    await session.run(
      part(
        'CREATE TABLE IF NOT EXISTS migrations (version int4 PRIMARY KEY, name text NOT NULL,' +
          ' checksum text NOT NULL, applied_at int8 NOT NULL)',
      ),
    );
    await applyMissing(session, now, tell);
  });
}

async function checkVersion(session: Session): Promise<void> {
  const row = await session.first<{ version: string; encoding: string }>(
    part(
      `SELECT current_setting('server_version_num') AS version, current_setting('server_encoding') AS encoding`,
    ),
  );
  if (Number(row?.version) < OLDEST_VERSION) {
    throw new OperatorError('The PostgreSQL server is too old', 'Use PostgreSQL 15 or newer.');
  }
  if (row?.encoding !== 'UTF8') {
    throw new OperatorError('The database is not encoded in UTF8', 'Create it with ENCODING UTF8.');
  }
}

async function applyMissing(session: Session, now: number, tell: OnSchemaStep): Promise<void> {
  const applied = await session.all<{ version: number; checksum: string }>(
    part('SELECT version, checksum FROM migrations ORDER BY version'),
  );
  if (applied.length > STEPS.length) {
    throw new OperatorError('A newer release has changed this database', HINT);
  }
  for (const [at, { name, sql }] of STEPS.entries()) {
    const checksum = checksumOf(sql);
    const known = applied[at];
    if (known !== undefined) {
      if (known.checksum === checksum) continue;
      throw new OperatorError(
        `Step ${known.version} of this database's schema is another one`,
        HINT,
      );
    }
    const of = STEPS.length;
    if (applied.length > 0) tell({ database: 'PostgreSQL', step: at + 1, of, name });
    await session.run(lasting(part(sql), MOST_STEP_MS));
    await session.run(
      part(
        'INSERT INTO migrations (version, name, checksum, applied_at) VALUES ($1, $2, $3, $4)',
        at + 1,
        name,
        checksum,
        now,
      ),
    );
  }
}

/** Throws `OperatorError` unless the database has the newest schema; changes nothing. */
export async function checkSchema(connection: Connection): Promise<void> {
  const { rows } = await connection.ask<{ hasHistory: boolean }>(
    `SELECT to_regclass('migrations') IS NOT NULL AS "hasHistory"`,
  );
  const applied =
    rows[0]?.hasHistory === true
      ? (
          await connection.ask<{ checksum: string }>(
            'SELECT checksum FROM migrations ORDER BY version',
          )
        ).rows
      : [];
  const isNewest =
    applied.length === STEPS.length &&
    STEPS.every(({ sql }, at) => applied[at]?.checksum === checksumOf(sql));
  if (isNewest) return;
  throw new OperatorError(
    'The database has no data, or those of another release',
    'Check url in [store], and start the server of this release on it once.',
  );
}

/** Throws `OperatorError` when everything was to be carried into the database and the work has not ended. */
export async function refuseHalfTransfer(
  all: (statement: Part) => Promise<readonly unknown[]>,
): Promise<void> {
  const marks = await all(part('SELECT 1 FROM settings WHERE name = $1', TRANSFER_MARK));
  if (marks.length === 0) return;
  throw new OperatorError(
    'A migration into this database was interrupted, or is under way',
    'Run postrider migrate again, with the config that it was run with: its source is untouched.',
    EXIT_CONFIG,
  );
}

const checksumOf = (sql: string): string => createHash('sha256').update(sql).digest('hex');
