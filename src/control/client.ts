/**
 * The command's side of the control socket.
 *
 * Promises to tell "no server runs" (null) from every other ending, and that a refusal arrives as the same
 * `OperatorError` that it would be without a server. Waits as long as the operation takes.
 */
import { createConnection } from 'node:net';

import { OperatorError } from '../base/errors.ts';
import { socketPath } from './protocol.ts';
import type { Arguments, Reply, Sink } from './protocol.ts';

/**
 * Asks the server of `dataDir`. Null when none runs. Throws `OperatorError` for a refusal and for a server that ends in
 * the middle.
 */
export async function askServer(
  dataDir: string,
  operation: string,
  args: Arguments,
  sink: Sink,
): Promise<{ value: unknown } | null> {
  return await new Promise((resolve, reject) => {
    let path: string;
    try {
      path = socketPath(dataDir);
    } catch {
      // No data directory: nothing can run in it.
      resolve(null);
      return;
    }
    const socket = createConnection(path);
    let pending = '';
    socket.setEncoding('utf8');
    socket.on('connect', () => {
      socket.write(`${JSON.stringify({ operation, args })}\n`);
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      const isAbsent = error.code === 'ENOENT' || error.code === 'ECONNREFUSED';
      if (isAbsent) resolve(null);
      else reject(unreachable(path, error.message));
    });
    socket.on('data', (text: string) => {
      const lines = (pending + text).split('\n');
      pending = lines.pop() ?? '';
      for (const line of lines) {
        const reply = JSON.parse(line) as Reply;
        if (reply.kind === 'progress') sink.progress(reply.text);
        else if (reply.kind === 'chunk') void sink.chunk(reply.text);
        else if (reply.kind === 'result') resolve({ value: reply.value });
        else reject(new OperatorError(reply.message, reply.hint, reply.exitCode));
      }
    });
    socket.on('close', () => reject(unreachable(path, 'the server ended before it answered')));
  });
}

function unreachable(path: string, reason: string): OperatorError {
  return new OperatorError(
    `cannot talk to the server over ${path}: ${reason}`,
    'Run the command as the user of the server (or root), and see the log of the server.',
  );
}
