/**
 * The reads of `store/sql/` over one connection: each text is prepared when it is first asked for, and kept.
 *
 * Promises that a statement runs at once, on the caller's thread: what is promised is only its answer. SQLite gives
 * numbers and bytes as they are wanted. Never forgets a statement: there are as many as there are texts.
 */
import type { Database, Statement } from 'bun:sqlite';
import type { SqlReader, SqlValue } from '../sql/reader.ts';

export class KeptStatements implements SqlReader {
  readonly #db: Database;
  readonly #kept = new Map<string, Statement<unknown, SqlValue[]>>();

  constructor(db: Database) {
    this.#db = db;
  }

  async all<Row>(text: string, ...values: SqlValue[]): Promise<Row[]> {
    // What a row is, the text says: it names the fields.
    return this.#statement(text).all(...values) as Row[];
  }

  async one<Row>(text: string, ...values: SqlValue[]): Promise<Row | null> {
    return this.#statement(text).get(...values) as Row | null;
  }

  #statement(text: string): Statement<unknown, SqlValue[]> {
    const known = this.#kept.get(text);
    if (known !== undefined) return known;
    const statement = this.#db.prepare<unknown, SqlValue[]>(text);
    this.#kept.set(text, statement);
    return statement;
  }
}
