/**
 * Where a command writes: results to standard output, everything else to standard error.
 *
 * Promises that a text has been written when the call returns, so that the process may end at once. A reader that closes
 * its pipe early ends the output, not the command. Throws what writing throws otherwise, such as a full disk.
 */
import { writeSync } from 'node:fs';

export interface Output {
  /** A line of the result. */
  print(text: string): void;
  /** A part of the result, without a line end. False when the reader has closed its pipe. */
  write(text: string): boolean;
  /** A line for people. */
  say(text: string): void;
  /** Like `say`, without a line end. */
  note(text: string): void;
}

export const terminal: Output = {
  print: (text) => void put(1, `${text}\n`),
  write: (text) => put(1, text),
  say: (text) => void put(2, `${text}\n`),
  note: (text) => void put(2, text),
};

/** How long to wait for a reader that is slower than this process. */
const FULL_PIPE_MS = 5;

/** False when nobody reads any more. */
function put(descriptor: number, text: string): boolean {
  const bytes = Buffer.from(text, 'utf8');
  for (let at = 0; at < bytes.length;) {
    try {
      at += writeSync(descriptor, bytes, at);
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : null;
      if (code === 'EPIPE') return false;
      // EAGAIN: the pipe is non-blocking, and full.
      if (code !== 'EAGAIN') throw error;
      Bun.sleepSync(FULL_PIPE_MS);
    }
  }
  return true;
}
