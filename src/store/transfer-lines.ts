/**
 * Rows as lines of text, in the format of PostgreSQL's COPY: fields between tabs, `\N` for null, `\n` and its like escaped.
 *
 * Promises the very bytes that PostgreSQL writes, so that a table has one hash on every engine. U+0000, which
 * PostgreSQL's text cannot hold, becomes U+FFFD (docs/decisions.md D377).
 * https://www.postgresql.org/docs/15/sql-copy.html, "Text Format".
 */
import { asBuffer } from '../base/as-buffer.ts';
import type { ColumnKind, Lines } from './transfer.ts';

const NULL = '\\N';
/** Bytes of a piece, unless one row has more. */
const PIECE_BYTES = 256 * 1024;
const LINE_FEED = 10;

// oxlint-disable-next-line no-control-regex
const SPECIAL = /[\\\b\f\n\r\t\v\0]/g;
const ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\0': '\uFFFD',
};
const ESCAPED = /\\(.)/g;
const ORIGINALS: Readonly<Record<string, string>> = {
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

/** What a row holds, as SQLite has it: flags are numbers. */
export type Field = string | number | Uint8Array | null;

/** The field of a line. */
export function fieldText(value: Field, kind: ColumnKind): string {
  if (value === null) return NULL;
  if (kind === 'flag') return value === 0 ? 'f' : 't';
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string') return escaped(value);
  return `\\\\x${asBuffer(value).toString('hex')}`;
}

/** The value of a field; flags as numbers. */
export function fieldValue(text: string, kind: ColumnKind): Field {
  if (text === NULL) return null;
  if (kind === 'text') return original(text);
  if (kind === 'number') return Number(text);
  if (kind === 'flag') return text === 't' ? 1 : 0;
  return Buffer.from(text.slice('\\\\x'.length), 'hex');
}

function escaped(text: string): string {
  return text.replace(SPECIAL, (character) => ESCAPES[character] ?? character);
}

function original(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replace(ESCAPED, (_, letter: string) => ORIGINALS[letter] ?? letter);
}

/** The lines of rows, in pieces. */
export function* piecesOf(lines: Iterable<string>): Generator<Lines> {
  let text = '';
  let rows = 0;
  for (const line of lines) {
    text += `${line}\n`;
    rows += 1;
    if (text.length < PIECE_BYTES) continue;
    yield { bytes: Buffer.from(text), rows };
    text = '';
    rows = 0;
  }
  if (rows > 0) yield { bytes: Buffer.from(text), rows };
}

/** The same for bytes that come in chunks: whole lines. Throws when the last line has no end. */
export async function* wholeLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Lines> {
  let waiting: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    waiting.push(chunk);
    bytes += chunk.length;
    const end = chunk.lastIndexOf(LINE_FEED) + 1;
    if (bytes < PIECE_BYTES || end === 0) continue;
    const whole = Buffer.concat([...waiting.slice(0, -1), chunk.subarray(0, end)]);
    yield { bytes: whole, rows: linesIn(whole) };
    waiting = [chunk.slice(end)];
    bytes = chunk.length - end;
  }
  const rest = Buffer.concat(waiting);
  if (rest.length === 0) return;
  if (rest.at(-1) !== LINE_FEED) throw new Error('the last row is cut off');
  yield { bytes: rest, rows: linesIn(rest) };
}

function linesIn(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(LINE_FEED); at !== -1; at = bytes.indexOf(LINE_FEED, at + 1)) {
    count += 1;
  }
  return count;
}

/** The fields of each row, as they stand in its line. */
export function* rowsIn({ bytes }: Lines): Generator<string[]> {
  const buffer = asBuffer(bytes);
  let from = 0;
  for (let at = buffer.indexOf(LINE_FEED); at !== -1; at = buffer.indexOf(LINE_FEED, from)) {
    yield buffer.toString('utf8', from, at).split('\t');
    from = at + 1;
  }
}
