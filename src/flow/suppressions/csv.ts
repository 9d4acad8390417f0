/**
 * CSV as RFC 4180 has it: read in a stream, written a row at a time.
 *
 * Promises bounded memory whatever the file's size: a row beyond `MAX_ROW_LENGTH` is an error, not a
 * buffer. Takes CRLF, LF and CR as line ends and a byte order mark at the start. Throws `CsvError` with
 * the line where quotation marks do not match.
 */

/** Characters of one row; no suppression needs more. */
const MAX_ROW_LENGTH = 64 * 1024;

export interface CsvRow {
  /** Line of the file on which the row begins, 1 for the first. */
  line: number;
  fields: string[];
}

export class CsvError extends Error {
  override readonly name = 'CsvError';
  readonly line: number;

  constructor(line: number, message: string) {
    super(`line ${line}: ${message}`);
    this.line = line;
  }
}

/** The rows of a CSV file given in chunks of UTF-8. Empty lines are left out. `firstLine`: the number of the first line. */
export async function* readCsv(
  chunks: AsyncIterable<Uint8Array>,
  firstLine = 1,
): AsyncGenerator<CsvRow> {
  const decoder = new TextDecoder('utf-8');
  const reader = new RowReader(firstLine);
  for await (const chunk of chunks) {
    yield* reader.push(decoder.decode(chunk, { stream: true }));
  }
  yield* reader.push(decoder.decode());
  yield* reader.end();
}

/** A part of a CSV text that ends with a row, and the number of its first line. */
export interface CsvPiece {
  text: string;
  line: number;
}

/** `text` in pieces of about `length` characters, cut between rows. Costs time by the length of the text alone. */
export function* csvPieces(text: string, length: number): Generator<CsvPiece> {
  if (text === '') yield { text, line: 1 };
  let line = 1;
  for (let start = 0; start < text.length;) {
    const end = rowEndAfter(text, start, start + length);
    const piece = text.slice(start, end);
    yield { text: piece, line };
    line += piece.match(/\r\n|\r|\n/g)?.length ?? 0;
    start = end;
  }
}

/** Where the row ends that reaches beyond `from`; rows are counted from `start`. A line end between quotes ends none. */
function rowEndAfter(text: string, start: number, from: number): number {
  let isQuoted = false;
  for (let at = text.indexOf('"', start); at >= 0 && at < from; at = text.indexOf('"', at + 1)) {
    isQuoted = !isQuoted;
  }
  for (let at = from - 1; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"' && at >= from) isQuoted = !isQuoted;
    if (isQuoted || (character !== '\n' && character !== '\r')) continue;
    return character === '\r' && text[at + 1] === '\n' ? at + 2 : at + 1;
  }
  return text.length;
}

/** What a spreadsheet takes for a formula, behind any number of apostrophes; tab and CR are skipped by it first. */
const FORMULA = /^'*[=+\-@\t\r]/;
const PROTECTED = /^'+[=+\-@\t\r]/;

/** The field that `csvRow` wrote as `cell`: without the apostrophe that keeps it from being a formula. */
export function fieldOf(cell: string): string {
  return PROTECTED.test(cell) ? cell.slice(1) : cell;
}

/**
 * One row as text with its CRLF (RFC 4180 section 2). Null is an empty field. A field that a spreadsheet would run as a
 * formula gets an apostrophe in front, which `fieldOf` takes away.
 */
export function csvRow(fields: readonly (string | null)[]): string {
  const cells = fields.map((field) => {
    const plain = field ?? '';
    const text = FORMULA.test(plain) ? `'${plain}` : plain;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  });
  return `${cells.join(',')}\r\n`;
}

type State = 'start' | 'bare' | 'quoted' | 'closed';

class RowReader {
  #state: State = 'start';
  #field = '';
  #fields: string[] = [];
  #length = 0;
  #line: number;
  #beganAt: number;
  /** A CR was the last character: a LF now belongs to it. */
  #isAfterCr = false;

  constructor(firstLine: number) {
    this.#line = firstLine;
    this.#beganAt = firstLine;
  }

  *push(text: string): Generator<CsvRow> {
    for (const character of text) {
      const isSecondHalf = character === '\n' && this.#isAfterCr;
      this.#isAfterCr = character === '\r';
      if (isSecondHalf) {
        if (this.#state === 'quoted') this.#field += character;
        continue;
      }
      const row = this.#take(character);
      if (row !== null) yield row;
    }
  }

  *end(): Generator<CsvRow> {
    if (this.#state === 'quoted') {
      throw new CsvError(this.#beganAt, 'a quotation mark is not closed');
    }
    const row = this.#endRow();
    if (row !== null) yield row;
  }

  #take(character: string): CsvRow | null {
    this.#length += 1;
    if (this.#length > MAX_ROW_LENGTH) {
      throw new CsvError(this.#beganAt, `the row has more than ${MAX_ROW_LENGTH} characters`);
    }
    const isLineEnd = character === '\r' || character === '\n';
    if (isLineEnd) this.#line += 1;
    if (this.#state === 'quoted') {
      if (character === '"') this.#state = 'closed';
      else this.#field += character;
      return null;
    }
    if (isLineEnd) return this.#endRow();
    if (character === ',') {
      this.#endField();
    } else if (character === '"') {
      this.#quote();
    } else if (this.#state === 'closed') {
      throw new CsvError(this.#beganAt, 'there is text behind a closing quotation mark');
    } else {
      this.#state = 'bare';
      this.#field += character;
    }
    return null;
  }

  #quote(): void {
    if (this.#state === 'bare') {
      throw new CsvError(this.#beganAt, 'there is a quotation mark inside a field without them');
    }
    // Two together inside a quoted field mean one.
    if (this.#state === 'closed') this.#field += '"';
    this.#state = 'quoted';
  }

  #endField(): void {
    this.#fields.push(this.#field);
    this.#field = '';
    this.#state = 'start';
  }

  #endRow(): CsvRow | null {
    const isEmpty = this.#fields.length === 0 && this.#state === 'start';
    if (!isEmpty) this.#endField();
    const row = { line: this.#beganAt, fields: this.#fields };
    this.#fields = [];
    this.#length = 0;
    this.#beganAt = this.#line;
    return isEmpty ? null : row;
  }
}
