/**
 * Reading a database for a transfer, as one connection sees it: a source, or what was written into a target.
 *
 * Promises one state of a source for all of its tables, whatever others do, and that nothing of it is written. Refuses a
 * database that a server has open. Fails with `OperatorError`.
 */
import { OperatorError } from '../../base/errors.ts';
import { REVIVAL_SECONDS } from '../nodes.ts';
import { wholeLines } from '../transfer-lines.ts';
import type { Catalog, Lines, TransferEnd, TransferSource, TransferTable } from '../transfer.ts';
import type { DatabaseAddress } from './address.ts';
import type { Connection } from './connection.ts';
import { Database } from './database.ts';
import { checkSchema, refuseHalfTransfer } from './schema.ts';
import { countOf, selectOf, tablesOf } from './transfer-shapes.ts';
import type { DatabaseTables } from './transfer-shapes.ts';

/** No statement of a transfer is ended by a limit of time, and bytes look alike, whatever the role's settings are. */
const SETTINGS =
  'SET idle_in_transaction_session_timeout = 0; SET statement_timeout = 0; SET lock_timeout = 0;' +
  " SET bytea_output = 'hex'";

/** Others that have the database open: servers, and commands beside them. */
const OTHERS =
  'SELECT count(*) AS count FROM pg_stat_activity WHERE datname = current_database()' +
  " AND application_name = 'postrider' AND pid <> pg_backend_pid()";

/** Reads over an open connection. */
export class DatabaseReading implements TransferEnd {
  readonly #connection: Connection;
  #tables: DatabaseTables | null = null;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  async tables(): Promise<DatabaseTables> {
    this.#tables ??= await tablesOf(this.#connection);
    return this.#tables;
  }

  async catalog(): Promise<Catalog> {
    return (await this.tables()).catalog;
  }

  async count(table: TransferTable): Promise<number> {
    const { rows } = await this.#connection.ask<{ count: number }>(countOf(table), [], null);
    return rows[0]?.count ?? 0;
  }

  async *read(table: TransferTable): AsyncGenerator<Lines> {
    const { texts } = await this.tables();
    yield* wholeLines(this.#connection.copyOut('COPY (' + selectOf(table, texts) + ') TO STDOUT'));
  }
}

/** A connection of its own to the primary, whose statements may take as long as they do. */
export async function openForTransfer(address: DatabaseAddress): Promise<Connection> {
  const connection = await new Database(address).connect();
  try {
    await connection.ask(SETTINGS);
    return connection;
  } catch (error) {
    connection.abandon();
    throw error;
  }
}

/** A server that was cut off from the database may go on when it reaches it again. */
const CUT_OFF =
  'SELECT name FROM sessions WHERE ended_at IS NULL AND lease_until >= clock_timestamp() -' +
  ' make_interval(secs => $1) LIMIT 1';

/** Throws `OperatorError` while a server may still live that cannot be seen. */
async function refuseCutOff(connection: Connection): Promise<void> {
  const { rows } = await connection.ask<{ name: string }>(CUT_OFF, [REVIVAL_SECONDS]);
  const [one] = rows;
  if (one === undefined) return;
  throw new OperatorError(
    `The server "${one.name}" did not say that it has ended`,
    'Stop it. When it was killed, or its machine is gone, wait for a minute.',
  );
}

/** The server's side of a connection ends a moment after the program that closed it. */
const ENDING_MS = 2_000;
const ASK_AGAIN_MS = 50;

/** Throws `OperatorError` while others have the database open. */
export async function refuseOthers(connection: Connection): Promise<void> {
  const until = performance.now() + ENDING_MS;
  do {
    // Within a transaction the server shows what it showed first, until it is told to look again.
    await connection.ask('SELECT pg_stat_clear_snapshot()');
    const { rows } = await connection.ask<{ count: number }>(OTHERS);
    if ((rows[0]?.count ?? 0) === 0) return;
    await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
  } while (performance.now() < until);
  throw new OperatorError(
    'A server or a command has this database open',
    'Stop the servers of all nodes first, and wait for commands to end.',
  );
}

/** The database as a source. Throws `OperatorError`. */
export async function openDatabaseSource(address: DatabaseAddress): Promise<TransferSource> {
  const connection = await openForTransfer(address);
  try {
    await refuseOthers(connection);
    await checkSchema(connection);
    await refuseHalfTransfer(async ({ text, params }) => (await connection.ask(text, params)).rows);
    await refuseCutOff(connection);
    await connection.ask('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  } catch (error) {
    await connection.close();
    throw error;
  }
  const reading = new DatabaseReading(connection);
  return {
    catalog: () => reading.catalog(),
    count: (table) => reading.count(table),
    read: (table) => reading.read(table),
    async setting(name) {
      const sql = 'SELECT value FROM settings WHERE name = $1';
      return (await connection.ask<{ value: string }>(sql, [name])).rows[0]?.value ?? null;
    },
    checkQuiet: () => refuseOthers(connection),
    close: () => connection.close(),
  };
}
