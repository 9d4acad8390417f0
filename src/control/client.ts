/**
 * The command's side of the control socket.
 *
 * Promises to tell "no server is running" (null) from every other ending, and that a refusal arrives as the same
 * `OperatorError` that it would be without a server. Waits as long as the operation takes.
 */
import { createConnection } from 'node:net';

import { Value } from '@sinclair/typebox/value';

import { OperatorError } from '../base/errors.ts';
import { ResponseLine, socketPath } from './protocol.ts';
import type { Request, Sink } from './protocol.ts';

/**
 * Sends one request to the server of `dataDir`. Null when none is running. The caller checks the value. Throws
 * `OperatorError` for a refusal and for a server that ends before its result, and what `sink` throws.
 */
export async function askServer(
  dataDir: string,
  request: Request,
  sink: Pick<Sink, 'progress' | 'chunk'>,
): Promise<{ value: unknown } | null> {
  return await new Promise((resolve, reject) => {
    let path: string;
    try {
      path = socketPath(dataDir);
    } catch {
      // No data directory: no server can be running in it.
      resolve(null);
      return;
    }
    const socket = createConnection(path);
    /** Of the line that is not at its end; joined there, for a line may have megabytes. */
    let pending: string[] = [];
    /** Every piece so far: the result counts only once all of them were taken, and none is after one that was not. */
    let taken = Promise.resolve();
    socket.setEncoding('utf8');
    socket.on('connect', () => {
      socket.write(`${JSON.stringify(request)}\n`);
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      const isAbsent = error.code === 'ENOENT' || error.code === 'ECONNREFUSED';
      if (isAbsent) resolve(null);
      else reject(unreachable(path, error.message));
    });
    socket.on('data', (text: string) => {
      const [end = '', ...more] = text.split('\n');
      pending.push(end);
      const rest = more.pop();
      if (rest === undefined) return;
      const lines = [pending.join(''), ...more];
      pending = [rest];
      for (const line of lines) {
        const response = parseLine(line);
        if (response === null) reject(unreachable(path, 'its response cannot be read'));
        else if (response.kind === 'progress') sink.progress(response.text);
        else if (response.kind === 'chunk') {
          taken = taken.then(() => sink.chunk(response.text));
          taken.catch((error: unknown) => {
            reject(error);
            socket.destroy();
          });
        } else if (response.kind === 'result') {
          void taken.then(() => resolve({ value: response.value }), ignore);
        } else reject(new OperatorError(response.message, response.hint, response.exitCode));
      }
    });
    socket.on('close', () => {
      void taken.then(
        () => reject(unreachable(path, 'the server ended before its result')),
        ignore,
      );
    });
  });
}

/** Whoever waits has been told of it. */
const ignore = (): void => undefined;

function parseLine(line: string): ResponseLine | null {
  try {
    const value: unknown = JSON.parse(line);
    return Value.Check(ResponseLine, value) ? value : null;
  } catch {
    return null;
  }
}

function unreachable(path: string, reason: string): OperatorError {
  return new OperatorError(
    `Cannot talk to the server over ${path}: ${reason}.`,
    "Run the command as the server's user or as root, and look at the log of the server.",
  );
}
