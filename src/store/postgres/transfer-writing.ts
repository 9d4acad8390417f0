/**
 * Writing a database from what a transfer carries.
 *
 * All rows are one transaction. A mark is committed before it and goes with it: an interrupted transfer leaves an empty
 * database with the mark, which `refuseHalfTransfer` keeps servers from and the next transfer takes up. Indexes that are
 * no constraint are made when all rows are there. Promises that a database with rows is refused, and that a COMMIT whose
 * answer is lost is looked up. Fails with `OperatorError`.
 */
import { OperatorError } from '../../base/errors.ts';
import { FINGERPRINT_SETTING } from '../key-file.ts';
import { fieldText, fieldValue, rowsIn } from '../transfer-lines.ts';
import { stringsOf } from '../json-columns.ts';
import type { Lines, TransferTable, TransferTarget } from '../transfer.ts';
import type { DatabaseAddress } from './address.ts';
import type { Connection } from './connection.ts';
import { Database } from './database.ts';
import { failureOf } from './failures.ts';
import { makePartitions } from './partitions.ts';
import { TRANSFER_MARK, migrate } from './schema.ts';
import { searchedText } from './shapes.ts';
import { isSummed } from './transfer-shapes.ts';
import { DatabaseReading, openForTransfer, refuseOthers } from './transfer-reading.ts';

/** Of the one transfer into a database: any number that nothing else locks. */
const LOCK = 7_867_490;
/** Older mail, which usually has no content any more, stands together. */
const DAYS_CARRIED = 31;
/** Memory for making one index. */
const INDEX_MEMORY = '256MB';
/** Sums are carried as one row, for the first slot. */
const SLOT = '0';
/** How long the database may be away after a COMMIT whose answer was lost, in milliseconds, and from one look to the next. */
const LOST_MS = 60_000;
const LOOK_AGAIN_MS = 500;

/** The database, which must hold no data, as a target. `now`: epoch milliseconds. Throws `OperatorError`. */
export async function openDatabaseTarget(
  address: DatabaseAddress,
  now: number,
): Promise<TransferTarget> {
  const connection = await openForTransfer(address);
  try {
    await refuseOthers(connection);
    const { rows } = await connection.ask<{ isOurs: boolean }>(
      'SELECT pg_try_advisory_lock($1) AS "isOurs"',
      [LOCK],
    );
    if (rows[0]?.isOurs !== true) {
      throw new OperatorError('Another migration into this database is under way', 'Wait for it.');
    }
    await bringUpToDate(address, now);
    return new DatabaseTarget(connection, address, now);
  } catch (error) {
    await connection.close();
    throw error;
  }
}

async function bringUpToDate(address: DatabaseAddress, now: number): Promise<void> {
  const database = new Database(address);
  try {
    await migrate(database, now);
    await makePartitions(database, now, DAYS_CARRIED);
  } finally {
    await database.close();
  }
}

class DatabaseTarget implements TransferTarget {
  readonly #connection: Connection;
  readonly #address: DatabaseAddress;
  readonly #reading: DatabaseReading;
  readonly #now: number;
  /** Indexes that are made when all rows are there. */
  #later: string[] = [];

  constructor(connection: Connection, address: DatabaseAddress, now: number) {
    this.#connection = connection;
    this.#address = address;
    this.#reading = new DatabaseReading(connection);
    this.#now = now;
  }

  catalog(): ReturnType<DatabaseReading['catalog']> {
    return this.#reading.catalog();
  }

  count(table: TransferTable): Promise<number> {
    return this.#reading.count(table);
  }

  read(table: TransferTable): AsyncGenerator<Lines> {
    return this.#reading.read(table);
  }

  async begin(tables: readonly TransferTable[]): Promise<void> {
    await this.#refuseRows(tables);
    await this.#run(
      'INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING',
      [TRANSFER_MARK, String(this.#now)],
    );
    await this.#run('BEGIN');
    // With the mark, and with what an interrupted transfer has left on the disk.
    await this.#run('TRUNCATE ' + tables.map(({ name }) => name).join(', '));
    const { rows } = await this.#connection.ask<{ name: string; text: string }>(INDEXES);
    for (const { name, text } of rows) {
      await this.#run('DROP INDEX ' + name);
      this.#later.push(text.replace(' ON ONLY ', ' ON '));
    }
  }

  async write(table: TransferTable, lines: AsyncIterable<Lines>): Promise<void> {
    const rest = restOf(table);
    const columns = [...table.columns.map(({ name }) => name), ...(rest?.columns ?? [])];
    const sql = 'COPY ' + table.name + ' (' + columns.join(', ') + ') FROM STDIN';
    const writer = this.#connection.copyIn(sql).getWriter();
    try {
      for await (const piece of lines) {
        await writer.write(rest === null ? piece.bytes : withRest(piece, rest));
      }
    } catch (error) {
      await writer.abort(error);
      throw error;
    }
    await writer.close();
  }

  async complete(): Promise<void> {
    await this.#run("SELECT set_config('maintenance_work_mem', $1, true)", [INDEX_MEMORY]);
    for (const text of this.#later) await this.#run(text);
    for (const { table, column } of (await this.#reading.tables()).identities) {
      await this.#run(
        'SELECT setval(pg_get_serial_sequence($1, $2), COALESCE(max(' +
          column +
          '), 1), count(*) > 0) FROM ' +
          table,
        [table, column],
      );
    }
    await this.#run('ANALYZE');
  }

  async settle(): Promise<void> {
    await refuseOthers(this.#connection);
    try {
      await this.#run('COMMIT');
    } catch (error) {
      if (failureOf(error) !== 'away') throw error;
      if (!(await isWhole(this.#address))) throw lostBeforeCommit();
    }
  }

  async close(): Promise<void> {
    if (!this.#connection.isLost) await this.#connection.close();
  }

  async #run(text: string, params: string[] = []): Promise<void> {
    await this.#connection.ask(text, params, null);
  }

  /** The mark of an interrupted transfer is no row. */
  async #refuseRows(tables: readonly TransferTable[]): Promise<void> {
    for (const { name } of tables) {
      const but = name === 'settings' ? ' WHERE name <> $1' : '';
      const { rows } = await this.#connection.ask(
        'SELECT 1 FROM ' + name + but + ' LIMIT 1',
        but === '' ? [] : [TRANSFER_MARK],
      );
      if (rows.length === 0) continue;
      throw new OperatorError(
        `The database holds rows already (table ${name}): the target of a migration must be empty`,
        'Create a new database and name that. If an earlier run was interrupted at its very end, this one may be whole: start a server on it.',
      );
    }
  }
}

/** Whether a transfer that has asked for COMMIT was committed. Throws `OperatorError` when the database stays away. */
async function isWhole(address: DatabaseAddress): Promise<boolean> {
  const until = performance.now() + LOST_MS;
  for (;;) {
    const names = await settledNames(address);
    // The mark goes, and the source's settings come, in the one transaction.
    if (names !== null)
      return names.includes(FINGERPRINT_SETTING) && !names.includes(TRANSFER_MARK);
    if (performance.now() > until) throw stayedAway();
    await Bun.sleep(LOOK_AGAIN_MS);
  }
}

/** Which of two settings there are, once the session that was lost has ended; null: it has not, or nobody answers. */
async function settledNames(address: DatabaseAddress): Promise<string[] | null> {
  let connection: Connection | null = null;
  try {
    connection = await openForTransfer(address);
    const { rows: locks } = await connection.ask<{ isOurs: boolean }>(
      'SELECT pg_try_advisory_lock($1) AS "isOurs"',
      [LOCK],
    );
    if (locks[0]?.isOurs !== true) return null;
    const { rows } = await connection.ask<{ name: string }>(
      'SELECT name FROM settings WHERE name IN ($1, $2)',
      [TRANSFER_MARK, FINGERPRINT_SETTING],
    );
    return rows.map(({ name }) => name);
  } catch (error) {
    if (failureOf(error) === 'away') return null;
    throw error;
  } finally {
    connection?.abandon();
  }
}

function lostBeforeCommit(): OperatorError {
  return new OperatorError(
    'The connection to the database was lost at the very end: nothing of the migration is in it',
    'Run it again: it begins anew. Nothing was changed on the side that was read.',
  );
}

function stayedAway(): OperatorError {
  return new OperatorError(
    'The connection to the database was lost at the very end, and it does not answer: whether everything is in it is not known',
    'When it answers, run the same command again. It begins anew if nothing is there, and says so if all of it is.',
  );
}

/** Indexes of tables, and not of their partitions, that are no constraint. */
const INDEXES =
  'SELECT c.oid::regclass::text AS name, pg_get_indexdef(c.oid) AS text FROM pg_class AS c' +
  " WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('i', 'I') AND NOT c.relispartition" +
  ' AND NOT EXISTS (SELECT FROM pg_constraint AS k WHERE k.conindid = c.oid)';

/** Fields that a row has here alone. */
interface Rest {
  columns: readonly string[];
  /** As they stand in the line. */
  of(fields: readonly string[]): string;
}

function restOf({ name, columns }: TransferTable): Rest | null {
  if (isSummed(name)) return { columns: ['slot'], of: () => SLOT };
  if (name !== 'messages') return null;
  const at = (column: string): number => columns.findIndex((one) => one.name === column);
  const [subject, sender, to] = [at('subject'), at('sender'), at('to_list')];
  return {
    columns: ['searched'],
    of(fields) {
      const text = (index: number): string => String(fieldValue(fields[index] ?? '', 'text'));
      const searched = { subject: text(subject), from: text(sender), to: stringsOf(text(to)) };
      return fieldText(searchedText(searched), 'text');
    },
  };
}

function withRest(piece: Lines, rest: Rest): string {
  let text = '';
  for (const fields of rowsIn(piece)) text += `${fields.join('\t')}\t${rest.of(fields)}\n`;
  return text;
}
