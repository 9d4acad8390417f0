/**
 * How mail comes in over SMTP: the listener under both servers of this folder.
 *
 * A client connects; `Listener` counts it against the limits of `limits.ts`, negotiates TLS with the pair of
 * `certificate.ts` and hands each command to a server: `submission.ts` (software that sends with an API key) or
 * `inbound.ts` (reports from other mail servers). DATA is read by `read-message.ts`. A submitted message becomes a
 * draft (`submission-draft.ts`), flow/accept decides about it, and the reply of `reply.ts` goes out; a report goes to
 * flow/reports. A 250 is sent only after the commit: after a crash before it the client sends the message again.
 *
 * Wraps smtp-server 3.21 and adds what it lacks: TLS 1.2 or newer, a maximum age of a session, a maximum number of
 * sessions in all and from one address, and enhanced codes that match the reply. Errors of single connections never
 * reach the process. Kept from smtp-server on purpose: a bare LF ends a command line (message content is checked by
 * `read-message.ts`), and a client that talks before the greeting gets 421.
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
import type { SMTPStream } from 'smtp-server/lib/smtp-stream.js';
import type { Clock } from '../base/clock.ts';
import type { Listen } from '../base/config.ts';
import { listenFailure } from '../base/listening.ts';
import type { Log } from '../base/log.ts';
import type { TlsPair } from './certificate.ts';
import { addressUnit } from '../wire/addresses/address-unit.ts';
import { pauseAfterLarge } from './chunk-pauses.ts';
import { releaseCopied } from './release-chunks.ts';
import { AddressCounts, type ListenerLimits } from './limits.ts';
import { FAULT, refusalFor } from './reply.ts';

/** How often the age of sessions is checked. */
const SWEEP_MS = 2_000;
/** How long open sessions may continue after the listener stops accepting new ones. */
const CLOSE_MS = 8_000;
/** Joke commands of the library, and commands that let a client claim to be another one. */
const DISABLED = ['WIZ', 'SHELL', 'KILL', 'XCLIENT', 'XFORWARD'];
const TLS_FIRST = '5.7.0 Must issue a STARTTLS command first';
const ENHANCED = /^[245]\.\d{1,3}\.\d{1,3} /;

class ListenerConnection extends SMTPConnection {
  startedAt = 0;

  override _createParser(): SMTPStream {
    const parser = super._createParser();
    releaseCopied(parser);
    pauseAfterLarge(parser);
    return parser;
  }

  /**
   * Text that begins with an enhanced code gets no second one from the library's table. AUTH is not offered before
   * TLS, where it is refused (RFC 4954 section 4); a client that needs it there is told to start TLS first, not to log
   * in (RFC 3207 section 4).
   */
  override send(code: number, data?: string | string[] | null, context?: string | false): void {
    const mustStartTls = !this.secure && !this._server.options.allowInsecureAuth;
    const isPlainEhlo = Array.isArray(data) && mustStartTls;
    let shown = isPlainEhlo ? data.filter((line) => !line.startsWith('AUTH ')) : data;
    if (code === 530 && mustStartTls) shown = TLS_FIRST;
    const isEnhanced = typeof shown === 'string' && ENHANCED.test(shown);
    super.send(code, shown, isEnhanced ? false : context);
  }
}

class SmtpListener extends SMTPServer {
  readonly #clock: Clock;

  constructor(options: SMTPServerOptions, clock: Clock) {
    super(options);
    this.#clock = clock;
  }

  override connect(
    socket: Parameters<SMTPServer['connect']>[0],
    options?: Parameters<SMTPServer['connect']>[1],
  ): void {
    const connection = new ListenerConnection(this, socket, options);
    connection.startedAt = this.#clock.steady();
    this.connections.add(connection);
    connection.on('error', (error) => this.emit('error', error));
    connection.init();
  }
}

export interface ListenerOptions {
  hostname: string;
  clock: Clock;
  tls: TlsPair;
  isImplicitTls: boolean;
  /** No TLS, and a login only for clients that want one: for loopback alone. */
  isPlain?: boolean;
  limits: ListenerLimits;
  log: Log;
  handlers: CommandHandlers;
}

/** What a server does with each command. A rejected promise refuses the command: see `refusalFor`. */
export interface CommandHandlers {
  /** Returns what is kept as the session's user; null: this listener has no logins. */
  login: ((auth: SMTPServerAuthentication, session: SMTPServerSession) => Promise<unknown>) | null;
  /** `bytes`: the size that the client declared (RFC 1870), 0 without one. */
  mail(address: string, session: SMTPServerSession, bytes: number): Promise<void>;
  recipient(address: string, session: SMTPServerSession): Promise<void>;
  /** Returns the text of the 250. */
  data(stream: SMTPServerDataStream, session: SMTPServerSession): Promise<string>;
}

/** One listening address with its sessions. */
export class Listener {
  readonly #server: SmtpListener;
  readonly #clock: Clock;
  readonly #limits: ListenerLimits;
  readonly #counts = new AddressCounts();
  /** When each open socket connected, in steady time: one that has not finished its TLS handshake has no session to ask. */
  readonly #connectedAt = new WeakMap<Socket, number>();
  #tls: TlsPair;
  /** Where it listens; null before `start`. */
  #at: Listen | null = null;
  #cancelSweep: () => void = () => undefined;

  constructor(options: ListenerOptions) {
    const { limits, tls, handlers, log } = options;
    this.#clock = options.clock;
    this.#limits = limits;
    this.#tls = tls;
    const { login } = handlers;
    const isPlain = options.isPlain ?? false;
    const settings: SMTPServerOptions = {
      disabledCommands: [
        ...DISABLED,
        ...(login === null ? ['AUTH'] : []),
        ...(isPlain ? ['STARTTLS'] : []),
      ],
      authOptional: login === null || isPlain,
      allowInsecureAuth: isPlain,
      onAuth: (auth, session, done) =>
        void end(log, async () => ({ user: await login?.(auth, session) }), done),
      onMailFrom: ({ address, args }, session, done) =>
        void end(log, () => handlers.mail(address, session, sizeOf(args)), done),
      onRcptTo: ({ address }, session, done) =>
        void end(log, () => handlers.recipient(address, session), done),
      onData: (stream, session, done) => void end(log, () => handlers.data(stream, session), done),
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
    this.#server = new SmtpListener(settings, options.clock);
    // Connection resets and failed handshakes concern that client only.
    this.#server.on('error', () => undefined);
    this.#server.server.on('connection', (socket: Socket) => this.#count(socket));
    this.#server.server.maxConnections = limits.connections + 50;
  }

  /**
   * Listens; returns the address with the actual port. `key`: the config key that holds `listen`, for the error. Throws
   * `OperatorError` when the address is in use.
   */
  async start(listen: Listen, key: string): Promise<Listen> {
    const { server } = this.#server;
    try {
      await this.#listen(listen);
    } catch (error) {
      throw listenFailure(key, listen, error);
    }
    this.#sweep();
    const { address, port } = server.address() as AddressInfo;
    this.#at = { host: address, port };
    return this.#at;
  }

  /** Accepts no session until `listenAgain`; open ones go on. */
  rest(): void {
    this.#server.server.close();
  }

  /** Accepts sessions again. Rejects when the address cannot be had. */
  async listenAgain(): Promise<void> {
    if (this.#at !== null) await this.#listen(this.#at);
  }

  async #listen({ host, port }: Listen): Promise<void> {
    const { server } = this.#server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, host, () => {
        server.off('error', reject);
        resolve();
      });
    });
  }

  /**
   * Takes over a certificate and a number of recipients for future handshakes and messages; open sessions continue.
   * Returns whether the certificate changed.
   */
  change({ cert, key }: TlsPair, { recipients }: Pick<ListenerLimits, 'recipients'>): boolean {
    this.#server.options.maxRecipients = recipients;
    if (cert === this.#tls.cert && key === this.#tls.key) return false;
    this.#server.updateSecureContext({ cert, key });
    this.#tls = { cert, key };
    return true;
  }

  /** Refuses new sessions and waits up to `CLOSE_MS` for open ones to finish. */
  async stop(): Promise<void> {
    this.#cancelSweep();
    await new Promise<void>((resolve) => {
      this.#server.close(resolve);
      // Sessions without a message in progress have nothing to finish.
      for (const connection of this.#server.connections) {
        if (!connection.session.envelope?.mailFrom) connection.send(421, SHUTTING_DOWN);
      }
    });
  }

  #count(socket: Socket): void {
    const unit = addressUnit(socket.remoteAddress ?? '');
    this.#connectedAt.set(socket, this.#clock.steady());
    const count = this.#counts.add(unit);
    socket.once('close', () => this.#counts.remove(unit));
    if (count <= this.#limits.connectionsPerAddress) return;
    const pending = this.#server._pendingSockets.get(socket);
    // Before the handshake no reply can be sent; the library's own object must be destroyed, not the socket below it.
    if (pending !== undefined) pending.destroy();
    else
      socket.end(
        `421 4.7.0 ${this.#server.options.name} too many connections from your address\r\n`,
      );
  }

  #sweep(): void {
    const oldest = this.#clock.steady() - this.#limits.sessionMs;
    for (const connection of this.#server.connections) {
      if (connection instanceof ListenerConnection && connection.startedAt <= oldest) {
        connection.send(421, '4.4.2 Session time limit reached');
      }
    }
    for (const [socket, top] of this.#server._pendingSockets) {
      if ((this.#connectedAt.get(socket) ?? 0) <= oldest) top.destroy();
    }
    this.#cancelSweep = this.#clock.after(SWEEP_MS, () => this.#sweep());
  }
}

/** The SIZE parameter of MAIL FROM, whose digits smtp-server has checked. */
function sizeOf(args: object | false): number {
  return args !== false && 'SIZE' in args ? Number(args.SIZE) : 0;
}

/** Finishes a command with its reply: that of the refusal, or `FAULT` for an error of ours, which is logged. */
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
      log.error('smtp_command_failed', {
        error,
        hint: 'The client was told to try again. This is a bug in Postrider: report it with this log line.',
      });
    }
    reply = () => done(refusal ?? FAULT);
  }
  reply();
}

/** The client disconnected in the middle of its message. */
function isGone(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ECONNECTION';
}

const SHUTTING_DOWN = '4.3.2 The service is shutting down. Try again soon.';
