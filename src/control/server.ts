/**
 * The control socket of a running server: takes one operation per connection.
 *
 * Promises that only the server's own user can connect (mode 0600), and that garbage, an unknown operation, a client
 * that leaves early or one that never reads harms nothing but its own connection; memory is bounded whatever they send.
 * Replaces the socket file of a dead process: this process holds the data directory's lock, so no other one uses it.
 */
import { chmodSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import type { Server, Socket } from 'node:net';

import { OperatorError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Scope } from './operation.ts';
import { refusalOf, socketPath, toErrorLine } from './protocol.ts';
import type { ResponseLine, Sink } from './protocol.ts';
import { parseRequest } from './request-line.ts';

export interface ControlLimits {
  /** Longest request line: an email with its attachments travels inside one, as text within text. */
  requestBytes: number;
  /** Of the unfinished requests of all connections together. */
  pendingBytes: number;
  connections: number;
  /** Longest silence before a request is whole. */
  silenceMs: number;
}

/** Those of a running server. */
export const PRODUCTION: ControlLimits = {
  requestBytes: 32 * 1024 * 1024,
  pendingBytes: 64 * 1024 * 1024,
  connections: 64,
  silenceMs: 30_000,
};
const FIRST_BYTES = 4_096;
/** Of a result, written as one text. */
const ROWS_AT_ONCE = 500;

/** Carries out an operation. Throws `ApiError`, `OperatorError`, or a fault of ours. */
export type Operate = (
  operation: string,
  args: unknown,
  { sink, by }: Pick<Scope, 'sink' | 'by'>,
) => Promise<unknown>;

export class ControlServer {
  readonly #path: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #pending = { bytes: 0 };

  constructor(dataDir: string, operate: Operate, log: Log, limits = PRODUCTION) {
    this.#path = socketPath(dataDir);
    this.#server = createServer((socket) => {
      if (this.#sockets.size >= limits.connections) {
        socket.destroy();
        return;
      }
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
      socket.on('error', () => socket.destroy());
      readLine(socket, this.#pending, limits, (line) => void respond(socket, line, operate, log));
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

  /** Stops listening and cuts off the operations under way. */
  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
    rmSync(this.#path, { force: true });
  }
}

/** Calls `take` with the first line; ends the connection of a client that sends too much, or nothing for too long. */
function readLine(
  socket: Socket,
  pending: { bytes: number },
  limits: ControlLimits,
  take: (line: string) => void,
): void {
  // One block that doubles: single bytes kept one by one would take a hundred times their size.
  let block = Buffer.alloc(0);
  let length = 0;
  let isWhole = false;
  const grow = (bytes: number): boolean => {
    const more = bytes - block.length;
    if (bytes > limits.requestBytes || pending.bytes + more > limits.pendingBytes) return false;
    const larger = Buffer.alloc(bytes);
    block.copy(larger, 0, 0, length);
    pending.bytes += more;
    block = larger;
    return true;
  };
  const release = (): void => {
    pending.bytes -= block.length;
    block = Buffer.alloc(0);
  };
  socket.on('close', release);
  socket.setTimeout(limits.silenceMs, () => {
    if (!isWhole) socket.destroy();
  });
  socket.on('data', (chunk: Buffer) => {
    // What follows the line is ignored.
    if (isWhole) return;
    const needed = length + chunk.length;
    const doubled = Math.max(needed, Math.min(block.length * 2, limits.requestBytes), FIRST_BYTES);
    if (needed > block.length && !grow(doubled) && !grow(needed)) {
      socket.destroy();
      return;
    }
    chunk.copy(block, length);
    length = needed;
    const end = chunk.indexOf(0x0a);
    if (end < 0) return;
    isWhole = true;
    const line = block.toString('utf8', 0, length - chunk.length + end);
    release();
    take(line);
  });
}

async function respond(socket: Socket, line: string, operate: Operate, log: Log): Promise<void> {
  const send = (response: ResponseLine): void => {
    if (socket.writable) socket.write(`${JSON.stringify(response)}\n`);
  };
  const left = new AbortController();
  socket.once('close', () => left.abort());
  try {
    const request = await parseRequest(line);
    const sink: Sink = {
      progress: (text) => send({ kind: 'progress', text }),
      async chunk(text) {
        send({ kind: 'chunk', text });
        await drained(socket);
      },
      left: left.signal,
    };
    const by = request.by ?? '';
    const value = await operate(request.operation, request.args, { sink, by });
    log.info('control', { operation: request.operation });
    if (Array.isArray(value) && value.length > ROWS_AT_ONCE) await writeRows(socket, value);
    else send({ kind: 'result', value: value ?? null });
  } catch (error) {
    const refusal = refusalOf(error);
    if (refusal === null) {
      const hint = 'This is a fault of the appliance. Please report it with this line.';
      log.error('control_failed', { error, hint });
    } else log.info('control_refused', { reason: refusal.message });
    send(toErrorLine(error));
  }
  socket.end();
}

/** Writes a result of many rows: to make one text of them would stop everything else. Throws when the client has left. */
async function writeRows(socket: Socket, rows: readonly unknown[]): Promise<void> {
  socket.write('{"kind":"result","value":[');
  for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
    const text = JSON.stringify(rows.slice(at, at + ROWS_AT_ONCE)).slice(1, -1);
    socket.write(at === 0 ? text : `,${text}`);
    await drained(socket);
  }
  socket.write(']}\n');
}

/** Resolves when the client has read what was written. Throws when it has left. */
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
  if (!socket.writable) throw new OperatorError('The command ended before its result.', '');
}
