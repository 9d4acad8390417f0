/**
 * What the database says of itself, for the host check.
 *
 * Reads only, on a connection of its own beside the server's, whether or not the database has a schema. Fails as the
 * network or the server does, and with `OperatorError` for what the config says wrong.
 */
import { aheadMs } from '../../base/clock-difference.ts';
import { FINGERPRINT_SETTING } from '../key-file.ts';
import type { ListedSession } from '../nodes.ts';
import { databaseAddress } from './address.ts';
import { Database } from './database.ts';
import { listSessions } from './nodes.ts';
import { readStandbys } from './standbys.ts';
import type { Standbys } from './standbys.ts';
import { part } from './statement.ts';

/** With the standbys that the primary knows. */
export interface DatabaseFacts extends Standbys {
  /** Such as `15.18`; `versionNumber` the same as 150018. */
  version: string;
  versionNumber: number;
  fsync: string;
  fullPageWrites: string;
  /** As it is for the sessions of a node. */
  synchronousCommit: string;
  mostConnections: number;
  /** Connections of anybody but nodes. */
  otherConnections: number;
  bytes: number;
  /** Milliseconds by which its clock is ahead of `clock`; less than half of the way there and back is not seen. */
  aheadMs: number;
  /** Of the secret key that the stored secrets are sealed under; null: none is stored. */
  fingerprint: string | null;
  /** The nodes that take part. */
  nodes: ListedSession[];
}

const FACTS =
  "SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int4 AS \"versionNumber\"," +
  " current_setting('fsync') AS fsync, current_setting('full_page_writes') AS \"fullPageWrites\"," +
  ' current_setting(\'synchronous_commit\') AS "synchronousCommit",' +
  " current_setting('max_connections')::int4 - current_setting('superuser_reserved_connections')::int4 AS \"mostConnections\"," +
  " (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND application_name <> 'postrider')" +
  ' AS "otherConnections", pg_database_size(current_database()) AS bytes,' +
  ' to_regclass(\'settings\') IS NOT NULL AS "hasSchema"';

/** Looks at the primary. `clock` in epoch milliseconds. */
export async function inspectDatabase(
  { url, passwordFile }: { url: string; passwordFile: string },
  clock: () => number,
): Promise<DatabaseFacts> {
  const database = new Database(databaseAddress(url, passwordFile), 0);
  try {
    const facts = await database.first<
      Omit<DatabaseFacts, 'aheadMs' | 'fingerprint' | 'nodes' | keyof Standbys> & {
        hasSchema: boolean;
      }
    >(part(FACTS));
    if (facts === null) throw new Error('the server says nothing of itself');
    const key = facts.hasSchema
      ? await database.first<{ value: string }>(
          part('SELECT value FROM settings WHERE name = $1', FINGERPRINT_SETTING),
        )
      : null;
    return {
      ...facts,
      ...(await readStandbys(database)),
      aheadMs: await aheadOf(database, clock),
      fingerprint: key?.value ?? null,
      nodes: facts.hasSchema ? await listSessions(database) : [],
    };
  } finally {
    await database.close();
  }
}

async function aheadOf(database: Database, clock: () => number): Promise<number> {
  const askedAt = clock();
  const row = await database.first<{ at: number }>(
    part('SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS at'),
  );
  const answeredAt = clock();
  return aheadMs({ askedAt, answeredAt, said: row?.at ?? answeredAt });
}
