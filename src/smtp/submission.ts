/**
 * Submission (RFC 6409, RFC 8314): software that speaks SMTP sends with an API key as its password.
 *
 * Promises the acceptance of the API, refusal for refusal and with its words, and 250 only when the
 * message is on disk. Takes no credential before TLS. The envelope's sender is not used: mail leaves with
 * a return path of ours. Fails to start with `OperatorError` when an address is taken or no certificate fits.
 */
import { newId } from '../base/ids.ts';
import type { Config, Listen } from '../base/config.ts';
import { acceptEmails, type AcceptedSink } from '../flow/accept.ts';
import { refuseInactive } from '../flow/accounts.ts';
import type { Context } from '../flow/context.ts';
import { refuseWhileHalted } from '../flow/halt.ts';
import { authenticate, type Identity } from '../flow/keys.ts';
import { makeAddress, type Mailbox } from '../mail/address.ts';
import { repairSubmission } from '../mail/repair.ts';
import type {
  SMTPServerAuthentication,
  SMTPServerDataStream,
  SMTPServerSession,
} from 'smtp-server';
import { tlsPair } from './certificate.ts';
import { Door } from './door.ts';
import { ByteBudget, FailedLogins, SUBMISSION_LIMITS, type DoorLimits } from './limits.ts';
import { readMessage } from './read-message.ts';
import { SmtpRefusal, replyText } from './reply.ts';
import { logSubmission, type Submitted } from './submission-log.ts';
import { contentHash, draftOf, idempotencyKey } from './submission-draft.ts';

/** The send rate's windows, shared with the API so that one account has one rate. */
export interface Rates {
  take(name: string, limit: number, windowMs: number): { isAllowed: boolean; retrySeconds: number };
}

export interface SubmissionParts {
  queue: AcceptedSink;
  rates: Rates;
  limits?: Partial<DoorLimits>;
}

const SECOND_MS = 1_000;

/** What smtp-server keeps as the user of a session. The key is asked again for each message. */
interface User {
  token: string;
}

export class SubmissionServer {
  readonly #ctx: Context;
  readonly #parts: SubmissionParts;
  readonly #limits: DoorLimits;
  readonly #failures: FailedLogins;
  readonly #budget: ByteBudget;
  #doors: Door[] = [];

  constructor(ctx: Context, parts: SubmissionParts) {
    this.#ctx = ctx;
    this.#parts = parts;
    const { recipients } = ctx.config.limits;
    this.#limits = { ...SUBMISSION_LIMITS, recipients, ...parts.limits };
    this.#failures = new FailedLogins(ctx.clock);
    this.#budget = new ByteBudget(this.#limits.bufferedBytes);
  }

  /** Opens every door of the config; returns where they are. Throws `OperatorError`, then none is open. */
  async start(): Promise<{ submission: Listen[]; submissions: Listen[] }> {
    const { submission, submissions } = this.#ctx.config.smtp;
    const open = async (list: Listen[], isImplicitTls: boolean): Promise<Listen[]> => {
      const at: Listen[] = [];
      for (const listen of list) at.push(await this.#open(listen, isImplicitTls));
      return at;
    };
    try {
      return {
        submission: await open(submission, false),
        submissions: await open(submissions, true),
      };
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Reads the certificate anew; see `MailDoors`. Throws `OperatorError`, with nothing changed. */
  prepare(config: Config): () => boolean {
    if (this.#doors.length === 0) return () => false;
    const pair = tlsPair(config, this.#ctx.clock.now());
    return () => {
      this.#limits.recipients = config.limits.recipients;
      return this.#doors.map((door) => door.change(pair, this.#limits)).includes(true);
    };
  }

  /** Refuses new sessions; messages under way are finished, for some seconds. */
  async stop(): Promise<void> {
    await Promise.all(this.#doors.splice(0).map((door) => door.stop()));
  }

  async #open(listen: Listen, isImplicitTls: boolean): Promise<Listen> {
    const { config, clock, log } = this.#ctx;
    const door = new Door({
      hostname: config.hostname,
      clock,
      log,
      tls: tlsPair(config, clock.now()),
      isImplicitTls,
      limits: this.#limits,
      visitor: {
        login: (auth, session) => this.#login(auth, session),
        mail: (address, session) => this.#mail(address, session),
        recipient: (address, session) => this.#recipient(address, session),
        data: (stream, session) => this.#data(stream, session),
      },
    });
    const at = await door.start(listen, isImplicitTls ? 'smtp.submissions' : 'smtp.submission');
    this.#doors.push(door);
    return at;
  }

  async #login(
    { password }: SMTPServerAuthentication,
    { remoteAddress }: SMTPServerSession,
  ): Promise<User> {
    if (this.#failures.isBlocked(remoteAddress)) {
      throw new SmtpRefusal(
        421,
        '4.7.0',
        'Too many failed logins from your address; wait a while.',
      );
    }
    const token = (password ?? '').trim();
    if ((await authenticate(this.#ctx, token)) === null) {
      this.#failures.note(remoteAddress);
      throw new SmtpRefusal(535, '5.7.8', INVALID_KEY);
    }
    return { token };
  }

  /** Looks again, since a session may outlive its key; and refuses early what would be refused at the end. */
  async #identity(session: SMTPServerSession): Promise<Identity> {
    const user = session.user as User | undefined;
    const identity = user === undefined ? null : await authenticate(this.#ctx, user.token);
    if (identity === null) throw new SmtpRefusal(535, '5.7.8', INVALID_KEY);
    return identity;
  }

  async #mail(address: string, session: SMTPServerSession): Promise<void> {
    // smtp-server takes UTF-8 here without the keyword that RFC 6531 section 3.4 asks for.
    checkAscii(address, session);
    const { account } = await this.#identity(session);
    refuseWhileHalted(this.#ctx);
    refuseInactive(account);
  }

  async #recipient(address: string, session: SMTPServerSession): Promise<void> {
    const mailbox = recipientOf(address);
    checkAscii(mailbox.local, session);
  }

  async #data(stream: SMTPServerDataStream, session: SMTPServerSession): Promise<string> {
    const message = await readMessage(stream, this.#limits.messageBytes, this.#budget);
    try {
      if (message.totalBytes > this.#limits.messageBytes) {
        const text = `The message has ${message.totalBytes} bytes; ${this.#limits.messageBytes} are allowed.`;
        throw new SmtpRefusal(552, '5.3.4', text);
      }
      if (message.isCrowdedOut) {
        throw new SmtpRefusal(
          452,
          '4.3.1',
          'Too much mail is under way at this moment; try again.',
        );
      }
      const identity = await this.#identity(session);
      const requestId = newId(this.#ctx.clock.now());
      const submitted: Submitted = { identity, requestId, session, bytes: message.totalBytes };
      return await logSubmission(this.#ctx, submitted, () =>
        this.#accept(identity, requestId, message.bytes, session),
      );
    } finally {
      message.release();
    }
  }

  async #accept(
    identity: Identity,
    requestId: string,
    bytes: Buffer,
    session: SMTPServerSession,
  ): Promise<{ text: string; messageId: string | null }> {
    const ctx = this.#ctx;
    this.#spendRate(identity);
    const now = ctx.clock.now();
    const id = newId(now);
    const messageId = `<${id}@${ctx.config.hostname}>`;
    const submission = repairSubmission(bytes, { messageId, date: new Date(now) });
    if ('error' in submission)
      throw new SmtpRefusal(554, '5.6.0', `The message ${submission.error}.`);
    const envelope = session.envelope.rcptTo.map(({ address }) => recipientOf(address));
    const key = idempotencyKey(submission);
    const bodyHash = key === null ? '' : contentHash(submission, envelope);
    const acceptance = await acceptEmails(
      ctx,
      this.#parts.queue,
      { ...identity, requestId },
      [draftOf(id, submission, envelope)],
      {
        isPermissive: false,
        idempotency: key === null ? null : { key, route: 'SMTP', bodyHash },
        respond: ([result]) => ({
          status: 200,
          body: result?.kind === 'accepted' ? { id: result.id, status: result.status } : {},
        }),
      },
    );
    const answer = JSON.parse(acceptance.body) as { id: string; status: string };
    const [accepted] = acceptance.messageIds;
    return {
      text: replyText('2.0.0', `OK ${answer.status} as ${answer.id}`),
      messageId: accepted ?? null,
    };
  }

  #spendRate({ account, plan }: Identity): void {
    // The name is the API's: both doors spend the same rate.
    const name = `send ${account.id}`;
    if (this.#parts.rates.take(name, plan.ratePerSecond, SECOND_MS).isAllowed) return;
    throw new SmtpRefusal(
      450,
      '4.7.1',
      `This account may send ${plan.ratePerSecond} requests a second.`,
    );
  }
}

const INVALID_KEY = 'The API key is invalid or has been revoked.';

function recipientOf(address: string): Mailbox {
  const mailbox = makeAddress(address);
  if ('error' in mailbox) throw new SmtpRefusal(553, '5.1.3', `The address ${mailbox.error}.`);
  return mailbox;
}

function checkAscii(text: string, { envelope }: SMTPServerSession): void {
  if (envelope.smtpUtf8 === true || !/[^\x20-\x7e]/.test(text)) return;
  throw new SmtpRefusal(553, '5.6.7', 'An address with non-ASCII letters needs SMTPUTF8.');
}
