/**
 * The port for carrying everything from one kind of store into another, while no server has either of them open.
 *
 * Both sides show a table as the same lines: one for each row, in the order of its key, fields between tabs, as COPY of
 * PostgreSQL writes them (`transfer-lines.ts`). What differs between the engines (row numbers, sums in slots, what waits
 * in a table of its own) is settled below this port; what one engine has for itself (indexes, leases) is not carried.
 *
 * Promises bounded memory: rows pass in pieces. A source is never written. A target that was not settled is refused by
 * the store that would open it, and may be begun again.
 */

/** What a field holds. */
export type ColumnKind = 'text' | 'number' | 'flag' | 'bytes';

/** Tables, and their columns as both engines can show them; null where the engine does not tell the kind. */
export type Catalog = Readonly<Record<string, Readonly<Record<string, ColumnKind | null>>>>;

export interface TransferColumn {
  name: string;
  kind: ColumnKind;
}

/** A table as it is carried. */
export interface TransferTable {
  name: string;
  /** In the order of the fields of a line. */
  columns: readonly TransferColumn[];
  /** The columns that rows are ordered by. */
  key: readonly string[];
}

/** Whole lines, one after the other. */
export interface Lines {
  bytes: Uint8Array;
  rows: number;
}

/** Either side. */
export interface TransferEnd {
  catalog(): Promise<Catalog>;
  /** Rows of the table. */
  count(table: TransferTable): Promise<number>;
  read(table: TransferTable): AsyncIterable<Lines>;
}

export interface TransferSource extends TransferEnd {
  /** Null: there is none. */
  setting(name: string): Promise<string | null>;
  /** Throws `OperatorError` where a server has opened it since. */
  checkQuiet(): Promise<void>;
  close(): Promise<void>;
}

export interface TransferTarget extends TransferEnd {
  /** Call it before any row is written. Throws `OperatorError` where there are rows already. */
  begin(tables: readonly TransferTable[]): Promise<void>;
  write(table: TransferTable, lines: AsyncIterable<Lines>): Promise<void>;
  /** All rows are written: what follows from them is made, such as indexes. They can be read from here on. */
  complete(): Promise<void>;
  /** What was read agrees: from here on it is a store. */
  settle(): Promise<void>;
  close(): Promise<void>;
}
