/**
 * SMTP client sessions (RFC 5321): one connection to one address, many messages one after the other.
 *
 * The story of this folder. `openSession` dials an address; `greeting.ts` reads the banner, says EHLO, upgrades to TLS
 * (`tls.ts`) and logs in. Then `send` runs one transaction after the other (`transaction.ts`): MAIL, RCPT, DATA and
 * the message as `body.ts` prepares it. Below them `dialogue.ts` writes commands, matches replies (`reply.ts`) to them
 * and keeps the deadlines (`deadlines.ts`). What comes out is a value: accepted, refused with the reply, or broken,
 * and whether the receiver may have the message already. After a crash the receiver has what it replied 250 to; the
 * queue repeats the rest.
 *
 * Promises that every end is a value with the stage it came at; that a session dials the address it was given and
 * nothing else; that after a failed handshake nothing is said on that connection; and that a session uses a descriptor
 * only while it is open. Our own client rather than a library's, because delivery depends on absolute deadlines, limits
 * on replies, stages, and the moment of the final dot.
 */
import type { X509Certificate } from 'node:crypto';
import type { Deadlines, Stage } from './deadlines.ts';
import { Dialogue, DialogueEnd } from './dialogue.ts';
import { greet } from './greeting.ts';
import type { Extensions, Greeted } from './greeting.ts';
import type { Reply } from './reply.ts';
import { isVerified } from './tls.ts';
import type { ExtraTrust } from './tls.ts';
import { transact } from './transaction.ts';
import type { Envelope, SendResult } from './transaction.ts';

export interface SessionOptions {
  /** An IP address, never a name. */
  address: string;
  port: number;
  /** Local address to send from; null: the system's choice. */
  localAddress: string | null;
  /** What EHLO says: our own host name. */
  heloName: string;
  /** The MX host's name, for SNI and the certificate. */
  serverName: string;
  tls: {
    /** `opportunistic`: STARTTLS where offered. `required`: else fail. `implicit`: TLS from the first byte. */
    mode: 'none' | 'opportunistic' | 'required' | 'implicit';
    /** Whether the certificate must be trusted and name `serverName`. */
    verify: boolean;
    /** Authorities trusted in addition to the built-in ones. */
    trust?: ExtraTrust;
    /** DANE: leaf first; a string says why the chain is refused, null lets it pass. */
    checkPeer?: (chain: readonly X509Certificate[]) => string | null;
  };
  auth: { username: string; password: string } | null;
  deadlines: Deadlines;
  /** Aborting destroys the session, whatever it is doing. */
  signal?: AbortSignal;
}

export type SessionResult =
  | { kind: 'ready'; session: SmtpSession }
  | {
      kind: 'failed';
      stage: Stage;
      reply: Reply | null;
      cause: string | null;
      /** Our own trouble (no descriptors, no such source address, aborted): never counted against the destination. */
      isLocal: boolean;
      /** TLS was the reason: in opportunistic mode a new connection with mode `none` may do. */
      tlsFailed: boolean;
    };

export interface TlsFacts {
  /** `TLSv1.3`. */
  version: string;
  cipher: string;
  /** The certificate was trusted and named the server, whether or not that was required. */
  isVerified: boolean;
}

/** Opens a session up to the point where MAIL may be said. Never throws. */
export async function openSession(options: SessionOptions): Promise<SessionResult> {
  let dialogue: Dialogue | null = null;
  try {
    dialogue = await Dialogue.connect({ ...options, signal: options.signal });
    const greeted = await greet(dialogue, {
      heloName: options.heloName,
      mode: options.tls.mode,
      tls: {
        serverName: options.serverName,
        verify: options.tls.verify,
        trust: options.tls.trust,
        checkPeer: options.tls.checkPeer,
      },
      auth: options.auth,
    });
    return { kind: 'ready', session: new SmtpSession(dialogue, greeted, options) };
  } catch (error) {
    dialogue?.destroy();
    if (!(error instanceof DialogueEnd)) throw error;
    const { stage, reply, isLocal } = error;
    const tlsFailed = !isLocal && (stage === 'starttls' || stage === 'handshake');
    return { kind: 'failed', stage, reply, cause: error.message, isLocal, tlsFailed };
  }
}

/** An open session. Holds a descriptor until `quit` or `destroy`, or until the server ends it. */
export class SmtpSession {
  readonly tls: TlsFacts | null;
  /** Upper-case keywords of the last EHLO. */
  readonly extensions: ReadonlySet<string>;
  readonly remoteAddress: string;
  readonly #dialogue: Dialogue;
  readonly #offered: Extensions;
  #sent = 0;
  #isBusy = false;

  constructor(dialogue: Dialogue, greeted: Greeted, options: SessionOptions) {
    const { tlsSocket, extensions } = greeted;
    this.#dialogue = dialogue;
    this.#offered = extensions;
    this.extensions = new Set(extensions.keys());
    this.remoteAddress = options.address;
    this.tls =
      tlsSocket === null
        ? null
        : {
            version: tlsSocket.getProtocol() ?? 'unknown',
            cipher: tlsSocket.getCipher().name,
            isVerified: isVerified(tlsSocket, options.serverName),
          };
  }

  /** Whether another message may be sent. */
  get isUsable(): boolean {
    return !this.#isBusy && this.#dialogue.isOpen;
  }

  /** Messages accepted so far. */
  get sent(): number {
    return this.#sent;
  }

  /**
   * One message to one recipient; one at a time. Network trouble is a result; throws when called while
   * busy, or for bytes that must not leave (see transaction.ts).
   */
  async send(envelope: Envelope): Promise<SendResult> {
    if (this.#isBusy) throw new Error('the session is sending another message');
    this.#isBusy = true;
    try {
      const result = await transact(this.#dialogue, this.#offered, envelope);
      if (result.kind === 'accepted') this.#sent += 1;
      return result;
    } finally {
      this.#isBusy = false;
    }
  }

  /** Says QUIT, waits for the reply within its deadline, and closes. Never throws. */
  async quit(): Promise<void> {
    if (this.isUsable) await this.#dialogue.command('QUIT', 'quit').catch(() => {});
    this.#dialogue.destroy();
  }

  /** Closes at once. A message under way ends as broken. */
  destroy(): void {
    this.#dialogue.destroy();
  }
}
