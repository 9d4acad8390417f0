/**
 * Where a command's words go: results to standard output, everything else to standard error.
 *
 * Promises whole lines that have been written when a call returns, so that the process may end at once, and tables with
 * columns as wide as their widest cell. A reader that closes its pipe early ends the output, not the command.
 */
import { writeSync } from 'node:fs';

export interface Output {
  print(text: string): void;
  /** As it is, without a line end. */
  write(text: string): void;
  say(text: string): void;
}

export const terminal: Output = {
  print: (text) => put(1, `${text}\n`),
  write: (text) => put(1, text),
  say: (text) => put(2, `${text}\n`),
};

/** How long to wait for a reader that is slower than we are. */
const FULL_PIPE_MS = 5;

function put(descriptor: number, text: string): void {
  const bytes = Buffer.from(text, 'utf8');
  for (let at = 0; at < bytes.length;) {
    try {
      at += writeSync(descriptor, bytes, at);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EPIPE') return;
      // A pipe that somebody made non-blocking is full.
      if (code !== 'EAGAIN') throw error;
      Bun.sleepSync(FULL_PIPE_MS);
    }
  }
}

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
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n');
}

/** `2026-11-21 03:05:15`, UTC; a dash for null. */
export function when(atMs: number | null): string {
  return atMs === null ? '-' : new Date(atMs).toISOString().slice(0, 19).replace('T', ' ');
}
