/**
 * The receiver inside the appliance for `capture` mode: takes mail for every domain over real SMTP on a
 * free loopback port and keeps the newest messages for the dashboard and the command line.
 *
 * Promises that nothing leaves the machine: it listens on loopback only and relays nothing. Keeps at most
 * `KEPT_MESSAGES` messages and `KEPT_BYTES` bytes, and drops the oldest first. Only a complete DATA counts.
 */
import { once } from 'node:events';
import { SMTPServer } from 'smtp-server';
import type { SMTPServerDataStream, SMTPServerSession } from 'smtp-server';
import type { Listen } from '../../base/config.ts';
import type { Clock } from '../../base/clock.ts';
import { readHead } from '../../mail/mime/message-parts.ts';

const KEPT_MESSAGES = 200;
const KEPT_BYTES = 64 * 1024 * 1024;
/** More than the API's 14 MB with the third that base64 adds. */
const MAX_MESSAGE_BYTES = 40 * 1024 * 1024;

/** One message as the receiver got it. */
export interface CapturedMessage {
  /** Counts up from 1 since the start. */
  number: number;
  receivedAt: number;
  /** Envelope sender. */
  returnPath: string;
  recipient: string;
  /** As people read them, for lists. */
  subject: string;
  from: string;
  /** The message's bytes, DKIM-Signature first. */
  raw: Buffer;
}

export class Capture {
  readonly #clock: Clock;
  readonly #server: SMTPServer;
  #messages: CapturedMessage[] = [];
  #keptBytes = 0;
  #count = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#server = new SMTPServer({
      name: 'capture.localhost',
      banner: 'capture',
      authOptional: true,
      disabledCommands: ['AUTH', 'STARTTLS'],
      disableReverseLookup: true,
      size: MAX_MESSAGE_BYTES,
      logger: false,
      onData: (stream, session, done) => this.#take(stream, session, done),
    });
    // Errors of single connections (ECONNRESET) come here; the client sees them on its own side.
    this.#server.on('error', () => {});
  }

  /** Listens on a free loopback port and tells which. Throws when the machine has no loopback port left. */
  async start(): Promise<Listen> {
    const listener = this.#server.listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const bound = listener.address();
    // Only a pipe has a name instead, and only a closed server nothing.
    if (bound === null || typeof bound === 'string') throw new Error('no port was bound');
    return { host: bound.address, port: bound.port };
  }

  /** Ends the listener; open sessions are given a moment to finish. */
  stop(): Promise<void> {
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  /** What was captured, newest first. */
  captured(): readonly CapturedMessage[] {
    return this.#messages.toReversed();
  }

  /** Forgets one message; false when it is not there any more. */
  remove(number: number): boolean {
    const at = this.#messages.findIndex((message) => message.number === number);
    const [gone] = at < 0 ? [] : this.#messages.splice(at, 1);
    this.#keptBytes -= gone?.raw.length ?? 0;
    return gone !== undefined;
  }

  /** Forgets all of them; returns how many. Numbers go on. */
  clear(): number {
    const { length } = this.#messages;
    this.#messages = [];
    this.#keptBytes = 0;
    return length;
  }

  #take(
    stream: SMTPServerDataStream,
    session: SMTPServerSession,
    done: (error?: Error | null, message?: string) => void,
  ): void {
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    // A client that goes away in DATA ends in 'error', never in 'end'.
    stream.on('error', () => {});
    stream.on('end', () => {
      if (stream.sizeExceeded) {
        done(Object.assign(new Error('Message too large'), { responseCode: 552 }));
        return;
      }
      const raw = Buffer.concat(chunks);
      const from = session.envelope.mailFrom;
      const head = readHead(raw);
      for (const recipient of session.envelope.rcptTo) {
        const returnPath = from === false ? '' : from.address;
        this.#keep({ ...head, returnPath, recipient: recipient.address, raw });
      }
      done(null, `captured as ${this.#count}`);
    });
  }

  #keep(message: Omit<CapturedMessage, 'number' | 'receivedAt'>): void {
    this.#count += 1;
    this.#keptBytes += message.raw.length;
    this.#messages.push({ ...message, number: this.#count, receivedAt: this.#clock.now() });
    while (this.#messages.length > KEPT_MESSAGES || this.#keptBytes > KEPT_BYTES) {
      const oldest = this.#messages.shift();
      if (oldest === undefined) break;
      this.#keptBytes -= oldest.raw.length;
    }
  }
}
