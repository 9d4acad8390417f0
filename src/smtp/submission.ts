/**
 * Submission (RFC 6409, RFC 8314): software that speaks SMTP sends with an API key as its password.
 *
 * Promises the same decisions and messages as the API, and 250 only after the message is on disk. Accepts no password
 * before TLS. The sender of the envelope is ignored: mail leaves with a return path of ours. Fails to start with
 * `OperatorError` when an address is in use or no certificate can be used.
 */
import { ownNames } from '../base/config.ts';
import type { Config, Listen } from '../base/config.ts';
import { acceptEmails, type AcceptedSink } from '../flow/accept/accept.ts';
import { refuseInactive } from '../flow/accounts/accounts.ts';
import type { Context } from '../flow/context.ts';
import { authenticate } from '../flow/accounts/keys.ts';
import { rateOwner } from '../flow/accounts/plans.ts';
import type { Identity } from '../flow/draft.ts';
import { makeAddress, type Mailbox } from '../mail/header/address.ts';
import type {
  SMTPServerAuthentication,
  SMTPServerDataStream,
  SMTPServerSession,
} from 'smtp-server';
import { tlsPair } from './certificate.ts';
import { Listener } from './listener.ts';
import { FailedLogins, SUBMISSION_LIMITS, type ListenerLimits } from './limits.ts';
import { checkFree, checkSize, readMessage } from './read-message.ts';
import { SmtpRefusal, replyText } from './reply.ts';
import { logSubmission, type Submitted } from './submission-log.ts';
import { contentHash, draftOf, idempotencyKey } from './submission-draft.ts';

/** The send rates, shared with the API so that each account has one rate for both. */
export interface Rates {
  take(name: string, limit: number, windowMs: number): { isAllowed: boolean; retrySeconds: number };
}

export interface SubmissionParts {
  queue: AcceptedSink;
  rates: Rates;
  limits?: Partial<ListenerLimits>;
}

const SECOND_MS = 1_000;

/** What smtp-server keeps as the user of a session. The key is checked again for each message. */
interface User {
  token: string;
  accountId: string;
}

/** The submission listeners of the config, which share limits and failed logins. */
export class SubmissionServer {
  readonly #ctx: Context;
  readonly #parts: SubmissionParts;
  readonly #limits: ListenerLimits;
  readonly #failures: FailedLogins;
  #listeners: Listener[] = [];

  constructor(ctx: Context, parts: SubmissionParts) {
    this.#ctx = ctx;
    this.#parts = parts;
    const { recipients } = ctx.config.live.limits;
    const { connectionsPerAddress } = ctx.config.startup.smtp;
    this.#limits = { ...SUBMISSION_LIMITS, recipients, connectionsPerAddress, ...parts.limits };
    this.#failures = new FailedLogins(ctx.clock);
  }

  /** Listens on every address of the config; returns the actual ones. Throws `OperatorError` with none left open. */
  async start(): Promise<{ submission: Listen[]; submissions: Listen[] }> {
    const { submission, submissions } = this.#ctx.config.startup.smtp;
    const open = async (list: readonly Listen[], isImplicitTls: boolean): Promise<Listen[]> => {
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

  /** Reads the certificate again; see `MailListeners`. Throws `OperatorError`, with nothing changed. */
  prepare(config: Config): () => boolean {
    if (this.#listeners.length === 0) return () => false;
    const pair = tlsPair(config, this.#ctx.clock.now());
    return () => {
      this.#limits.recipients = config.live.limits.recipients;
      return this.#listeners.map((listener) => listener.change(pair, this.#limits)).includes(true);
    };
  }

  /** Refuses new sessions; messages in progress get some seconds to finish. */
  async stop(): Promise<void> {
    await Promise.all(this.#listeners.splice(0).map((listener) => listener.stop()));
  }

  /** Those that are open. */
  get listeners(): readonly Listener[] {
    return this.#listeners;
  }

  async #open(listen: Listen, isImplicitTls: boolean): Promise<Listen> {
    const { config, clock, log } = this.#ctx;
    const listener = new Listener({
      hostname: config.startup.hostname,
      clock,
      log,
      tls: tlsPair(config, clock.now()),
      isImplicitTls,
      isPlain: this.#ctx.emulation !== null,
      limits: this.#limits,
      handlers: {
        login: (auth, session) => this.#login(auth, session),
        mail: (...mail) => this.#mail(...mail),
        recipient: (address, session) => this.#recipient(address, session),
        data: (stream, session) => this.#data(stream, session),
      },
    });
    const at = await listener.start(listen, isImplicitTls ? 'smtp.submissions' : 'smtp.submission');
    this.#listeners.push(listener);
    return at;
  }

  async #login(
    { password }: SMTPServerAuthentication,
    { remoteAddress }: SMTPServerSession,
  ): Promise<User> {
    const token = (password ?? '').trim();
    // A valid key always gets in: one program with a revoked key must not lock out all others behind its address.
    const identity = await authenticate(this.#ctx, token);
    if (identity !== null) return { token, accountId: identity.account.id };
    if (this.#failures.isBlocked(remoteAddress)) {
      throw new SmtpRefusal(
        421,
        '4.7.0',
        'Too many failed logins from your address. Try again later.',
      );
    }
    this.#failures.note(remoteAddress);
    throw new SmtpRefusal(535, '5.7.8', INVALID_KEY);
  }

  /** Checks the key again, since it may have been revoked during the session. */
  async #identity(session: SMTPServerSession): Promise<Identity> {
    const user = session.user as User | undefined;
    const identity =
      user === undefined
        ? ((await this.#ctx.emulation?.identify(null)) ?? null)
        : await authenticate(this.#ctx, user.token);
    if (identity === null) throw new SmtpRefusal(535, '5.7.8', INVALID_KEY);
    return identity;
  }

  async #mail(address: string, session: SMTPServerSession, bytes: number): Promise<void> {
    // smtp-server accepts UTF-8 here without the keyword that RFC 6531 section 3.4 requires.
    checkAscii(address, session);
    const { account } = await this.#identity(session);
    this.#ctx.halt.refuse();
    refuseInactive(account);
    checkFree(this.#ctx.budget, bytes, ownerOf(session));
  }

  async #recipient(address: string, session: SMTPServerSession): Promise<void> {
    const mailbox = recipientOf(address);
    checkAscii(mailbox.local, session);
  }

  async #data(stream: SMTPServerDataStream, session: SMTPServerSession): Promise<string> {
    const share = this.#ctx.budget.open(ownerOf(session));
    try {
      const message = await readMessage(stream, this.#limits.messageBytes, share);
      checkSize(message, this.#limits.messageBytes);
      const identity = await this.#identity(session);
      await share.begin();
      const requestId = this.#ctx.ids.next(this.#ctx.clock.now());
      const submitted: Submitted = { identity, requestId, session, bytes: message.totalBytes };
      return await this.#ctx.doing.during('submitted message', () =>
        logSubmission(this.#ctx, submitted, () =>
          this.#accept(identity, requestId, message.parts, session),
        ),
      );
    } finally {
      share.release();
    }
  }

  async #accept(
    identity: Identity,
    requestId: string,
    parts: readonly Buffer[],
    session: SMTPServerSession,
  ): Promise<{ text: string; messageId: string | null }> {
    const ctx = this.#ctx;
    this.#spendRate(identity);
    const now = ctx.clock.now();
    const id = ctx.ids.next(now);
    const messageId = `<${id}@${ctx.config.startup.cluster.name}>`;
    const submission = await ctx.large.repair(parts, {
      messageId,
      date: new Date(now),
      ownNames: ownNames(ctx.config.startup),
    });
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
    const result = JSON.parse(acceptance.body) as { id: string; status: string };
    const [accepted] = acceptance.messageIds;
    return {
      text: replyText('2.0.0', `OK ${result.status} as ${result.id}`),
      messageId: accepted ?? null,
    };
  }

  #spendRate({ key, account, plan }: Identity): void {
    // The same name as in the API: both count against one rate.
    const name = `send ${rateOwner(key, account)}`;
    if (this.#parts.rates.take(name, plan.ratePerSecond, SECOND_MS).isAllowed) return;
    throw new SmtpRefusal(
      450,
      '4.7.1',
      `This account can make ${plan.ratePerSecond} send requests per second.`,
    );
  }
}

/** Who shares the memory budget: all that one account sends, with any key and over HTTP, too. */
function ownerOf(session: SMTPServerSession): string {
  const user = session.user as User | undefined;
  return user?.accountId ?? '';
}

const INVALID_KEY = 'The API key is invalid or has been revoked.';

function recipientOf(address: string): Mailbox {
  const mailbox = makeAddress(address);
  if ('error' in mailbox) throw new SmtpRefusal(553, '5.1.3', `The address ${mailbox.error}.`);
  return mailbox;
}

function checkAscii(text: string, { envelope }: SMTPServerSession): void {
  if (envelope.smtpUtf8 === true || !/[^\x20-\x7e]/.test(text)) return;
  throw new SmtpRefusal(553, '5.6.7', 'An address with non-ASCII characters requires SMTPUTF8.');
}
