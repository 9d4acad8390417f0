/**
 * How results look in a terminal of 80 columns, which is also how they look in a pipe.
 *
 * Promises that nothing is left out, and that what another command takes (an id, a name, an address: the first cell of
 * each line of a table) is never broken, so that it can be copied whole; the terminal wraps one that is longer than a
 * line. Control characters from elsewhere never reach the terminal.
 */

/** Terminals have at least this width. */
export const COLUMNS = 80;
const GAP = '  ';
const INDENT = '  ';
/** The first column is narrowed to this for the others; a longer first cell gets a line of its own. */
const FIRST_COLUMN = 20;

// C0, DEL, C1, the line separators, and what reverses the direction of writing.
// oxlint-disable-next-line no-control-regex
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]+/g;
/** An address, a host name or a URL may be broken after these. */
const JOINTS = /[@./:_-]/;

const graphemes = new Intl.Segmenter();

/**
 * Rows under headings. A row is one or more lines, each a list of cells in columns of its own: what does not fit beside
 * the rest goes below it, indented. A line whose cells are all empty is not shown. `empty` when there are no rows.
 */
export function table(headings: string[][], rows: string[][][], empty: string): string {
  if (rows.length === 0) return empty;
  const clean = rows.map((row) => row.map((cells) => cells.map(printable)));
  const shown: string[][] = [headings, ...clean].map(() => []);
  for (const [level, heading] of headings.entries()) {
    const below = clean.map((row) => row[level] ?? []);
    if (below.every(isEmpty)) continue;
    const indent = level === 0 ? '' : INDENT;
    const width = COLUMNS - indent.length;
    const widths = widthsOf([heading, ...below], width);
    for (const [index, cells] of [heading, ...below].entries()) {
      if (isEmpty(cells)) continue;
      const lines = showLine(cells, widths, width);
      shown[index]?.push(...lines.map((line) => indent + line));
    }
  }
  return shown.flat().join('\n');
}

const isEmpty = (cells: string[]): boolean => cells.every((cell) => cell === '');

/** Of the columns of one line: as wide as their widest cell, the widest narrowed until all fit. */
function widthsOf(lines: string[][], width: number): number[] {
  const columns = Math.max(...lines.map((cells) => cells.length));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...lines.map((cells) => Bun.stringWidth(cells[column] ?? ''))),
  );
  const [first = 0, ...others] = widths;
  const used = (): number => others.reduce((sum, other) => sum + GAP.length + other, 0);
  while (used() > width - Math.min(first, FIRST_COLUMN)) {
    others[others.indexOf(Math.max(...others))]! -= 1;
  }
  return [Math.min(first, width - used()), ...others];
}

function showLine(cells: string[], widths: number[], width: number): string[] {
  const [first = '', ...others] = cells;
  const isAlone = Bun.stringWidth(first) > (widths[0] ?? 0);
  const above = isAlone ? wrap(first, width) : [];
  const blocks = [
    isAlone ? [''] : [first],
    ...others.map((cell, index) => wrapNarrow(cell, widths[index + 1] ?? 0)),
  ];
  const height = isAlone && isEmpty(others) ? 0 : Math.max(...blocks.map(({ length }) => length));
  const beside = Array.from({ length: height }, (_, at) =>
    blocks
      .map((block, column) => pad(block[at] ?? '', widths[column] ?? 0))
      .join(GAP)
      .trimEnd(),
  );
  return [...above, ...beside];
}

function pad(cell: string, width: number): string {
  return cell + ' '.repeat(Math.max(0, width - Bun.stringWidth(cell)));
}

/** Broken at blanks only: a word longer than `width` stays whole. */
function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line: string | null = null;
  for (const word of text.split(' ')) {
    const longer: string = line === null ? word : `${line} ${word}`;
    if (line !== null && Bun.stringWidth(longer) > width) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  return line === null ? lines : [...lines, line];
}

/** Broken at blanks, and inside of words that are longer than `width`. */
function wrapNarrow(text: string, width: number): string[] {
  return wrap(text, width).flatMap((line) => {
    const pieces: string[] = [];
    let rest = line;
    while (Bun.stringWidth(rest) > width) {
      const piece = beginning(rest, width);
      pieces.push(piece);
      rest = rest.slice(piece.length);
    }
    return [...pieces, rest];
  });
}

/** As much of `word` as fits, up to a joint where there is one in the second half; at least one character. */
function beginning(word: string, width: number): string {
  let end = 0;
  let joint = 0;
  let used = 0;
  for (const { segment } of graphemes.segment(word)) {
    used += Bun.stringWidth(segment);
    if (used > width && end > 0) break;
    end += segment.length;
    if (JOINTS.test(segment) && used * 2 > width) joint = end;
  }
  return word.slice(0, joint === 0 ? end : joint);
}

/** Name and value a line, values aligned and broken at blanks only. */
export function fields(rows: [name: string, value: string][]): string {
  const width = Math.max(...rows.map(([name]) => Bun.stringWidth(name))) + GAP.length;
  return rows
    .map(([name, value]) => pad(name, width) + paragraph(printable(value), width))
    .join('\n');
}

/** `text` broken at blanks; lines after the first begin with `indent` blanks, the first is taken to follow as many. */
export function paragraph(text: string, indent = 0): string {
  return wrap(text, COLUMNS - indent).join(`\n${' '.repeat(indent)}`);
}

/** `text` in one line without control characters. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, ' ').trim();
}

/** `2026-11-21 03:05:15`, UTC; a dash for null. */
export function when(atMs: number | null): string {
  return atMs === null ? '-' : new Date(atMs).toISOString().slice(0, 19).replace('T', ' ');
}
