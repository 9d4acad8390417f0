/**
 * Port 25: bounce reports and complaints come home.
 *
 * Promises to take mail for two kinds of addresses only, our own return paths with a valid HMAC and
 * abuse@ or postmaster@ our host name, and to refuse everything else at RCPT. Never relays, never sends
 * a bounce, and answers 250 only when what a report changes is on disk. Mail to a person is logged.
 */
import type { SMTPServerDataStream, SMTPServerSession } from 'smtp-server';
import type { Config, Listen } from '../base/config.ts';
import type { Context } from '../flow/context.ts';
import type { Reports } from '../flow/reports.ts';
import { recipientOfReturnPath } from '../flow/return-paths.ts';
import { decodeWords } from '../mail/mime-text.ts';
import { fieldValue, splitMime } from '../mail/mime-tree.ts';
import { tlsPair } from './certificate.ts';
import { Door } from './door.ts';
import { ByteBudget, INBOUND_LIMITS, REPORT_BYTES, type DoorLimits } from './limits.ts';
import { readMessage } from './read-message.ts';
import { SmtpRefusal } from './reply.ts';

/** Hops after which a message goes in circles (RFC 5321 section 6.3 wants at least 100 for relays; we end the way). */
const MAX_RECEIVED = 30;
/** Refused recipients of one session after which it ends: who guesses return paths has no business here. */
const MAX_REFUSED = 20;
/** RFC 2142 sections 2 and 4: the mailboxes every mail host has. */
const ROLES: ReadonlySet<string> = new Set(['postmaster', 'abuse']);

export class InboundServer {
  readonly #ctx: Context;
  readonly #reports: Reports;
  readonly #limits: DoorLimits;
  readonly #budget: ByteBudget;
  readonly #refused = new WeakMap<SMTPServerSession, number>();
  #door: Door | null = null;

  constructor(ctx: Context, reports: Reports, limits: Partial<DoorLimits> = {}) {
    this.#ctx = ctx;
    this.#reports = reports;
    this.#limits = { ...INBOUND_LIMITS, ...limits };
    this.#budget = new ByteBudget(this.#limits.bufferedBytes);
  }

  /** Opens the door of the config; null when it has none. Throws `OperatorError`. */
  async start(): Promise<Listen | null> {
    const { config, clock, log } = this.#ctx;
    if (config.smtp.inbound === null) return null;
    const door = new Door({
      hostname: config.hostname,
      clock,
      log,
      tls: tlsPair(config, clock.now()),
      isImplicitTls: false,
      limits: this.#limits,
      visitor: {
        login: null,
        mail: () => Promise.resolve(),
        recipient: async (address, session) => this.#check(address, session),
        data: (stream, session) => this.#data(stream, session),
      },
    });
    const at = await door.start(config.smtp.inbound, 'smtp.inbound');
    this.#door = door;
    return at;
  }

  /** Reads the certificate anew; see `MailDoors`. Throws `OperatorError`, with nothing changed. */
  prepare(config: Config): () => boolean {
    if (this.#door === null) return () => false;
    const pair = tlsPair(config, this.#ctx.clock.now());
    return () => this.#door?.change(pair, this.#limits) ?? false;
  }

  async stop(): Promise<void> {
    const door = this.#door;
    this.#door = null;
    await door?.stop();
  }

  #check(address: string, session: SMTPServerSession): void {
    if (this.#isRole(address) || this.#recipientOf(address) !== null) return;
    const refused = (this.#refused.get(session) ?? 0) + 1;
    this.#refused.set(session, refused);
    if (refused > MAX_REFUSED) throw new SmtpRefusal(421, '4.7.0', 'Too many unknown recipients.');
    throw new SmtpRefusal(550, '5.1.1', 'There is no such address here, and nothing is relayed.');
  }

  #isRole(address: string): boolean {
    const [local = '', domain] = address.toLowerCase().split('@');
    // RFC 5321 section 4.5.1: postmaster also without a domain.
    if (domain === undefined) return local === 'postmaster';
    return domain === this.#ctx.config.hostname && ROLES.has(local);
  }

  /** Return paths stand below the customers' `send.` names, or at our own host name. */
  #recipientOf(address: string): string | null {
    const domain = address.slice(address.lastIndexOf('@') + 1).toLowerCase();
    if (domain !== this.#ctx.config.hostname && !domain.startsWith('send.')) return null;
    return recipientOfReturnPath(this.#ctx, address);
  }

  async #data(stream: SMTPServerDataStream, session: SMTPServerSession): Promise<string> {
    const message = await readMessage(stream, REPORT_BYTES, this.#budget);
    try {
      if (message.totalBytes > this.#limits.messageBytes) {
        throw new SmtpRefusal(552, '5.3.4', 'The message is larger than any report.');
      }
      if (message.isCrowdedOut) {
        throw new SmtpRefusal(
          452,
          '4.3.1',
          'Too much mail is under way at this moment; try again.',
        );
      }
      // Postfix, mox and others read such content differently, which is how mail is smuggled.
      if (message.hasBareLineEnd) {
        throw new SmtpRefusal(
          554,
          '5.6.0',
          'A CR or LF stands alone; lines end in CRLF (RFC 5321).',
        );
      }
      if (countReceived(message.bytes) > MAX_RECEIVED) {
        throw new SmtpRefusal(
          554,
          '5.4.6',
          'Too many Received fields: the message goes in circles.',
        );
      }
      await this.#take(message.bytes, session);
      return '2.0.0 OK';
    } finally {
      message.release();
    }
  }

  async #take(bytes: Buffer, { envelope }: SMTPServerSession): Promise<void> {
    for (const { address } of envelope.rcptTo) {
      const end = await this.#reports.take(bytes, this.#recipientOf(address));
      if (end === 'no_report' && this.#isRole(address)) this.#tell(address, bytes);
    }
  }

  /** There is no mailbox: the operator reads of it in the log. */
  #tell(to: string, bytes: Buffer): void {
    const root = splitMime(bytes);
    this.#ctx.log.warn('mail for the operator', {
      to,
      from: decodeWords(fieldValue(bytes, root, 'from') ?? '').slice(0, 300),
      subject: decodeWords(fieldValue(bytes, root, 'subject') ?? '').slice(0, 300),
      bytes: bytes.length,
    });
  }
}

function countReceived(bytes: Buffer): number {
  const end = bytes.indexOf('\r\n\r\n');
  const header = bytes.toString('latin1', 0, end === -1 ? bytes.length : end);
  return header.match(/^received[ \t]*:/gim)?.length ?? 0;
}
