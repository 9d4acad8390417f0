/**
 * The database as the store's verbs use it: statements and transactions on a few connections to the primary.
 *
 * Promises at most `MOST_CONNECTIONS`, all to a server that takes writes; a lost one is replaced when it is next needed.
 * A transaction is written once or not at all, also where its connection is lost while it commits: each writes its own
 * number into `commits`, and whoever does not know what became of it writes that number as lost. A row that is there
 * says it was committed; where there was none, there is one now, and it never will be. Fails with `StoreAwayError` when
 * no primary answers for `PATIENCE_MS`, and with `StoreFullError`.
 */
import { PassingMap } from '../../base/passing-map.ts';
import type { DatabaseState } from '../operator.ts';
import { StoreAwayError, StoreFullError } from '../store.ts';
import type { DatabaseAddress } from './address.ts';
import { Connection } from './connection.ts';
import type { CommitNumber, Result } from './connection.ts';
import { failureOf } from './failures.ts';
import { askFlushed, onStandby } from './replicated.ts';
import type { Part } from './statement.ts';
import { InDoubt, isCommitted, runIn } from './transaction.ts';
import type { Session, Transaction } from './transaction.ts';

export type { Session, Transaction } from './transaction.ts';

/** With the one of `nodes.ts` eight a node: many nodes stay far below what a server takes (100). */
const MOST_CONNECTIONS = 7;
/** A client that sends waits about as long. */
const PATIENCE_MS = 5_000;
/** After the first failure, and at most: it doubles from one to the next. */
const FIRST_RETRY_MS = 5;
const LAST_RETRY_MS = 250;
/** Deadlocks and their like; each run is a new chance. */
const MOST_RUNS = 10;

/** What became of one run: `T`, or what stands in its way. */
type Waiter = (connection: Connection | Error) => void;

/** What the verbs use. */
export interface Access extends Session {
  /** Runs `work` in a transaction, again where another one was in its way, and commits. `work` keeps nothing outside of it. */
  transaction<T>(work: (session: Transaction) => Promise<T>): Promise<T>;
}

/** `database` whose transactions are `transaction`; reads outside of them stay as they are. */
export function transactingBy(
  database: Pick<Access, 'all' | 'first'>,
  transaction: Access['transaction'],
): Access {
  return {
    all: (statement) => database.all(statement),
    first: (statement) => database.first(statement),
    run: (statement) => transaction((session) => session.run(statement)),
    transaction,
  };
}

/**
 * The same database with one change after the other, in the order in which they are asked for: of two that change one row
 * the later one counts, whether or not the first one was waited for. Reads do not wait. `drained` resolves when all that was
 * asked for has ended.
 */
export function inOrder(database: Access): Access & { drained(): Promise<unknown> } {
  let last: Promise<unknown> = Promise.resolve();
  const next = <T>(change: () => Promise<T>): Promise<T> => {
    const answer = last.then(change);
    last = answer.catch(() => undefined);
    return answer;
  };
  return {
    all: (statement) => database.all(statement),
    first: (statement) => database.first(statement),
    run: (statement) => next(() => database.run(statement)),
    transaction: (work) => next(() => database.transaction(work)),
    drained: () => last,
  };
}

export class Database implements Access {
  readonly #address: DatabaseAddress;
  readonly #patienceMs: number;
  readonly #free: Connection[] = [];
  readonly #waiting: Waiter[] = [];
  readonly #underWay = new PassingMap<number, Promise<unknown>>();
  #nextNumber = 1;
  #open = 0;
  #isClosed = false;
  #isAway = false;
  #committedAt = performance.now();
  /** Where the primary was found last. */
  #hostAt = 0;

  /** `patienceMs`: how long a caller waits for a primary. */
  constructor(address: DatabaseAddress, patienceMs: number = PATIENCE_MS) {
    this.#address = address;
    this.#patienceMs = patienceMs;
  }

  state(): Omit<DatabaseState, 'hasStandby'> {
    const idle = this.#free.length;
    return {
      used: this.#open - idle,
      idle,
      waiting: this.#waiting.length,
      isAway: this.#isAway,
      sinceCommitMs: performance.now() - this.#committedAt,
    };
  }

  async all<Row>(statement: Part): Promise<Row[]> {
    return (await this.#noted(this.#read<Row>(statement))).rows;
  }

  async first<Row>(statement: Part): Promise<Row | null> {
    return (await this.#noted(this.#read<Row>(statement))).rows[0] ?? null;
  }

  /** One change, as a transaction of its own. */
  run(statement: Part): Promise<number> {
    return this.transaction((session) => session.run(statement));
  }

  transaction<T>(work: (session: Transaction) => Promise<T>): Promise<T> {
    return this.#noted(this.#transact(work, false));
  }

  /**
   * The same database whose transactions end when a synchronous standby has flushed them, too. Where none has in time they
   * fail with `StoreUnconfirmedError`: they may have been committed all the same.
   */
  replicated(): Access {
    return transactingBy(this, (work) => this.#noted(this.#transact(work, true)));
  }

  async #transact<T>(
    work: (session: Transaction) => Promise<T>,
    isReplicated: boolean,
  ): Promise<T> {
    const until = performance.now() + this.#patienceMs;
    for (let run = 1; ; run += 1) {
      try {
        return await this.#once(work, until, isReplicated);
      } catch (error) {
        await this.#beforeNextRun(error, run, until);
      }
    }
  }

  /** Ends when what is under way has ended. */
  async close(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay.values());
    this.#isClosed = true;
    await Promise.all(this.#free.splice(0).map((connection) => connection.close()));
  }

  /** Closing waits for it. */
  #noted<T>(answer: Promise<T>): Promise<T> {
    const number = this.#nextNumber++;
    this.#underWay.set(number, answer);
    const forget = (): void => void this.#underWay.take(number);
    answer.then(forget, forget);
    return answer;
  }

  async #read<Row>({ text, params, answerMs }: Part): Promise<Result<Row>> {
    const until = performance.now() + this.#patienceMs;
    for (let run = 1; ; run += 1) {
      try {
        return await this.#withConnection(until, (connection) =>
          connection.ask<Row>(text, params, answerMs),
        );
      } catch (error) {
        await this.#beforeNextRun(error, run, until);
      }
    }
  }

  /** Waits and returns where it can be run again; throws what the caller is told otherwise. */
  async #beforeNextRun(error: unknown, run: number, until: number): Promise<void> {
    const kind = failureOf(error);
    this.#isAway = kind === 'away';
    if (kind === 'unconfirmed') throw error;
    if (kind === 'full') throw new StoreFullError('the disk of the database is full');
    if (kind === 'refused' || this.#isClosed) throw error;
    const isOver = kind === 'conflict' ? run >= MOST_RUNS : performance.now() >= until;
    if (isOver) {
      throw error instanceof StoreAwayError
        ? error
        : new StoreAwayError('the database does not answer', { cause: error });
    }
    const waitMs = Math.min(FIRST_RETRY_MS * 2 ** (run - 1), LAST_RETRY_MS);
    await new Promise((resolve) => setTimeout(resolve, waitMs));
  }

  async #once<T>(
    work: (session: Transaction) => Promise<T>,
    until: number,
    isReplicated: boolean,
  ): Promise<T> {
    const ended = await this.#withConnection(until, (connection) =>
      runIn(connection, work, isReplicated ? until : null),
    );
    if (!(ended instanceof InDoubt)) {
      this.#committedAt = performance.now();
      return ended;
    }
    if (!(await this.#wasCommitted(ended.number, isReplicated))) {
      return this.#once(work, until, isReplicated);
    }
    this.#committedAt = performance.now();
    return ended.value as T;
  }

  /** Waits for the transaction to end, if it still runs; when it was not committed it cannot be any more. */
  async #wasCommitted(number: CommitNumber, isReplicated: boolean): Promise<boolean> {
    const until = performance.now() + this.#patienceMs;
    for (let run = 1; ; run += 1) {
      try {
        return await this.#withConnection(until, async (connection) => {
          const isThere = await isCommitted(connection, number);
          // By the same server that has said so.
          if (isThere && isReplicated) {
            await onStandby(connection, await askFlushed(connection), until);
          }
          return isThere;
        });
      } catch (error) {
        await this.#beforeNextRun(error, run, until);
      }
    }
  }

  async #withConnection<T>(until: number, use: (connection: Connection) => Promise<T>): Promise<T> {
    const connection = await this.#take(until);
    try {
      const value = await use(connection);
      this.#isAway = false;
      return value;
    } finally {
      this.#giveBack(connection);
    }
  }

  #take(until: number): Promise<Connection> {
    if (this.#isClosed) return Promise.reject(new StoreAwayError('the store is closed'));
    for (;;) {
      const connection = this.#free.pop();
      if (connection === undefined) break;
      if (!connection.isLost) return Promise.resolve(connection);
      this.#open -= 1;
    }
    if (this.#open < MOST_CONNECTIONS) {
      this.#open += 1;
      return this.connect().catch((error: unknown) => {
        this.#open -= 1;
        throw error;
      });
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => {
          this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
          reject(new StoreAwayError('the database does not answer'));
        },
        Math.max(until - performance.now(), 0),
      );
      const waiter: Waiter = (connection) => {
        clearTimeout(timer);
        if (connection instanceof Connection) resolve(connection);
        else reject(connection);
      };
      this.#waiting.push(waiter);
    });
  }

  #giveBack(connection: Connection): void {
    if (this.#isClosed) {
      void connection.close();
      return;
    }
    if (!connection.isLost) {
      const waiter = this.#waiting.shift();
      if (waiter === undefined) this.#free.push(connection);
      else waiter(connection);
      return;
    }
    if (this.#waiting.length === 0) {
      this.#open -= 1;
      return;
    }
    void this.#replace();
  }

  /** Opens another for whoever waits then: who asked first may have given up. A lost one counts until it is there. */
  async #replace(): Promise<void> {
    let next: Connection;
    try {
      next = await this.connect();
    } catch (error) {
      this.#open -= 1;
      const told = error instanceof Error ? error : new StoreAwayError(String(error));
      this.#waiting.shift()?.(told);
      return;
    }
    this.#giveBack(next);
  }

  /** A connection of the caller's own, to the first host that is a primary, from the one on that was it last. */
  async connect(): Promise<Connection> {
    const { hosts } = this.#address;
    let failure: unknown = new StoreAwayError('no host of the database is a primary');
    for (let step = 0; step < hosts.length; step += 1) {
      const at = (this.#hostAt + step) % hosts.length;
      const host = hosts[at];
      if (host === undefined) continue;
      try {
        const connection = await Connection.open(this.#address, host);
        if (connection.isPrimary) {
          this.#hostAt = at;
          return connection;
        }
        connection.abandon();
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }
}
