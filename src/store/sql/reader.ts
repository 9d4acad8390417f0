/**
 * What an engine of SQL gives the reads of this folder: the rows of one statement.
 *
 * The reads are written once, in what SQLite and PostgreSQL understand alike: `?` for each value in their order, names
 * of fields in quotes, `CAST` around sums, booleans as values, nothing that names an index. Promises rows with numbers for
 * integers and `Uint8Array` for bytes, whatever the engine's client gives; booleans and lists are turned by `columns.ts`.
 * A statement sees what was committed before it was asked for. Fails as the store fails.
 */

/** What a statement takes. */
export type SqlValue = string | number | boolean | null | Uint8Array;

export interface SqlReader {
  /** All rows. `text` must be one of few: it is kept prepared. */
  all<Row>(text: string, ...values: SqlValue[]): Promise<Row[]>;
  /** The first row; null when there is none. */
  one<Row>(text: string, ...values: SqlValue[]): Promise<Row | null>;
}
