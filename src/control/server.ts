/**
 * The control socket of a running server: takes operations from commands, one a connection.
 *
 * Promises that only the server's own user can reach it (mode 0600), and that garbage, an unknown operation or a caller
 * that leaves early harms nothing but its own connection. A stale socket file of a dead process is replaced; the data
 * directory's lock has shown by then that nobody else owns it.
 */
import { chmodSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import type { Server, Socket } from 'node:net';

import { ApiError, OperatorError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { socketPath, toReply } from './protocol.ts';
import type { Arguments, Reply, Request, Sink } from './protocol.ts';

/** Longest request line: an imported suppression file travels inside one. */
const MAX_REQUEST_BYTES = 64 * 1024 * 1024;

/** Carries out an operation. Throws `ApiError`, `OperatorError`, or a fault of ours. */
export type Operate = (operation: string, args: Arguments, sink: Sink) => Promise<unknown>;

export class ControlServer {
  readonly #path: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor(dataDir: string, operate: Operate, log: Log) {
    this.#path = socketPath(dataDir);
    this.#server = createServer((socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
      socket.on('error', () => socket.destroy());
      serve(socket, operate, log);
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

function serve(socket: Socket, operate: Operate, log: Log): void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let isAsked = false;
  socket.on('data', (chunk: Buffer) => {
    if (isAsked) return;
    bytes += chunk.length;
    if (bytes > MAX_REQUEST_BYTES) {
      socket.destroy();
      return;
    }
    chunks.push(chunk);
    if (!chunk.includes(0x0a)) return;
    isAsked = true;
    void answer(socket, Buffer.concat(chunks).toString('utf8'), operate, log);
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
      chunk: (text) => send({ kind: 'chunk', text }),
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

function parseRequest(line: string): Request {
  let request: unknown;
  try {
    request = JSON.parse(line);
  } catch {
    request = null;
  }
  if (typeof request !== 'object' || request === null) throw notUnderstood();
  const { operation, args } = request as Partial<Request>;
  if (typeof operation !== 'string' || typeof args !== 'object' || args === null) {
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
