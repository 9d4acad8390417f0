/**
 * An SMTP receiver on raw sockets that behaves until a given stage, and there does one thing wrong.
 *
 * Promises exactly the bytes of the behaviour and nothing cleverer; up to its stage it is a small honest server
 * (optionally with PIPELINING and STARTTLS). Every connection and timer is gone when `stop` resolves.
 */
import { createServer } from 'node:net';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { SecureVersion } from 'node:tls';

export const STAGES = [
  'connect',
  'banner',
  'ehlo',
  'starttls',
  'handshake',
  'ehlo2',
  'mail',
  'rcpt',
  'data',
  'body',
  'dot',
  'rset',
  'quit',
] as const;
export type HostileStage = (typeof STAGES)[number];

export const BEHAVIOURS = [
  'refuse',
  'fin',
  'rst',
  'silence',
  'drip',
  'garbage',
  'nul',
  '4xx',
  '5xx',
  '421-close',
  'wrong-code',
  'endless',
  'long-line',
  'bare-lf',
  'extra',
  'reply-close',
] as const;
export type Behaviour = (typeof BEHAVIOURS)[number];

export interface HostileOptions {
  stage: HostileStage;
  behaviour: Behaviour;
  /** Milliseconds between the bytes of `drip` and the lines of `endless`. */
  dripMs: number;
  /** Key and certificate: STARTTLS is offered when given. */
  tls?: { key: string; cert: string; minVersion?: SecureVersion; maxVersion?: SecureVersion };
  hasPipelining?: boolean;
}

export interface HostileReceiver {
  port: number;
  /** Messages for which the receiver saw the final dot. */
  received: string[];
  /** Commands, and whether they came under TLS. */
  commands: { line: string; isSecure: boolean }[];
  connections(): number;
  stop(): Promise<void>;
}

const LONG_LINE_BYTES = 1024 * 1024;

/** Listens on a free port of 127.0.0.1. */
export async function startHostileReceiver(options: HostileOptions): Promise<HostileReceiver> {
  const received: string[] = [];
  const commands: { line: string; isSecure: boolean }[] = [];
  const open = new Set<Conversation>();
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    const conversation = new Conversation(socket, options, received, commands);
    open.add(conversation);
    socket.on('close', () => {
      conversation.stop();
      open.delete(conversation);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    port: address.port,
    received,
    commands,
    connections: () => connections,
    async stop() {
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      for (const conversation of open) conversation.stop();
      await closed;
    },
  };
}

class Conversation {
  readonly #options: HostileOptions;
  readonly #received: string[];
  readonly #commands: HostileReceiver['commands'];
  readonly #plain: Socket;
  #socket: Socket;
  #timer: ReturnType<typeof setInterval> | undefined;
  #text = '';
  #mode: 'command' | 'body' | 'deaf' = 'command';
  #isSecure = false;
  #hasMail = false;
  #hasRcpt = false;

  constructor(
    socket: Socket,
    options: HostileOptions,
    received: string[],
    commands: HostileReceiver['commands'],
  ) {
    this.#plain = socket;
    this.#socket = socket;
    this.#options = options;
    this.#received = received;
    this.#commands = commands;
    this.#listen(socket);
    const isAtOnce = options.stage === 'connect';
    this.#answer(isAtOnce ? 'connect' : 'banner', '220 hostile.test ESMTP\r\n');
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#socket.destroy();
    this.#plain.destroy();
  }

  #listen(socket: Socket): void {
    socket.on('error', () => this.stop());
    socket.on('data', (chunk: Buffer) => this.#read(chunk.toString('latin1')));
  }

  #read(text: string): void {
    this.#text += text;
    while (this.#mode === 'command') {
      const end = this.#text.indexOf('\r\n');
      if (end < 0) return;
      const line = this.#text.slice(0, end);
      this.#text = this.#text.slice(end + 2);
      this.#commands.push({ line, isSecure: this.#isSecure });
      this.#command(line);
    }
    if (this.#mode === 'body') this.#body();
  }

  #command(line: string): void {
    const verb = /^\w*/.exec(line)?.[0].toUpperCase() ?? '';
    switch (verb) {
      case 'EHLO':
        this.#answer(this.#isSecure ? 'ehlo2' : 'ehlo', this.#ehlo());
        return;
      case 'HELO':
        this.#answer(null, '250 hostile.test\r\n');
        return;
      case 'STARTTLS':
        if (this.#answer('starttls', '220 2.0.0 go ahead\r\n')) this.#upgrade();
        return;
      case 'MAIL':
        if (this.#answer('mail', '250 2.1.0 sender ok\r\n')) this.#hasMail = true;
        return;
      case 'RCPT': {
        if (!this.#hasMail) {
          this.#answer(null, '503 5.5.1 MAIL first\r\n');
          return;
        }
        // RSET comes only after a refused recipient.
        if (this.#options.stage === 'rset') {
          this.#answer(null, '550 5.1.1 no such user\r\n');
          return;
        }
        if (this.#answer('rcpt', '250 2.1.5 recipient ok\r\n')) this.#hasRcpt = true;
        return;
      }
      case 'DATA':
        if (!this.#hasRcpt) {
          this.#answer(null, '503 5.5.1 RCPT first\r\n');
          return;
        }
        if (this.#answer('data', '354 go on\r\n')) this.#mode = 'body';
        return;
      case 'RSET':
        this.#hasMail = false;
        this.#hasRcpt = false;
        this.#answer('rset', '250 2.0.0 flushed\r\n');
        return;
      case 'QUIT':
        if (this.#answer('quit', '221 2.0.0 bye\r\n')) this.#socket.end();
        return;
      default:
        this.#answer(null, '500 5.5.2 what?\r\n');
        return;
    }
  }

  #ehlo(): string {
    const keywords = ['hostile.test', '8BITMIME', 'ENHANCEDSTATUSCODES'];
    if (this.#options.hasPipelining === true) keywords.push('PIPELINING');
    if (this.#options.tls !== undefined && !this.#isSecure) keywords.push('STARTTLS');
    return keywords.map((k, i) => `250${i < keywords.length - 1 ? '-' : ' '}${k}\r\n`).join('');
  }

  #body(): void {
    if (this.#options.stage === 'body' && this.#text.length > 0) {
      this.#mode = 'deaf';
      this.#text = '';
      this.#misbehave('250 2.0.0 taken\r\n');
      return;
    }
    const end = this.#text.indexOf('\r\n.\r\n');
    if (end < 0) return;
    this.#received.push(this.#text.slice(0, end + 2));
    this.#text = this.#text.slice(end + 5);
    this.#mode = 'command';
    this.#hasMail = false;
    this.#hasRcpt = false;
    this.#answer('dot', '250 2.0.0 queued as 1\r\n');
  }

  /** True: the reply was sent as it should be, or so that a client may take it for that. */
  #answer(stage: HostileStage | null, proper: string): boolean {
    if (stage === this.#options.stage) return this.#misbehave(proper);
    this.#socket.write(proper, 'latin1');
    return true;
  }

  #upgrade(): void {
    this.#plain.removeAllListeners('data');
    if (this.#options.stage === 'handshake') {
      this.#mode = 'deaf';
      // In answer to the client's first handshake bytes.
      this.#plain.once('data', () => this.#misbehave('220 2.0.0 go ahead\r\n'));
      return;
    }
    this.#isSecure = true;
    this.#socket = new TLSSocket(this.#plain, { isServer: true, ...this.#options.tls });
    this.#listen(this.#socket);
  }

  #misbehave(proper: string): boolean {
    const socket = this.#socket;
    switch (this.#options.behaviour) {
      case 'refuse':
        socket.end('554 5.3.2 not today\r\n');
        break;
      case 'fin':
        socket.end();
        break;
      case 'rst':
        this.#plain.resetAndDestroy();
        break;
      case 'silence':
        // Not even reading: a body must run into its own deadline.
        this.#mode = 'deaf';
        socket.pause();
        break;
      case 'drip':
        this.#mode = 'deaf';
        socket.pause();
        this.#repeat(proper.split(''));
        break;
      case 'garbage':
        socket.write('\x16\x03 %&/ no reply at all\r\n', 'latin1');
        break;
      case 'nul':
        socket.write(`\0\0\0\0${proper}`, 'latin1');
        break;
      case '4xx':
        socket.write('451 4.3.0 try later\r\n');
        break;
      case '5xx':
        socket.write('550 5.7.1 not from you\r\n');
        break;
      case '421-close':
        socket.end('421 4.3.2 closing\r\n');
        break;
      case 'wrong-code':
        socket.write(proper.startsWith('354') ? '250 2.0.0 ok\r\n' : '354 go on\r\n');
        break;
      case 'endless':
        this.#mode = 'deaf';
        this.#repeat(null);
        break;
      case 'long-line':
        this.#mode = 'deaf';
        socket.write(Buffer.alloc(LONG_LINE_BYTES, `${proper.slice(0, 3)} `));
        break;
      case 'bare-lf':
        socket.write(proper.replaceAll('\r\n', '\n'), 'latin1');
        return true;
      case 'extra':
        socket.write(`${proper}250 2.0.0 ok\r\n250 2.0.0 ok\r\n250 2.0.0 ok\r\n`, 'latin1');
        return true;
      case 'reply-close':
        socket.end(proper, 'latin1');
        break;
    }
    return false;
  }

  /** One piece at each tick; null: lines of a reply that never ends. */
  #repeat(pieces: string[] | null): void {
    this.#timer = setInterval(() => {
      const piece = pieces === null ? '250-and on and on\r\n'.repeat(8) : pieces.shift();
      if (piece !== undefined) this.#socket.write(piece, 'latin1');
    }, this.#options.dripMs);
  }
}
