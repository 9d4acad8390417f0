/**
 * An SMTP client that sends exactly the bytes a test wants, when it wants them.
 *
 * Promises nothing is added: no CRLF, no dot. A reply is all its lines; `closed` resolves when the server
 * has ended the connection.
 */
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Listen } from '../../src/base/config.ts';

export class RawClient {
  readonly closed: Promise<void>;
  socket: Socket;
  #text = '';
  #waiting: (() => void)[] = [];
  #isClosed = false;
  #noteClosed: () => void = () => undefined;

  private constructor(socket: Socket) {
    this.socket = socket;
    this.closed = new Promise((resolve) => {
      this.#noteClosed = resolve;
    });
    this.#listen(socket);
  }

  /** Connects and returns without waiting for the greeting. */
  static async open(to: Listen, from = '127.0.0.1'): Promise<RawClient> {
    const socket = connect({ port: to.port, host: to.host, localAddress: from });
    const client = new RawClient(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    return client;
  }

  static async openTls(to: Listen): Promise<RawClient> {
    const socket = connectTls({ port: to.port, host: to.host, rejectUnauthorized: false });
    const client = new RawClient(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once('secureConnect', resolve);
      socket.once('error', reject);
    });
    return client;
  }

  write(bytes: string | Uint8Array): void {
    this.socket.write(bytes);
  }

  /** The next reply, all its lines joined by LF; what came before the end when the server closed. */
  async reply(): Promise<string> {
    for (;;) {
      const end = /^\d{3}(?: [^\n]*)?\n/m.exec(this.#text);
      if (end !== null) {
        const at = end.index + end[0].length;
        const reply = this.#text.slice(0, at).trimEnd();
        this.#text = this.#text.slice(at);
        return reply;
      }
      if (this.#isClosed) return this.#text;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** Sends a line with CRLF and returns the reply. */
  command(line: string): Promise<string> {
    this.write(`${line}\r\n`);
    return this.reply();
  }

  /** Greeting, EHLO, and STARTTLS with a second EHLO when asked for. Returns the last EHLO's reply. */
  async hello(withTls = false): Promise<string> {
    await this.reply();
    const plain = await this.command('EHLO client.example');
    if (!withTls) return plain;
    await this.command('STARTTLS');
    await this.upgrade();
    return this.command('EHLO client.example');
  }

  /** The client's side of the handshake. */
  async upgrade(): Promise<void> {
    const plain = this.socket;
    plain.removeAllListeners('data');
    const secure = connectTls({ socket: plain, rejectUnauthorized: false });
    await new Promise<void>((resolve, reject) => {
      secure.once('secureConnect', resolve);
      secure.once('error', reject);
    });
    this.socket = secure;
    this.#listen(secure);
  }

  /** AUTH PLAIN with any user name. */
  login(token: string): Promise<string> {
    return this.command(`AUTH PLAIN ${Buffer.from(`\0any\0${token}`).toString('base64')}`);
  }

  /** What has come and was not read as a reply. */
  rest(): string {
    return this.#text;
  }

  close(): void {
    this.socket.destroy();
  }

  #listen(socket: Socket): void {
    const wake = (): void => this.#waiting.splice(0).forEach((resolve) => resolve());
    socket.on('data', (chunk: Buffer) => {
      this.#text += chunk.toString('utf8').replaceAll('\r\n', '\n');
      wake();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#isClosed = true;
      this.#noteClosed();
      wake();
    });
  }
}
