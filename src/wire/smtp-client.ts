/**
 * SMTP client sessions (RFC 5321): one connection to one address, many messages.
 */
import type { X509Certificate } from 'node:crypto';
import type { Deadlines, Stage } from './smtp-deadlines.ts';
import type { Reply } from './smtp-reply.ts';

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
    /** PEM certificates trusted beside the system's. */
    ca?: string[];
    /** DANE: leaf first; a string says why the chain is refused, null lets it pass. */
    checkPeer?: (chain: readonly X509Certificate[]) => string | null;
  };
  auth: { username: string; password: string } | null;
  deadlines: Deadlines;
  signal?: AbortSignal;
}

export type SessionResult =
  | { kind: 'ready'; session: SmtpSession }
  | {
      kind: 'failed';
      stage: Stage;
      reply: Reply | null;
      cause: string | null;
      /** Our own trouble (no descriptors, no such source address, aborted): never held against the destination. */
      isLocal: boolean;
      /** TLS was the reason: in opportunistic mode a new connection with mode `none` may do. */
      tlsFailed: boolean;
    };

export interface Envelope {
  /** Return path without angle brackets; empty for the null return path. */
  from: string;
  to: string;
  /** CRLF-clean bytes, not dot-stuffed. */
  message: Buffer;
  needsSmtpUtf8: boolean;
  /** Ask for delivery status notifications of success, failure and delay where offered (RFC 3461). */
  dsn: boolean;
}

export type SendResult =
  | { kind: 'accepted'; reply: Reply }
  | { kind: 'refused'; stage: Stage; reply: Reply }
  | {
      kind: 'broken';
      stage: Stage;
      cause: string;
      reply: Reply | null;
      /** Lost after all bytes, the final dot included, were handed over (RFC 1047). */
      mayBeDuplicate: boolean;
    }
  /** Not sent: the message needs an extension that the server does not offer. The session stays usable. */
  | { kind: 'unsupported'; extension: 'SMTPUTF8' | '8BITMIME' };

export interface SmtpSession {
  readonly tls: { version: string; cipher: string; isVerified: boolean } | null;
  /** Upper-case keywords of the last EHLO. */
  readonly extensions: ReadonlySet<string>;
  /** Whether another message may be sent. */
  readonly isUsable: boolean;
  /** Messages accepted so far. */
  readonly sent: number;
  readonly remoteAddress: string;
  /** One message to one recipient; one at a time. */
  send(envelope: Envelope): Promise<SendResult>;
  quit(): Promise<void>;
  destroy(): void;
}

/** Opens a session up to the point where MAIL may be said. Never throws. */
export function openSession(_options: SessionOptions): Promise<SessionResult> {
  throw new Error('being written');
}
