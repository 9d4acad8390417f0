/**
 * An SMTP receiver in plaintext that keeps its replies back as long as a test wants: the one to DATA until it is let go,
 * the one to the final dot for a time.
 *
 * Promises that `taken` holds every message whose final dot has come, whether or not its reply was ever sent.
 */
import { createServer } from 'node:net';
import type { Socket } from 'node:net';

import { Arrivals } from './arrivals.ts';

/** A message whose final dot has come. */
export interface TakenMessage {
  /** What the sender said in EHLO. */
  helo: string;
  to: string;
  text: string;
}

/** A session in which DATA was said and not answered. */
export interface AtData {
  helo: string;
  to: string;
  /** Answers it. */
  letGo(): void;
}

export interface HoldingOptions {
  host: string;
  port: number;
  /** Whether the reply to DATA is kept back. */
  isKeptBack?: (helo: string, to: string) => boolean;
  /** How long the reply to the final dot is kept back, in milliseconds. */
  dotMs?: (to: string) => number;
  /** What the reply to the final dot waits for besides. */
  dotAfter?: (to: string) => Promise<unknown> | null;
}

export interface HoldingReceiver {
  taken: Arrivals<TakenMessage>;
  atData: Arrivals<AtData>;
  stop(): Promise<void>;
}

const END = '\r\n.\r\n';

export async function startHoldingReceiver({
  host,
  port,
  isKeptBack = () => false,
  dotMs = () => 0,
  dotAfter = () => null,
}: HoldingOptions): Promise<HoldingReceiver> {
  const taken = new Arrivals<TakenMessage>('messages taken');
  const atData = new Arrivals<AtData>('sessions at DATA');
  const sockets = new Set<Socket>();

  const serve = (socket: Socket): void => {
    let [helo, to, text] = ['', '', ''];
    let isBody = false;
    const say = (line: string): void => void socket.write(`${line}\r\n`);
    const obey = (line: string): void => {
      const [verb = '', rest = ''] = line.split(/ (.*)/);
      if (verb === 'EHLO') helo = rest;
      if (verb === 'RCPT') to = /<([^>]*)>/.exec(rest)?.[1] ?? '';
      if (verb === 'QUIT') return void socket.end('221 bye\r\n');
      if (verb !== 'DATA') return say('250 ok');
      isBody = true;
      const letGo = (): void => say('354 go on');
      if (isKeptBack(helo, to)) atData.push({ helo, to, letGo });
      else letGo();
    };
    const takeBody = (end: number): void => {
      isBody = false;
      taken.push({ helo, to, text: text.slice(0, end) });
      text = text.slice(end + END.length);
      const after = Promise.all([dotAfter(to), Bun.sleep(dotMs(to))]);
      void after.then(() => say('250 taken'));
    };
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      for (;;) {
        const end = text.indexOf(isBody ? END : '\r\n');
        if (end < 0) return;
        if (isBody) takeBody(end);
        else {
          const line = text.slice(0, end);
          text = text.slice(end + 2);
          obey(line);
        }
      }
    });
    say('220 holding.test ESMTP');
  };

  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    serve(socket);
  });
  await new Promise<void>((resolve) => {
    server.listen(port, host, resolve);
  });
  return {
    taken,
    atData,
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}
