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

/** The rows of a CSV file given in chunks of UTF-8. Empty lines are left out. */
export async function* readCsv(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<CsvRow> {
  const decoder = new TextDecoder('utf-8');
  const reader = new RowReader();
  for await (const chunk of chunks) {
    yield* reader.push(decoder.decode(chunk, { stream: true }));
  }
  yield* reader.push(decoder.decode());
  yield* reader.end();
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
  #line = 1;
  #beganAt = 1;
  /** A CR was the last character: a LF now belongs to it. */
  #isAfterCr = false;

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
