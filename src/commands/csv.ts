/**
 * CSV by RFC 4180: quoted cells may hold commas, quotes and line ends.
 *
 * Promises that what `formatCsv` writes `parseCsv` reads back the same. A quote that never closes takes the rest of the
 * text into its cell; the reader of the row refuses it then.
 */

export interface CsvRow {
  /** Where the row begins, from 1. */
  line: number;
  cells: string[];
}

/** Empty lines are left out. */
export function parseCsv(text: string): CsvRow[] {
  const rows: CsvRow[] = [];
  let row: CsvRow = { line: 1, cells: [] };
  let line = 1;
  const pattern = /(?:"((?:[^"]|"")*)(?:"|$)|([^",\r\n]*))(,|\r\n|\n|\r|$)/y;
  // A byte order mark is what spreadsheets put in front of UTF-8.
  const source = text.replace(/^\uFEFF/, '');
  while (pattern.lastIndex < source.length) {
    const match = pattern.exec(source);
    if (match === null) break;
    row.cells.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? '');
    line += match[0].split('\n').length - 1;
    if (match[3] === ',' && pattern.lastIndex < source.length) continue;
    if (match[3] === ',') row.cells.push('');
    if (row.cells.some((cell) => cell !== '')) rows.push(row);
    row = { line, cells: [] };
  }
  return rows;
}

export function formatCsv(rows: string[][]): string {
  return rows.map((row) => row.map(formatCell).join(',')).join('\r\n');
}

function formatCell(cell: string): string {
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
