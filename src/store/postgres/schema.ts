/**
 * The schema's history on PostgreSQL: forward-only steps, embedded in the program, each applied once.
 *
 * Promises that one node at a time brings the schema up to date, the others wait for it, and that a step and its record
 * commit together. Refuses with `OperatorError` a server that is too old, a database that a newer release has changed,
 * and one whose applied steps differ from those that this program holds.
 */
import { createHash } from 'node:crypto';
import { OperatorError } from '../../base/errors.ts';
import postgres0001 from '../../../migrations/postgres/0001_initial.sql' with { type: 'text' };
import type { Access, Session } from './database.ts';
import { part } from './statement.ts';

const STEPS: readonly { name: string; sql: string }[] = [{ name: 'initial', sql: postgres0001 }];

/** `NULLS NOT DISTINCT` and more came with 15. */
const OLDEST_VERSION = 150_000;
/** Of the lock that one node holds while it changes the schema: any number that nothing else uses. */
const SCHEMA_LOCK = 7_867_478;
const HINT = 'Run the release that wrote this database, or a newer one.';

/** Brings the database to the newest schema. `now` in epoch milliseconds. */
export async function migrate(database: Access, now: number): Promise<void> {
  await database.transaction(async (session) => {
    await checkVersion(session);
    await session.run(part('SELECT pg_advisory_xact_lock($1)', SCHEMA_LOCK));
    await session.run(
      part(
        'CREATE TABLE IF NOT EXISTS migrations (version int4 PRIMARY KEY, name text NOT NULL,' +
          ' checksum text NOT NULL, applied_at int8 NOT NULL)',
      ),
    );
    await applyMissing(session, now);
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

async function applyMissing(session: Session, now: number): Promise<void> {
  const applied = await session.all<{ version: number; checksum: string }>(
    part('SELECT version, checksum FROM migrations ORDER BY version'),
  );
  if (applied.length > STEPS.length) {
    throw new OperatorError('A newer release has changed this database', HINT);
  }
  for (const [at, { name, sql }] of STEPS.entries()) {
    const checksum = createHash('sha256').update(sql).digest('hex');
    const known = applied[at];
    if (known !== undefined) {
      if (known.checksum === checksum) continue;
      throw new OperatorError(
        `Step ${known.version} of this database's schema is another one`,
        HINT,
      );
    }
    await session.run(part(sql));
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
