/**
 * Where a command's words go: results to standard output, everything else to standard error.
 *
 * Promises whole lines that have been written when a call returns, so that the process may end at once. A reader that
 * closes its pipe early ends the output, not the command.
 */
import { writeSync } from 'node:fs';

export interface Output {
  print(text: string): void;
  /** As it is, without a line end. */
  write(text: string): void;
  say(text: string): void;
  /** Like `say`, without a line end. */
  note(text: string): void;
}

export const terminal: Output = {
  print: (text) => put(1, `${text}\n`),
  write: (text) => put(1, text),
  say: (text) => put(2, `${text}\n`),
  note: (text) => put(2, text),
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
