/**
 * One connection to the primary, from its opening to its loss.
 *
 * Promises that statements go to the server in the order given, without waiting for each other, and that after a loss
 * everything fails: nothing is ever sent to a second connection instead, as a transaction would then end in pieces
 * (docs/runtime-hazards.md). A statement without an answer for `ANSWER_MS`, or for a time of its own,
 * counts as a loss.
 */
import { setImmediate as nextTick } from 'node:timers/promises';
import { SQL } from 'bun';
import type { ReservedSQL } from 'bun';
import type { DatabaseAddress, HostAddress } from './address.ts';
import { failureOf, sqlState } from './failures.ts';
import { decodeRows } from './values.ts';
import type { Parameter, ResultColumn } from './values.ts';

/** Seconds that opening may take. */
const OPEN_SECONDS = 5;
/** A server that is alive answers sooner, also while it waits for a lock or a standby. */
const ANSWER_MS = 30_000;

/** Settings of each session: what the server's own configuration says does not matter for these. */
const SETTINGS = {
  application_name: 'postrider',
  // A commit is on disk before it is answered, and on the standby where the server waits for one.
  synchronous_commit: 'on',
  // What a node has left open when it vanished ends by itself.
  idle_in_transaction_session_timeout: '30s',
  client_connection_check_interval: '5s',
  tcp_keepalives_idle: '10',
  tcp_keepalives_interval: '5',
  tcp_keepalives_count: '3',
  // Statements are short: to compile one would take longer than to run it.
  jit: 'off',
  // A plan for any values would have to look at the partitions of all days.
  plan_cache_mode: 'force_custom_plan',
  // Each statement sees what was committed before it: what a transaction has locked is read as it is then.
  default_transaction_isolation: 'read committed',
  TimeZone: 'UTC',
};

/** Rows of a statement, and how many it has changed. */
export interface Result<Row> {
  rows: Row[];
  changes: number;
  /** `COMMIT`, `ROLLBACK`, `INSERT` … */
  command: string;
}

/** What Bun gives: an array with more on it. */
interface Answer extends Array<Record<string, unknown>> {
  columns?: ResultColumn[];
  count: number | null;
  command: string;
}

/** What one transaction is known by. */
export interface CommitNumber {
  session: string;
  number: number;
}

/** What the server says of a new session. */
interface Welcome {
  isStandby: boolean;
  /** An id that no other session has. */
  session: string;
}

const WELCOME = 'SELECT pg_is_in_recovery() AS "isStandby", gen_random_uuid() AS session';

export class Connection {
  readonly #welcome: Welcome;
  #transactions = 0;
  readonly #sql: SQL;
  readonly #session: ReservedSQL;
  #isLost = false;

  private constructor(sql: SQL, session: ReservedSQL, welcome: Welcome) {
    this.#welcome = welcome;
    this.#sql = sql;
    this.#session = session;
  }

  /** Connects to `host`. Fails as the server or the network does. */
  static async open(database: DatabaseAddress, host: HostAddress): Promise<Connection> {
    const sql = new SQL({
      adapter: 'postgres',
      ...host,
      database: database.database,
      username: database.username,
      password: database.password,
      tls: database.tls,
      max: 1,
      idleTimeout: 0,
      connectionTimeout: OPEN_SECONDS,
      connection: SETTINGS,
    });
    try {
      const session = await sql.reserve();
      const [welcome] = (await session.unsafe(WELCOME)) as Welcome[];
      if (welcome === undefined) throw new Error('the server says nothing of itself');
      return new Connection(sql, session, welcome);
    } catch (error) {
      void sql.close({ timeout: 0 });
      throw error;
    }
  }

  /** Whether the server took writes when the connection was opened. */
  get isPrimary(): boolean {
    return !this.#welcome.isStandby;
  }

  /** The number of the next transaction. */
  nextNumber(): CommitNumber {
    this.#transactions += 1;
    return { session: this.#welcome.session, number: this.#transactions };
  }

  /** Nothing can be asked of it any more. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /**
   * Sends one statement. `Row`: what its columns are, as the text says. `answerMs`: after that long without an answer the
   * connection counts as lost; null: it may take as long as it does.
   */
  async ask<Row>(
    text: string,
    params: readonly Parameter[] = [],
    answerMs: number | null = ANSWER_MS,
  ): Promise<Result<Row>> {
    const timer = answerMs === null ? undefined : setTimeout(() => this.abandon(), answerMs);
    try {
      const answer = (await this.#session.unsafe(text, [...params])) as Answer;
      const rows = [...answer];
      if (answer.columns !== undefined) decodeRows(rows, answer.columns);
      return { rows: rows as Row[], changes: answer.count ?? 0, command: answer.command };
    } catch (error) {
      if (failureOf(error) === 'away') this.abandon();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** The bytes that a `COPY … TO STDOUT` gives; what reads them sets the pace. */
  copyOut(text: string): ReadableStream<Uint8Array> {
    return this.#session.unsafe(text).readable();
  }

  /** Takes the bytes of a `COPY … FROM STDIN`; closing it resolves when the server has all rows. */
  copyIn(text: string): WritableStream<string | Uint8Array> {
    return this.#session.unsafe(text).writable();
  }

  /**
   * Writes what a `COPY … FROM STDIN` takes, each piece in a tick of the event loop of its own. What was asked before must
   * have been answered: behind a statement that failed the client takes it for done (docs/runtime-hazards.md H43). Without
   * progress for `answerMs` the connection counts as lost.
   */
  async copy(
    text: string,
    pieces: Iterable<Uint8Array>,
    answerMs: number = ANSWER_MS,
  ): Promise<void> {
    const timer = setTimeout(() => this.abandon(), answerMs);
    const writer = this.copyIn(text).getWriter();
    try {
      for (const piece of pieces) {
        await nextTick();
        await writer.write(piece);
        timer.refresh();
      }
      await writer.close();
    } catch (error) {
      // What is not the server's own failure leaves it waiting for the rest.
      if (failureOf(error) === 'away' || sqlState(error) === null) this.abandon();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends it without waiting; what is under way fails. */
  abandon(): void {
    if (this.#isLost) return;
    this.#isLost = true;
    void this.#sql.close({ timeout: 0 });
  }

  /** Ends it when nothing is under way. */
  async close(): Promise<void> {
    this.#isLost = true;
    await this.#session.release();
    await this.#sql.close();
  }
}
