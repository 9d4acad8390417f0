/**
 * One process has the database to itself, as another has its data directory.
 *
 * A start frees what every owner has taken (`JourneyStore.releaseLeases`): beside another process that sends, it would send
 * twice. Promises that a second process is refused while the first one lives, by a lock of its session. A session that was
 * lost is replaced; a process that does not get the lock back for `REGAIN_MS` ends, since another may have it. What a
 * process that was killed had sent last may still be on its way into the database: whoever takes the lock ends those
 * sessions first, or mail would be taken in the name of the dead after it was freed, and wait for ever.
 */
import { OperatorError } from '../../base/errors.ts';
import type { Log } from '../../base/log.ts';
import type { Connection } from './connection.ts';
import type { Database } from './database.ts';

/** Any number that nothing else locks. */
const LOCK = 7_867_480;
/** A session of a process that has just ended is gone by then. */
const TAKE_MS = 3_000;
/** A server that was cut off has noticed by then that the session is dead (`tcp_keepalives` in `connection.ts`). */
const REGAIN_MS = 60_000;
/** A session that is told to end does so within moments. */
const END_MS = 5_000;
const LOOK_EVERY_MS = 2_000;
const TRY_EVERY_MS = 250;

export class SoleUse {
  readonly #database: Database;
  readonly #log: Log;
  #connection: Connection;
  #isOver = false;
  #wake: () => void = () => undefined;
  readonly #watching: Promise<void>;

  private constructor(database: Database, connection: Connection, log: Log) {
    this.#database = database;
    this.#connection = connection;
    this.#log = log;
    this.#watching = this.#watch();
  }

  /** Throws `OperatorError` when another process has the database. */
  static async take(database: Database, log: Log): Promise<SoleUse> {
    const connection = await tryFor(TAKE_MS, () => lockedSession(database));
    if (connection !== null) {
      await endOtherSessions(connection);
      return new SoleUse(database, connection, log);
    }
    throw new OperatorError(
      'Another process has this database open.',
      'Stop the other server, or the command that runs, first. Several servers on one database are not supported yet.',
    );
  }

  async release(): Promise<void> {
    this.#isOver = true;
    this.#wake();
    await this.#watching;
    await this.#connection.close();
  }

  async #watch(): Promise<void> {
    for (;;) {
      await this.#pause();
      if (this.#isOver) return;
      const isAlive = await this.#connection.ask('SELECT 1').then(
        () => true,
        () => false,
      );
      if (!isAlive) await this.#regain();
    }
  }

  async #regain(): Promise<void> {
    const next = await tryFor(REGAIN_MS, async () => {
      if (this.#isOver) return this.#connection;
      return lockedSession(this.#database).catch(() => null);
    });
    if (next !== null) {
      this.#connection = next;
      return;
    }
    this.#log.error('store_taken', {
      hint: 'The database was away for a minute, or another process has it now. This server ends, so that nothing is sent twice.',
    });
    process.exit(1);
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, LOOK_EVERY_MS);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** A connection that has the lock; null: another one has it. */
async function lockedSession(database: Database): Promise<Connection | null> {
  const connection = await database.connect();
  const { rows } = await connection.ask<{ isOurs: boolean }>(
    'SELECT pg_try_advisory_lock($1) AS "isOurs"',
    [LOCK],
  );
  if (rows[0]?.isOurs === true) return connection;
  await connection.close();
  return null;
}

/** Ends what others have open in this database, and waits for it. None of them has the lock: their process has ended. */
async function endOtherSessions(connection: Connection): Promise<void> {
  await connection.ask(
    'SELECT pg_terminate_backend(pid, $1) FROM pg_stat_activity WHERE datname = current_database()' +
      ' AND application_name = current_setting($2) AND usename = current_user AND pid <> pg_backend_pid()',
    [END_MS, 'application_name'],
  );
}

/** Asks again until it is not null; null when `ms` are over. */
async function tryFor<T>(ms: number, ask: () => Promise<T | null>): Promise<T | null> {
  const until = performance.now() + ms;
  for (;;) {
    const answer = await ask();
    if (answer !== null || performance.now() >= until) return answer;
    await new Promise((resolve) => setTimeout(resolve, TRY_EVERY_MS));
  }
}
