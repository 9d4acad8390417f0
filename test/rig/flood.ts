/**
 * Large bodies in numbers: clients that send the same bytes over many connections, and the memory of a process.
 *
 * Promises that the client itself stays small: all connections write slices of one buffer, a slice at a time. Never
 * waits for an answer that does not come: a connection that the server closes counts as one without an answer.
 */
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';

import { RawClient } from '../smtp/raw-client.ts';

const SLICE_BYTES = 256 * 1024;
const MIB = 1024 * 1024;

export interface FloodRequest {
  port: number;
  head: string;
  body: Buffer;
  /** Bytes of the body after which the client stops and only listens; default: all. */
  stopAfter?: number;
  /** How long it waits for an answer; default: for ever. */
  waitMs?: number;
}

/** Sends one request; its answer as text, empty when the connection ended without one. */
export function flood(request: FloodRequest): Promise<string> {
  const { port, head, body, stopAfter = body.length } = request;
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let text = '';
    const patience =
      request.waitMs === undefined ? undefined : setTimeout(() => socket.destroy(), request.waitMs);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      clearTimeout(patience);
      resolve(text);
    });
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      if (/"request_id"|\r\n\r\n\{.*\}$/s.test(text)) socket.end();
    });
    socket.on('connect', () => {
      socket.write(head);
      pour(socket, body.subarray(0, stopAfter));
    });
  });
}

/** Submits one message over TLS; the reply to its end, or to MAIL FROM where that refused it. */
export async function floodMail(message: {
  port: number;
  token: string;
  body: Buffer;
}): Promise<string> {
  const client = await RawClient.openTls({ host: '127.0.0.1', port: message.port });
  try {
    await client.hello();
    await client.login(message.token);
    const mail = await client.command('MAIL FROM:<a@example.org>');
    if (!mail.startsWith('250')) return mail;
    await client.command('RCPT TO:<delivered@sandbox.test>');
    await client.command('DATA');
    pour(client.socket, message.body);
    return await client.reply();
  } finally {
    client.close();
  }
}

/** Writes `body` a slice at a time, so that no copy of all of it waits in memory. */
function pour(socket: Socket, body: Buffer): void {
  let at = 0;
  const send = (): void => {
    while (at < body.length && !socket.destroyed) {
      const slice = body.subarray(at, at + SLICE_BYTES);
      at += slice.length;
      if (!socket.write(slice)) {
        socket.once('drain', send);
        return;
      }
    }
  };
  send();
}

/** Resident memory of a process in MiB: now, and at its highest. */
export function memoryOf(pid: number): { nowMib: number; peakMib: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const kib = (name: string): number => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]);
  return { nowMib: (kib('VmRSS') * 1024) / MIB, peakMib: (kib('VmHWM') * 1024) / MIB };
}

/** The status codes of answers, counted; `none` for those that did not come. */
export function statuses(answers: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const answer of answers) {
    const status = /^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? 'none';
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}
