/**
 * The log of commands that ran without a server: kept in `commands.log` in the data directory until the next server
 * writes it to its own log.
 *
 * Promises that a line is on disk (fsync) before the command ends, and that it reaches the server's log at least once: a
 * crash between writing and deleting repeats it. The caller holds the directory's lock. Throws what the file system
 * throws.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

const fileIn = (dataDir: string): string => join(dataDir, 'commands.log');

/** Adds finished log lines, each without its line end. */
export function keepLines(dataDir: string, lines: readonly string[]): void {
  if (lines.length === 0) return;
  const file = openSync(fileIn(dataDir), 'a', 0o600);
  try {
    writeFileSync(file, `${lines.join('\n')}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Hands every kept line to `write`, then deletes the file. `write` must have written when it returns. */
export function passOnLines(dataDir: string, write: (text: string) => void): void {
  const path = fileIn(dataDir);
  if (!existsSync(path)) return;
  write(readFileSync(path, 'utf8'));
  rmSync(path);
}
