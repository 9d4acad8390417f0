/**
 * The control socket of a running server: takes operations from commands, one a connection.
 *
 * Promises that only the server's own user can reach it (mode 0600), and that garbage, an unknown operation, a caller
 * that leaves early or one that never reads harms nothing but its own connection; memory is bounded whatever they send.
 * A stale socket file of a dead process is replaced; the data directory's lock has shown by then that nobody else owns
 * it.
 */
import { chmodSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import type { Server, Socket } from 'node:net';

import { ApiError, OperatorError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { socketPath, toReply } from './protocol.ts';
import type { Arguments, Reply, Request, Sink } from './protocol.ts';

export interface ControlLimits {
  /** Longest request line: an imported suppression file travels inside one. */
  requestBytes: number;
  /** Of unfinished requests of all callers together. */
  heldBytes: number;
  callers: number;
  /** Longest silence before a request is whole, in milliseconds. */
  askingMs: number;
}

const PRODUCTION: ControlLimits = {
  requestBytes: 64 * 1024 * 1024,
  heldBytes: 128 * 1024 * 1024,
  callers: 64,
  askingMs: 30_000,
};
const FIRST_BYTES = 4_096;
const MAX_NAME_CHARACTERS = 100;

/** Carries out an operation. Throws `ApiError`, `OperatorError`, or a fault of ours. */
export type Operate = (operation: string, args: Arguments, sink: Sink) => Promise<unknown>;

export class ControlServer {
  readonly #path: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #held = { bytes: 0 };

  constructor(dataDir: string, operate: Operate, log: Log, limits = PRODUCTION) {
    this.#path = socketPath(dataDir);
    this.#server = createServer((socket) => {
      if (this.#sockets.size >= limits.callers) {
        socket.destroy();
        return;
      }
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
      socket.on('error', () => socket.destroy());
      readLine(socket, this.#held, limits, (line) => void answer(socket, line, operate, log));
    });
  }

  /** Listens. Throws what binding throws. */
  async start(): Promise<void> {
    rmSync(this.#path, { force: true });
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(this.#path, resolve);
    });
    chmodSync(this.#path, 0o600);
  }

  /** Takes no more; operations under way are cut off. */
  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
    rmSync(this.#path, { force: true });
  }
}

/** Calls `take` with the first line; ends the connection of whoever sends too much, or nothing for too long. */
function readLine(
  socket: Socket,
  held: { bytes: number },
  limits: ControlLimits,
  take: (line: string) => void,
): void {
  // One block that doubles: single bytes held one by one would take a hundred times their size.
  let block = Buffer.alloc(0);
  let length = 0;
  let isWhole = false;
  const hold = (bytes: number): boolean => {
    const more = bytes - block.length;
    if (bytes > limits.requestBytes || held.bytes + more > limits.heldBytes) return false;
    const larger = Buffer.alloc(bytes);
    block.copy(larger, 0, 0, length);
    held.bytes += more;
    block = larger;
    return true;
  };
  const letGo = (): void => {
    held.bytes -= block.length;
    block = Buffer.alloc(0);
  };
  socket.on('close', letGo);
  socket.setTimeout(limits.askingMs, () => {
    if (!isWhole) socket.destroy();
  });
  socket.on('data', (chunk: Buffer) => {
    // What follows the line is nobody's.
    if (isWhole) return;
    const needed = length + chunk.length;
    const doubled = Math.max(needed, Math.min(block.length * 2, limits.requestBytes), FIRST_BYTES);
    if (needed > block.length && !hold(doubled) && !hold(needed)) {
      socket.destroy();
      return;
    }
    chunk.copy(block, length);
    length = needed;
    const end = chunk.indexOf(0x0a);
    if (end < 0) return;
    isWhole = true;
    const line = block.toString('utf8', 0, length - chunk.length + end);
    letGo();
    take(line);
  });
}

async function answer(socket: Socket, line: string, operate: Operate, log: Log): Promise<void> {
  const send = (reply: Reply): void => {
    if (socket.writable) socket.write(`${JSON.stringify(reply)}\n`);
  };
  try {
    const request = parseRequest(line);
    const value = await operate(request.operation, request.args, {
      progress: (text) => send({ kind: 'progress', text }),
      async chunk(text) {
        send({ kind: 'chunk', text });
        await drained(socket);
      },
    });
    log.info('control', { operation: request.operation });
    send({ kind: 'result', value: value ?? null });
  } catch (error) {
    if (error instanceof ApiError || error instanceof OperatorError) {
      log.info('control refused', { reason: error.message });
    } else {
      const hint = 'A fault of the appliance; please report it with this line.';
      log.error('control failed', { error, hint });
    }
    send(toReply(error));
  }
  socket.end();
}

/** Resolves when the caller has read what was written. Throws when it has left. */
async function drained(socket: Socket): Promise<void> {
  if (socket.writableNeedDrain) {
    await new Promise<void>((resolve) => {
      const go = (): void => {
        socket.off('drain', go);
        socket.off('close', go);
        resolve();
      };
      socket.on('drain', go);
      socket.on('close', go);
    });
  }
  if (!socket.writable) throw new OperatorError('the command has ended before its answer', '');
}

function parseRequest(line: string): Request {
  let request: unknown;
  try {
    request = JSON.parse(line);
  } catch {
    request = null;
  }
  if (typeof request !== 'object' || request === null) throw notUnderstood();
  const { operation, args } = request as Partial<Request>;
  const isName = typeof operation === 'string' && operation.length <= MAX_NAME_CHARACTERS;
  if (!isName || typeof args !== 'object' || args === null) {
    throw notUnderstood();
  }
  return { operation, args };
}

function notUnderstood(): OperatorError {
  return new OperatorError(
    'the request on the control socket was not understood',
    'Use the postrider command of the version that runs as server.',
  );
}
