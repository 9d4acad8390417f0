/**
 * An SMTP receiver in plaintext whose every reply a test can choose, and which keeps every line it was sent.
 *
 * Promises honest replies where the test says nothing. Ends DATA at `CRLF . CRLF` only, or, when told to be lax,
 * at any of the line ends that SMTP smuggling relies on.
 */
import { createServer } from 'node:net';
import type { Socket } from 'node:net';

export interface ScriptedOptions {
  /** EHLO keywords. */
  keywords?: string[];
  banner?: string;
  /** The reply to a line, without its line end; undefined: the honest one; null: none. */
  reply?(line: string): string | null | undefined;
  /** Takes bare LF and bare CR for line ends too. */
  isLax?: boolean;
}

export interface ScriptedSmtp {
  port: number;
  /** Commands in order, over all connections. */
  lines: string[];
  /** Bodies as transferred: dots still doubled. */
  bodies: string[];
  remoteAddresses: string[];
  /** Open now. */
  readonly connections: number;
  /** Says something without being asked, on every open connection. */
  say(text: string): void;
  stop(): Promise<void>;
}

const STRICT_END = /\r\n\.\r\n/;
const LAX_END = /(?:\r\n|\n|\r)\.(?:\r\n|\n|\r)/;

export async function startScriptedSmtp(options: ScriptedOptions = {}): Promise<ScriptedSmtp> {
  const lines: string[] = [];
  const bodies: string[] = [];
  const remoteAddresses: string[] = [];
  const sockets = new Set<Socket>();
  const lineEnd = options.isLax === true ? /\r\n|\n|\r(?!$)/ : /\r\n/;
  const bodyEnd = options.isLax === true ? LAX_END : STRICT_END;

  const honest = (line: string): string => {
    const verb = line.slice(0, 4).toUpperCase();
    if (verb === 'EHLO') {
      const all = ['scripted.test', ...(options.keywords ?? [])];
      return all.map((k, i) => `250${i < all.length - 1 ? '-' : ' '}${k}`).join('\r\n');
    }
    if (verb === 'DATA') return '354 go on';
    return verb === 'QUIT' ? '221 2.0.0 bye' : '250 2.0.0 ok';
  };

  const server = createServer((socket) => {
    sockets.add(socket);
    remoteAddresses.push(socket.remoteAddress ?? '');
    let text = '';
    let isBody = false;
    const answer = (line: string): void => {
      const chosen = options.reply?.(line);
      const reply = chosen === undefined ? honest(line) : chosen;
      if (reply !== null) socket.write(`${reply}\r\n`);
      if (line.toUpperCase() === 'DATA') isBody = reply?.startsWith('354') === true;
    };
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      for (;;) {
        const end = (isBody ? bodyEnd : lineEnd).exec(text);
        if (end === null) return;
        const part = text.slice(0, end.index);
        text = text.slice(end.index + end[0].length);
        if (isBody) {
          bodies.push(part);
          isBody = false;
          answer('.');
        } else {
          lines.push(part);
          answer(part);
        }
      }
    });
    socket.write(`${options.banner ?? '220 scripted.test ESMTP'}\r\n`);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    port: address.port,
    lines,
    bodies,
    remoteAddresses,
    get connections() {
      return sockets.size;
    },
    say(said) {
      for (const socket of sockets) socket.write(said);
    },
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}
