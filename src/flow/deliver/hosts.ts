/**
 * Brings one signed message to the first host of a site that answers for it.
 *
 * Promises that a message is handed to the next host only while no host can have taken it; that only opportunistic TLS
 * falls back to plaintext, on a new connection; and that at most `MAX_ADDRESSES` addresses are tried. Never throws.
 */
import { encodeReturnPath } from '../../mail/reports/return-path.ts';
import type { Signed } from '../../mail/dkim/signed-message.ts';
import type { Recipient } from '../../store/rows.ts';
import { OutgoingMessage } from '../../wire/smtp/body.ts';
import type { SmtpSession } from '../../wire/smtp/client.ts';
import type { Envelope, SendResult } from '../../wire/smtp/transaction.ts';
import type { Context } from '../context.ts';
import { isCurrent } from '../node-session.ts';
import { outcomeWithoutSession } from '../outcome/kinds.ts';
import type { Outcome, TlsFacts } from '../outcome/kinds.ts';
import type { Dial, HostAddress, SiteHost } from './host-address.ts';
import type { Acquired, Failure, Sessions } from './session-pool.ts';
import type { SignedMessage } from './signed-messages.ts';
import type { Site } from './site.ts';
import type { BrokenTls } from './tls-policy.ts';

/** Postfix's smtp_mx_address_limit: trying more hosts than this has never helped. */
const MAX_ADDRESSES = 5;

export interface HostTools {
  ctx: Context;
  sessions: Sessions;
  brokenTls: BrokenTls;
}

/** Takes what gives back a thing that a conversation had, and does it later. */
export type Over = (giveBack: () => void) => void;

export interface Job {
  recipient: Recipient;
  signed: SignedMessage;
  site: Site;
  /** Longest wait for the connection, and again for the greeting, in milliseconds; null: the usual deadlines. */
  maxWaitMs: number | null;
  /** Takes what gives the session back that the message went over; null: it is given back at once. */
  over: Over | null;
}

/** Tries the addresses of `job.site` in their order until one answers for the message. */
export async function tryHosts(tools: HostTools, job: Job): Promise<Outcome> {
  let last = outcomeWithoutSession('unreached', 'connect', 'the host list is empty');
  for (const address of orderedAddresses(tools, job.site)) {
    const result = await tryAddress(tools, job, address);
    last = result.outcome;
    if (!result.mayTryNext || !isCurrent(tools.ctx)) break;
  }
  return last;
}

/**
 * The outcome, without dialling, when no address of the site could be reached lately and none is to be dialled yet.
 * Null when there is one to try.
 */
export function backoffOfSite(tools: HostTools, site: Site): Outcome | null {
  if (!tools.sessions.hasBackoffs) return null;
  let untilMs = Infinity;
  let outcome: Outcome | null = null;
  for (const address of orderedAddresses(tools, site)) {
    const backoff = tools.sessions.backoffOf(address.dial);
    if (backoff === null) return null;
    untilMs = Math.min(untilMs, backoff.untilMs);
    outcome = unreached(address, backoff.failure);
  }
  if (outcome === null) return null;
  return {
    ...outcome,
    kind: 'throttled',
    stage: 'throttled',
    cause: `${outcome.cause ?? 'not reached'} (not dialled again so soon)`,
    throttle: { untilMs, class: 'network', hint: null },
  };
}

/** Addresses in the order to be tried; among hosts of the best preference, one with an idle session first. */
function orderedAddresses(tools: HostTools, { addresses: all }: Site): readonly HostAddress[] {
  const best = all[0]?.host.preference;
  const idle = all.findIndex(
    (address) =>
      address.host.preference === best && tools.sessions.hasIdle(currentDial(tools, address)),
  );
  if (idle <= 0) return all.length > MAX_ADDRESSES ? all.slice(0, MAX_ADDRESSES) : all;
  return [...all.slice(idle, idle + 1), ...all.toSpliced(idle, 1)].slice(0, MAX_ADDRESSES);
}

/** Without TLS where the host's TLS was found broken lately. */
function currentDial(tools: HostTools, { host, dial, plain }: HostAddress): Dial {
  return plain !== null && tools.brokenTls.has(host.name) ? plain : dial;
}

async function tryAddress(
  tools: HostTools,
  job: Job,
  address: HostAddress,
): Promise<{ outcome: Outcome; mayTryNext: boolean }> {
  for (let mayReuse = true; ; mayReuse = false) {
    const acquired = await connect(tools, address, mayReuse, job.maxWaitMs);
    if (acquired.kind === 'failed') {
      return { outcome: unreached(address, acquired), mayTryNext: !acquired.isLocal };
    }
    const { session, isReused } = acquired;
    const result = await sendAsOffered(tools, job, session);
    const { messagesPerConnection } = job.site.limits;
    // The other side may have closed a kept session in the meantime: that says nothing about the message.
    const wasStale = isReused && result.kind === 'broken' && !result.mayBeDuplicate;
    const isOver = !wasStale || !isCurrent(tools.ctx);
    if (isOver && job.over !== null) {
      job.over(() => tools.sessions.release(session, messagesPerConnection));
    } else {
      tools.sessions.release(session, messagesPerConnection);
    }
    if (isOver) return { outcome: ended(job, address, session, result), mayTryNext: false };
  }
}

async function connect(
  tools: HostTools,
  address: HostAddress,
  mayReuse: boolean,
  maxWaitMs: number | null,
): Promise<Acquired> {
  const dial = currentDial(tools, address);
  const acquired = await tools.sessions.acquire(withMaxWait(dial, maxWaitMs), mayReuse);
  if (acquired.kind === 'ready' || !acquired.tlsFailed || address.plain === null) return acquired;
  // RFC 3207 leaves the session unusable: a new connection, this time without TLS.
  tools.brokenTls.note(address.host.name);
  return tools.sessions.acquire(withMaxWait(address.plain, maxWaitMs));
}

function withMaxWait(dial: Dial, maxWaitMs: number | null): Dial {
  if (maxWaitMs === null) return dial;
  const { connect, banner } = dial.options.deadlines;
  const deadlines = {
    ...dial.options.deadlines,
    connect: Math.min(connect, maxWaitMs),
    banner: Math.min(banner, maxWaitMs),
  };
  return { ...dial, options: { ...dial.options, deadlines } };
}

/**
 * Where SMTPUTF8 is missing and only the header needs it (RFC 6531 section 3.2), or 8BITMIME (RFC 6152 section 3): the
 * same message in ASCII.
 */
async function sendAsOffered(
  tools: HostTools,
  job: Job,
  session: SmtpSession,
): Promise<Awaited<ReturnType<typeof send>>> {
  const { signed, recipient } = job;
  const result = await send(session, envelopeOf(tools, job));
  if (result.kind !== 'unsupported') return result;
  if (signed.inAscii === null || hasNonAscii(recipient.address)) return result;
  let inAscii: Signed | null;
  try {
    inAscii = await signed.inAscii();
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    return { kind: 'broken', stage: 'mail', cause, reply: null, mayBeDuplicate: false };
  }
  if (inAscii === null) return result;
  const { message, data, dotted } = inAscii;
  const outgoing = await OutgoingMessage.prepare(message, data, dotted);
  const envelope = envelopeOf(tools, {
    ...job,
    signed: { ...signed, outgoing, needsSmtpUtf8: false },
  });
  return send(session, envelope);
}

/** A message or address that must not be sent makes `send` throw: the receiver was told nothing then. */
async function send(
  session: SmtpSession,
  envelope: Envelope,
): Promise<SendResult | { kind: 'unspeakable'; cause: string }> {
  try {
    return await session.send(envelope);
  } catch (error) {
    return { kind: 'unspeakable', cause: error instanceof Error ? error.message : String(error) };
  }
}

function envelopeOf(tools: HostTools, { recipient, signed, site }: Job): Envelope {
  const mac = (text: string): Buffer => tools.ctx.secrets.mac('return-path', text);
  return {
    from: `${encodeReturnPath(recipient.id, mac)}@send.${signed.domain}`,
    to: recipient.address,
    message: signed.outgoing,
    // RFC 6531 section 3.2: only these need the extension at the receiver.
    needsSmtpUtf8: signed.needsSmtpUtf8 || hasNonAscii(recipient.address),
    dsn: site.isRelay,
    mayHandOver: tools.ctx.node === null ? undefined : () => isCurrent(tools.ctx),
  };
}

function unreached({ host, target }: HostAddress, failure: Failure): Outcome {
  return {
    // A greeting of 5xx says that this host takes no mail from us now (RFC 5321 section 3.1), not that the recipient
    // is wrong: the recipient is kept, and another host or a later attempt may succeed.
    kind: 'unreached',
    stage: failure.stage,
    host: host.name,
    address: target.address,
    tls: null,
    reply: failure.reply,
    cause: failure.cause,
    mayBeDuplicate: false,
    throttle: null,
  };
}

function ended(
  job: Job,
  { host, target }: HostAddress,
  session: SmtpSession,
  result: Awaited<ReturnType<typeof send>>,
): Outcome {
  const where = {
    host: host.name,
    address: target.address,
    tls: tlsFacts(host, session),
    mayBeDuplicate: false,
    cause: null,
    throttle: null,
  };
  switch (result.kind) {
    case 'accepted': {
      const kind = job.site.isRelay ? 'relayed' : 'accepted';
      return { ...where, kind, stage: 'dot', reply: result.reply };
    }
    case 'refused':
      return { ...where, kind: 'refused', stage: result.stage, reply: result.reply };
    case 'broken':
      return {
        ...where,
        kind: 'unreached',
        stage: result.stage,
        reply: result.reply,
        cause: result.cause,
        mayBeDuplicate: result.mayBeDuplicate,
      };
    case 'unspeakable':
      return { ...where, kind: 'impossible', stage: 'mail', reply: null, cause: result.cause };
    case 'unsupported': {
      const cause = `the server does not offer ${result.extension}, which this address or message needs`;
      return { ...where, kind: 'impossible', stage: 'ehlo', reply: null, cause };
    }
  }
}

function tlsFacts(host: SiteHost, session: SmtpSession): TlsFacts | null {
  if (session.tls === null) return null;
  const { version, cipher, isVerified } = session.tls;
  return { version, cipher, verified: isVerified, policy: host.tls.name };
}

function hasNonAscii(text: string): boolean {
  // oxlint-disable-next-line no-control-regex
  return /[^\u0000-\u007f]/.test(text);
}
