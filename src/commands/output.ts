/**
 * Where a command's words go: results to standard output, everything else to standard error.
 *
 * Promises whole lines, and tables that a terminal of any width can show: columns as wide as their widest cell.
 */

export interface Output {
  print(text: string): void;
  /** As it is, without a line end. */
  write(text: string): void;
  say(text: string): void;
}

export const terminal: Output = {
  print: (text) => void process.stdout.write(`${text}\n`),
  write: (text) => void process.stdout.write(text),
  say: (text) => void process.stderr.write(`${text}\n`),
};

/** Rows under headings, columns apart by two blanks; `empty` when there are none. */
export function table(headings: string[], rows: string[][], empty: string): string {
  if (rows.length === 0) return empty;
  const all = [headings, ...rows];
  const widths = headings.map((_, column) =>
    Math.max(...all.map((row) => Bun.stringWidth(row[column] ?? ''))),
  );
  const lines = all.map((row) =>
    widths
      .map((width, column) => {
        const cell = row[column] ?? '';
        return cell + ' '.repeat(width - Bun.stringWidth(cell));
      })
      .join('  ')
      .trimEnd(),
  );
  return lines.join('\n');
}

/** Name and value a line, values aligned. */
export function fields(rows: [name: string, value: string][]): string {
  return table(
    ['', ''],
    rows.map(([name, value]) => [name, value]),
    '',
  )
    .split('\n')
    .slice(1)
    .join('\n');
}

/** `2026-11-21 03:05:15`, UTC; a dash for null. */
export function when(atMs: number | null): string {
  return atMs === null ? '-' : new Date(atMs).toISOString().slice(0, 19).replace('T', ' ');
}
