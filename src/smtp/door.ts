/**
 * A listening SMTP server on smtp-server 3.21, with what it leaves open shut.
 *
 * Promises TLS 1.2 or newer, a session that ends at an absolute age, a bounded number of sessions in all
 * and from one address, and enhanced codes that fit the reply. Errors of single connections never reach
 * the process. What smtp-server does and this keeps knowingly: a bare LF ends a command line (message
 * content is checked by `read-message.ts`), and a client that talks before the greeting gets 421.
 */
import type { AddressInfo, Socket } from 'node:net';
import {
  SMTPServer,
  type SMTPServerAuthentication,
  type SMTPServerDataStream,
  type SMTPServerOptions,
  type SMTPServerSession,
} from 'smtp-server';
import { SMTPConnection } from 'smtp-server/lib/smtp-connection.js';
import type { Clock } from '../base/clock.ts';
import type { Listen } from '../base/config.ts';
import { listenFailure } from '../base/listening.ts';
import type { Log } from '../base/log.ts';
import type { TlsPair } from './certificate.ts';
import { addressUnit } from '../wire/address-unit.ts';
import { AddressCounts, type DoorLimits } from './limits.ts';
import { FAULT, refusalFor } from './reply.ts';

/** How often sessions are looked at for their age. */
const SWEEP_MS = 2_000;
/** How long sessions under way may go on when the door closes. */
const CLOSE_MS = 8_000;
/** Jokes of the library, and ways to speak in another client's name. */
const TOYS = ['WIZ', 'SHELL', 'KILL', 'XCLIENT', 'XFORWARD'];
const TLS_FIRST = '5.7.0 Must issue a STARTTLS command first';
const ENHANCED = /^[245]\.\d{1,3}\.\d{1,3} /;

class DoorConnection extends SMTPConnection {
  startedAt = 0;

  /**
   * Text that begins with an enhanced code gets no second one from the library's table, and AUTH is not
   * offered before TLS, where it is refused (RFC 4954 section 4); who needs it there is told of TLS, not of a
   * login that can not be (RFC 3207 section 4).
   */
  override send(code: number, data?: string | string[] | null, context?: string | false): void {
    const isOpen = Array.isArray(data) && !this.secure;
    let shown = isOpen ? data.filter((line) => !line.startsWith('AUTH ')) : data;
    if (code === 530 && !this.secure) shown = TLS_FIRST;
    const isEnhanced = typeof shown === 'string' && ENHANCED.test(shown);
    super.send(code, shown, isEnhanced ? false : context);
  }
}

class DoorServer extends SMTPServer {
  readonly #clock: Clock;

  constructor(options: SMTPServerOptions, clock: Clock) {
    super(options);
    this.#clock = clock;
  }

  override connect(
    socket: Parameters<SMTPServer['connect']>[0],
    options?: Parameters<SMTPServer['connect']>[1],
  ): void {
    const connection = new DoorConnection(this, socket, options);
    connection.startedAt = this.#clock.now();
    this.connections.add(connection);
    connection.on('error', (error) => this.emit('error', error));
    connection.init();
  }
}

export interface DoorOptions {
  hostname: string;
  clock: Clock;
  tls: TlsPair;
  isImplicitTls: boolean;
  limits: DoorLimits;
  log: Log;
  visitor: Visitor;
}

/** What a door does with each command. A rejection refuses: see `refusalFor`. */
export interface Visitor {
  /** Returns what is kept as the session's user; null: this door knows no logins. */
  login: ((auth: SMTPServerAuthentication, session: SMTPServerSession) => Promise<unknown>) | null;
  mail(address: string, session: SMTPServerSession): Promise<void>;
  recipient(address: string, session: SMTPServerSession): Promise<void>;
  /** Returns the text of the 250. */
  data(stream: SMTPServerDataStream, session: SMTPServerSession): Promise<string>;
}

export class Door {
  readonly #server: DoorServer;
  readonly #clock: Clock;
  readonly #limits: DoorLimits;
  readonly #counts = new AddressCounts();
  /** Sockets whose TLS handshake is still ahead or under way, with the time they came. */
  readonly #cameAt = new WeakMap<Socket, number>();
  #tls: TlsPair;
  #cancelSweep: () => void = () => undefined;

  constructor(options: DoorOptions) {
    const { limits, tls, visitor, log } = options;
    this.#clock = options.clock;
    this.#limits = limits;
    this.#tls = tls;
    const { login } = visitor;
    const settings: SMTPServerOptions = {
      disabledCommands: login === null ? [...TOYS, 'AUTH'] : TOYS,
      authOptional: login === null,
      onAuth: (auth, session, done) =>
        void end(log, async () => ({ user: await login?.(auth, session) }), done),
      onMailFrom: ({ address }, session, done) =>
        void end(log, () => visitor.mail(address, session), done),
      onRcptTo: ({ address }, session, done) =>
        void end(log, () => visitor.recipient(address, session), done),
      onData: (stream, session, done) => void end(log, () => visitor.data(stream, session), done),
      name: options.hostname,
      secure: options.isImplicitTls,
      cert: tls.cert,
      key: tls.key,
      minVersion: 'TLSv1.2',
      size: limits.messageBytes,
      maxClients: limits.connections,
      maxRecipients: limits.recipients,
      socketTimeout: limits.idleMs,
      closeTimeout: CLOSE_MS,
      maxCommandLength: 4_096,
      maxAllowedUnauthenticatedCommands: 20,
      hideENHANCEDSTATUSCODES: false,
      disableReverseLookup: true,
      heloResponse: '%s',
      authMethods: ['PLAIN', 'LOGIN'],
      logger: false,
    };
    this.#server = new DoorServer(settings, options.clock);
    // Resets, failed handshakes and the like: the business of that client alone.
    this.#server.on('error', () => undefined);
    this.#server.server.on('connection', (socket: Socket) => this.#count(socket));
    this.#server.server.maxConnections = limits.connections + 50;
  }

  /**
   * Listens; returns the address with the port that was given. `key`: of the config, where `listen` stands. Throws
   * `OperatorError` when it is taken.
   */
  async start(listen: Listen, key: string): Promise<Listen> {
    const { server } = this.#server;
    await new Promise<void>((resolve, reject) => {
      const fail = (error: Error): void => reject(listenFailure(key, listen, error));
      server.once('error', fail);
      server.listen(listen.port, listen.host, () => {
        server.off('error', fail);
        resolve();
      });
    });
    this.#sweep();
    const { address, port } = server.address() as AddressInfo;
    return { host: address, port };
  }

  /**
   * Takes over certificate and number of recipients, for the handshakes and messages to come; sessions go on.
   * Whether the certificate is another.
   */
  change({ cert, key }: TlsPair, { recipients }: Pick<DoorLimits, 'recipients'>): boolean {
    this.#server.options.maxRecipients = recipients;
    if (cert === this.#tls.cert && key === this.#tls.key) return false;
    this.#server.updateSecureContext({ cert, key });
    this.#tls = { cert, key };
    return true;
  }

  /** Refuses new sessions and lets those under way end, for some seconds. */
  async stop(): Promise<void> {
    this.#cancelSweep();
    await new Promise<void>((resolve) => {
      this.#server.close(resolve);
      // Idle sessions have nothing to finish.
      for (const connection of this.#server.connections) {
        if (!connection.session.envelope?.mailFrom) connection.send(421, GOING);
      }
    });
  }

  #count(socket: Socket): void {
    const unit = addressUnit(socket.remoteAddress ?? '');
    this.#cameAt.set(socket, this.#clock.now());
    const count = this.#counts.add(unit);
    socket.once('close', () => this.#counts.remove(unit));
    if (count <= this.#limits.connectionsPerAddress) return;
    const pending = this.#server._pendingSockets.get(socket);
    // Before the handshake there is no way to say it; the library must tear down from the top.
    if (pending !== undefined) pending.destroy();
    else socket.end(`421 4.7.0 ${this.#server.options.name} has too many connections from you\r\n`);
  }

  #sweep(): void {
    const oldest = this.#clock.now() - this.#limits.sessionMs;
    for (const connection of this.#server.connections) {
      if (connection instanceof DoorConnection && connection.startedAt <= oldest) {
        connection.send(421, '4.4.2 This session has lasted too long');
      }
    }
    for (const [socket, top] of this.#server._pendingSockets) {
      if ((this.#cameAt.get(socket) ?? 0) <= oldest) top.destroy();
    }
    this.#cancelSweep = this.#clock.at(this.#clock.now() + SWEEP_MS, () => this.#sweep());
  }
}

/** Ends a command with its reply: a refusal's own, or for a fault one that says nothing of the inside. */
async function end<T>(
  log: Log,
  work: () => Promise<T>,
  done: (error?: Error | null, value?: T) => void,
): Promise<void> {
  let reply: () => void;
  try {
    const value = await work();
    reply = () => done(null, value);
  } catch (error) {
    const refusal = refusalFor(error);
    if (refusal === null && !isGone(error)) {
      log.error('smtp command failed', {
        error,
        hint: 'The client was told to try again; the stack says where it happened.',
      });
    }
    reply = () => done(refusal ?? FAULT);
  }
  reply();
}

/** The client went away in the middle of its message. */
function isGone(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ECONNECTION';
}

const GOING = '4.3.2 This service is going down; try again soon';
