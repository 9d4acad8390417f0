/**
 * Inbound SMTP (port 25): receives bounce reports and spam complaints.
 *
 * Promises to accept mail for two kinds of addresses only, our own return paths with a valid HMAC and abuse@ or
 * postmaster@ our host name, and to refuse every other recipient at RCPT. Never relays, never sends a bounce, and
 * replies 250 only after what a report changes is on disk. Mail to a person is logged and discarded.
 */
import type { SMTPServerDataStream, SMTPServerSession } from 'smtp-server';
import { ownNames } from '../base/config.ts';
import type { Config, Listen } from '../base/config.ts';
import type { Context } from '../flow/context.ts';
import type { Reports } from '../flow/reports/reports.ts';
import { recipientOfReturnPath } from '../flow/return-paths.ts';
import { InboundMessage } from '../mail/reports/inbound-message.ts';
import { tlsPair } from './certificate.ts';
import { Listener } from './listener.ts';
import { INBOUND_LIMITS, REPORT_BYTES, type ListenerLimits } from './limits.ts';
import { checkFree, checkSize, readMessage } from './read-message.ts';
import { SmtpRefusal } from './reply.ts';

/** Hops after which a message is in a loop. RFC 5321 section 6.3 asks relays for 100 or more; we never relay. */
const MAX_RECEIVED = 30;
/** Refused recipients after which a session ends: a client that guesses return paths gets no further tries. */
const MAX_REFUSED = 20;
/** All of port 25 is one owner of the memory budget: anyone can write here. */
const OWNER = 'inbound';
/** RFC 2142 sections 2 and 4: the mailboxes every mail host has. */
const ROLES: ReadonlySet<string> = new Set(['postmaster', 'abuse']);

/** The inbound listener of the config. */
export class InboundServer {
  readonly #ctx: Context;
  readonly #reports: Reports;
  readonly #limits: ListenerLimits;
  /** Weak, because smtp-server owns the sessions and does not say when one is gone. */
  readonly #refused = new WeakMap<SMTPServerSession, number>();
  #listener: Listener | null = null;

  constructor(ctx: Context, reports: Reports, limits: Partial<ListenerLimits> = {}) {
    this.#ctx = ctx;
    this.#reports = reports;
    const { connectionsPerAddress } = ctx.config.startup.smtp;
    this.#limits = { ...INBOUND_LIMITS, connectionsPerAddress, ...limits };
  }

  /** Listens where the config says; returns the address, null when inbound mail is off. Throws `OperatorError`. */
  async start(): Promise<Listen | null> {
    const { config, clock, log } = this.#ctx;
    if (config.startup.smtp.inbound === null) return null;
    const listener = new Listener({
      hostname: config.startup.hostname,
      clock,
      log,
      tls: tlsPair(config, clock.now()),
      isImplicitTls: false,
      limits: this.#limits,
      handlers: {
        login: null,
        mail: async (_address, _session, bytes) =>
          checkFree(this.#ctx.budget, Math.min(bytes, REPORT_BYTES), OWNER),
        recipient: async (address, session) => this.#check(address, session),
        data: (stream, session) => this.#data(stream, session),
      },
    });
    const at = await listener.start(config.startup.smtp.inbound, 'smtp.inbound');
    this.#listener = listener;
    return at;
  }

  /** The one that is open, if any. */
  get listeners(): readonly Listener[] {
    return this.#listener === null ? [] : [this.#listener];
  }

  /** Reads the certificate again; see `MailListeners`. Throws `OperatorError`, with nothing changed. */
  prepare(config: Config): () => boolean {
    if (this.#listener === null) return () => false;
    const pair = tlsPair(config, this.#ctx.clock.now());
    return () => this.#listener?.change(pair, this.#limits) ?? false;
  }

  async stop(): Promise<void> {
    const listener = this.#listener;
    this.#listener = null;
    await listener?.stop();
  }

  #check(address: string, session: SMTPServerSession): void {
    if (this.#isRole(address) || this.#recipientOf(address) !== null) return;
    const refused = (this.#refused.get(session) ?? 0) + 1;
    this.#refused.set(session, refused);
    if (refused > MAX_REFUSED) throw new SmtpRefusal(421, '4.7.0', 'Too many unknown recipients.');
    throw new SmtpRefusal(550, '5.1.1', 'No such address here. This server does not relay mail.');
  }

  #isRole(address: string): boolean {
    const [local = '', domain] = address.toLowerCase().split('@');
    // RFC 5321 section 4.5.1: postmaster also without a domain.
    if (domain === undefined) return local === 'postmaster';
    return ROLES.has(local) && ownNames(this.#ctx.config.startup).includes(domain);
  }

  /** Return paths are addresses at the customers' `send.` names or at our own names. */
  #recipientOf(address: string): string | null {
    const domain = address.slice(address.lastIndexOf('@') + 1).toLowerCase();
    if (!domain.startsWith('send.') && !ownNames(this.#ctx.config.startup).includes(domain)) {
      return null;
    }
    return recipientOfReturnPath(this.#ctx, address);
  }

  async #data(stream: SMTPServerDataStream, session: SMTPServerSession): Promise<string> {
    const share = this.#ctx.budget.open(OWNER);
    try {
      const message = await readMessage(stream, REPORT_BYTES, share);
      checkSize(message, this.#limits.messageBytes);
      // Servers disagree on where such content ends, which is how SMTP smuggling works.
      if (message.hasBareLineEnd) {
        throw new SmtpRefusal(
          554,
          '5.6.0',
          'The message contains a bare CR or LF. Lines must end in CRLF (RFC 5321).',
        );
      }
      await share.begin();
      const bytes = Buffer.concat(message.parts);
      if (countReceived(bytes) > MAX_RECEIVED) {
        throw new SmtpRefusal(
          554,
          '5.4.6',
          'Too many Received header fields: the message is in a mail loop.',
        );
      }
      await this.#ctx.doing.during('inbound message', () => this.#take(bytes, session));
      return '2.0.0 OK';
    } finally {
      share.release();
    }
  }

  async #take(bytes: Buffer, { envelope, remoteAddress: peer }: SMTPServerSession): Promise<void> {
    const message = new InboundMessage(bytes);
    const addresses = envelope.rcptTo.map(({ address }) => address);
    const recipientIds = addresses.map((address) => this.#recipientOf(address));
    const ends = await this.#reports.take(message, recipientIds, peer);
    for (const [index, address] of addresses.entries()) {
      if (ends[index] === 'no_report' && this.#isRole(address)) this.#tell(address, message, peer);
    }
  }

  /** There is no mailbox: the operator reads about it in the log. */
  #tell(to: string, message: InboundMessage, peer: string): void {
    this.#ctx.log.warn('operator_mail_received', {
      peer,
      to,
      from: message.words('from').slice(0, 300),
      subject: message.words('subject').slice(0, 300),
      bytes: message.bytes.length,
    });
  }
}

function countReceived(bytes: Buffer): number {
  const end = bytes.indexOf('\r\n\r\n');
  const header = bytes.toString('latin1', 0, end === -1 ? bytes.length : end);
  return header.match(/^received[ \t]*:/gim)?.length ?? 0;
}
