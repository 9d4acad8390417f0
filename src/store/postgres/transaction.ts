/**
 * One run of a transaction on one connection.
 *
 * Promises that each writes its number into `commits`, by which whoever does not know what became of it learns it
 * (`isCommitted`), and that a run which has asked for COMMIT and lost its connection says so (`InDoubt`).
 */
import type { CommitNumber, Connection } from './connection.ts';
import { copyInto, copyPieces } from './copied-rows.ts';
import { sqlState } from './failures.ts';
import { askFlushed, onStandby } from './replicated.ts';
import type { Flushed } from './replicated.ts';
import type { Part, RowOf, Table } from './statement.ts';

/** What a statement of a transaction, or a read, is asked with. */
export interface Session {
  /** The rows. `Row`: as the text says. */
  all<Row>(statement: Part): Promise<Row[]>;
  /** The first row; null: there is none. */
  first<Row>(statement: Part): Promise<Row | null>;
  /** How many rows were changed. */
  run(statement: Part): Promise<number>;
}

/** A transaction that has begun. */
export interface Transaction extends Session {
  /** The number of this process's session among the live ones; 0 without one. */
  readonly node: number;
  /** Which slots its sums are written into (`sum-slots.ts`); null without a session. */
  readonly period: number | null;
  /** Sends a statement whose result nobody needs: it travels with COMMIT, and fails the transaction when it fails. */
  send(statement: Part): void;
  /** Adds rows with large values, in pieces; resolves when the server has them all. */
  copy<F extends string>(of: Table<F>, rows: readonly RowOf<Table<F>>[]): Promise<void>;
}

/** The connection was lost after COMMIT had been asked for. */
export class InDoubt {
  readonly number: CommitNumber;
  readonly value: unknown;
  constructor(number: CommitNumber, value: unknown) {
    this.number = number;
    this.value = value;
  }
}

/** `sent`: what it sends without waiting. */
function transactionOn(connection: Connection, sent: Promise<unknown>[]): Transaction {
  return {
    node: 0,
    period: null,
    all: async <Row>({ text, params, answerMs }: Part) =>
      (await connection.ask<Row>(text, params, answerMs)).rows,
    first: async <Row>({ text, params, answerMs }: Part) =>
      (await connection.ask<Row>(text, params, answerMs)).rows[0] ?? null,
    run: async ({ text, params, answerMs }) =>
      (await connection.ask(text, params, answerMs)).changes,
    send({ text, params, answerMs }) {
      const answer = connection.ask(text, params, answerMs);
      answer.catch(() => undefined);
      sent.push(answer);
    },
    async copy(of, rows) {
      await Promise.all(sent);
      await connection.copy(copyInto(of), copyPieces(of, rows));
    },
  };
}

/** The answer to this may be lost too: asked again it is the same. */
export async function isCommitted(
  connection: Connection,
  { session, number }: CommitNumber,
): Promise<boolean> {
  const { rows } = await connection.ask<{ isLost: boolean }>(
    'INSERT INTO commits (session, number, is_lost) VALUES ($1, $2, true)' +
      ' ON CONFLICT (session, number) DO UPDATE SET is_lost = commits.is_lost RETURNING is_lost AS "isLost"',
    [session, number],
  );
  return rows[0]?.isLost === false;
}

/**
 * One run of a transaction. BEGIN travels with the first statement, the number with COMMIT, and behind it the question
 * whether a standby has it by `standbyUntil` (null: not asked).
 */
export async function runIn<T>(
  connection: Connection,
  work: (session: Transaction) => Promise<T>,
  standbyUntil: number | null,
): Promise<T | InDoubt> {
  const sent: Promise<unknown>[] = [];
  const begun = connection.ask('BEGIN');
  begun.catch(() => undefined);
  const number = connection.nextNumber();
  let value: T;
  try {
    value = await work(transactionOn(connection, sent));
    await begun;
  } catch (error) {
    if (!connection.isLost) await connection.ask('ROLLBACK').catch(() => connection.abandon());
    throw await causeOf(error, sent);
  }
  const noted = connection.ask('INSERT INTO commits (session, number) VALUES ($1, $2)', [
    number.session,
    number.number,
  ]);
  sent.push(noted);
  noted.catch(() => undefined);
  try {
    await commit(connection, sent, standbyUntil);
    return value;
  } catch (error) {
    if (connection.isLost) return new InDoubt(number, value);
    throw error;
  }
}

async function commit(
  connection: Connection,
  sent: readonly Promise<unknown>[],
  standbyUntil: number | null,
): Promise<void> {
  const committed = connection.ask('COMMIT');
  const flushed: Promise<Flushed> | null = standbyUntil === null ? null : askFlushed(connection);
  flushed?.catch(() => undefined);
  const { command } = await committed;
  await Promise.all(sent);
  if (command !== 'COMMIT') throw new Error(`the transaction ended with ${command}`);
  if (flushed !== null && standbyUntil !== null) {
    await onStandby(connection, await flushed, standbyUntil);
  }
}

/** What failed first, where `failure` only says that something before it had: in_failed_sql_transaction. */
async function causeOf(failure: unknown, sent: readonly Promise<unknown>[]): Promise<unknown> {
  if (sqlState(failure) !== '25P02') return failure;
  const ends = await Promise.allSettled(sent);
  const first = ends.find(({ status }) => status === 'rejected');
  return first?.status === 'rejected' ? first.reason : failure;
}
