/**
 * Rows as a binary `COPY … FROM STDIN` takes them, in pieces: for values of megabytes, which as parameters of a statement
 * would be laid down in memory as a whole.
 *
 * Promises the same rows as `insertOne`, byte by byte, and pieces of at most three eighths of a MiB, of which only one is
 * in memory. A text for a column of bytes is encoded piece by piece. Source: PostgreSQL's documentation of COPY, "Binary
 * Format". Never fails.
 */
import { textPieces } from '../../base/text-pieces.ts';
import { columnOf } from './statement.ts';
import type { ColumnType, RowOf, Table } from './statement.ts';
import { parameter } from './values.ts';
import type { Value } from './values.ts';

/** Bytes of a piece of bytes. */
const PIECE_BYTES = 256 * 1024;
/** Bytes up to which a value goes with what is around it. */
const SHORT_BYTES = 16 * 1024;
/** The signature, no flags, no extension. */
const HEADER = Buffer.from('PGCOPY\n\u00FF\r\n\0\0\0\0\0\0\0\0\0', 'latin1');
/** In place of a number of columns. */
const TRAILER = int16(-1);
/** In place of a length. */
const NULL = int32(-1);

/** The command. */
export function copyInto<F extends string>({ name, columns }: Table<F>): string {
  const names = Object.keys(columns).map(columnOf);
  return `COPY ${name} (${names.join(', ')}) FROM STDIN (FORMAT binary)`;
}

/** What follows it. */
export function* copyPieces<F extends string>(
  { columns }: Table<F>,
  rows: readonly RowOf<Table<F>>[],
): Generator<Uint8Array, void> {
  const fields = Object.entries<ColumnType>(columns);
  let short: Uint8Array[] = [HEADER];
  for (const row of rows as readonly Readonly<Record<string, Value>>[]) {
    short.push(int16(fields.length));
    for (const [field, type] of fields) {
      const value = bytesOrText(parameterOf(row[field] ?? null, type), type);
      const length = value === null ? 0 : Buffer.byteLength(value);
      short.push(value === null ? NULL : int32(length));
      if (value === null) continue;
      if (length <= SHORT_BYTES) {
        short.push(...piecesOf(value));
        continue;
      }
      yield Buffer.concat(short);
      short = [];
      yield* piecesOf(value);
    }
  }
  yield Buffer.concat([...short, TRAILER]);
}

/** Content keeps its U+0000. */
const parameterOf = (value: Value, type: ColumnType): Value =>
  type === 'bytea' ? value : parameter(value);

/** What stands for the value: its bytes, or a text whose UTF-8 they are. */
function bytesOrText(value: Value, type: ColumnType): Uint8Array | string | null {
  if (typeof value === 'string') {
    return type === 'uuid' ? Buffer.from(value.replaceAll('-', ''), 'hex') : value;
  }
  if (typeof value === 'boolean') return Buffer.of(value ? 1 : 0);
  if (typeof value !== 'number') return value;
  if (type === 'int4') return int32(value);
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt(value));
  return bytes;
}

function* piecesOf(value: Uint8Array | string): Generator<Uint8Array, void> {
  if (typeof value === 'string') {
    for (const piece of textPieces(value)) yield Buffer.from(piece);
    return;
  }
  for (let at = 0; at < value.length; at += PIECE_BYTES) yield value.subarray(at, at + PIECE_BYTES);
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}
