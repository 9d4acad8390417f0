/**
 * One attempt for one recipient: signs (once a message), finds a host that answers, talks, reports.
 *
 * Promises an outcome for every attempt and never throws; that nothing leaves without its signature; that
 * a message is handed to the next host only while no host can have taken it. Tries at most
 * `MAX_ADDRESSES` addresses in one attempt, in the order of preference.
 */
import { encodeReturnPath } from '../mail/return-path.ts';
import type { Recipient } from '../store/rows.ts';
import type { Deadlines } from '../wire/smtp-deadlines.ts';
import type { SessionOptions, SmtpSession } from '../wire/smtp-client.ts';
import type { Envelope, SendResult } from '../wire/smtp-transaction.ts';
import type { Context } from './context.ts';
import type { SignedMessage, SignedMessages } from './deliver-message.ts';
import type { Site, SiteHost, SiteResult } from './deliver-site.ts';
import { outcomeWithoutSession } from './outcome-kinds.ts';
import type { Outcome, TlsFacts } from './outcome-kinds.ts';
import type { Failure, Sessions } from './sessions.ts';
import type { Lane } from './shaping.ts';

/** Postfix's smtp_mx_address_limit: more hosts than this never helped anybody. */
const MAX_ADDRESSES = 5;

/** What every attempt of this process shares. */
export interface DeliverTools {
  ctx: Context;
  messages: SignedMessages;
  sessions: Sessions;
  deadlines: Deadlines;
  signal: AbortSignal;
}

export interface Job {
  recipient: Recipient;
  signed: SignedMessage;
  site: Site;
}

interface Place {
  host: SiteHost;
  address: string;
}

/**
 * Delivers to one recipient within its lane. `place.kind === 'none'` gives that outcome, but only once
 * the message is known to be signable. `mayBegin` is asked when the message is signed and the turn has
 * come; when it says no, nothing was tried and the outcome is null.
 */
export async function deliver(
  tools: DeliverTools,
  recipient: Recipient,
  found: SiteResult,
  lane: Lane,
  mayBegin: () => boolean,
): Promise<{ outcome: Outcome | null; signed: SignedMessage | null }> {
  let signed: SignedMessage;
  try {
    signed = await tools.messages.acquire(recipient.messageId);
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    tools.ctx.log.error('message_not_signed', {
      message_id: recipient.messageId,
      cause,
      hint: 'The message waits. See that the key file of the data directory is the right one.',
    });
    tools.messages.release(recipient.messageId);
    return { outcome: outcomeWithoutSession('unsigned', 'sign', cause), signed: null };
  }
  await lane.enter();
  try {
    if (!mayBegin()) return { outcome: null, signed };
    const outcome =
      found.kind === 'none'
        ? found.outcome
        : await tryHosts(tools, { recipient, signed, site: found.site });
    return { outcome, signed };
  } finally {
    lane.leave();
    tools.messages.release(recipient.messageId);
  }
}

async function tryHosts(tools: DeliverTools, job: Job): Promise<Outcome> {
  let last = outcomeWithoutSession('unreached', 'dns', 'the host list is empty');
  for (const place of placesOf(tools, job.site)) {
    const result = await tryAddress(tools, job, place);
    if (!result.mayTryNext) return result.outcome;
    last = result.outcome;
  }
  return last;
}

/** Addresses in the order to be tried; among hosts of the best preference, one with an idle session first. */
function placesOf(tools: DeliverTools, site: Site): Place[] {
  const places = site.hosts.flatMap((host) =>
    host.addresses.map((address): Place => ({ host, address })),
  );
  const best = site.hosts[0]?.preference;
  const idle = places.findIndex(
    (place) =>
      place.host.preference === best && tools.sessions.hasIdle(optionsFor(tools, site, place)),
  );
  const first = idle > 0 ? places.splice(idle, 1) : [];
  return [...first, ...places].slice(0, MAX_ADDRESSES);
}

async function tryAddress(
  tools: DeliverTools,
  job: Job,
  place: Place,
): Promise<{ outcome: Outcome; mayTryNext: boolean }> {
  const options = optionsFor(tools, job.site, place);
  for (let mayReuse = true; ; mayReuse = false) {
    let acquired = await tools.sessions.acquire(options, mayReuse);
    if (acquired.kind === 'failed' && acquired.tlsFailed && options.tls.mode === 'opportunistic') {
      // RFC 3207 leaves the session unusable: a new connection, this time without TLS.
      const plain: SessionOptions = { ...options, tls: { ...options.tls, mode: 'none' } };
      acquired = await tools.sessions.acquire(plain);
    }
    if (acquired.kind === 'failed') {
      return { outcome: unreached(place, acquired), mayTryNext: !acquired.isLocal };
    }
    const { session, isReused } = acquired;
    const result = await send(session, envelopeOf(tools, job));
    tools.sessions.release(session);
    // A kept session may have been closed by the other side meanwhile: that says nothing of the message.
    const wasStale = isReused && result.kind === 'broken' && !result.mayBeDuplicate;
    if (!wasStale) return { outcome: ended(job, place, session, result), mayTryNext: false };
  }
}

/** A message or address that must not be put on a wire makes `send` throw: nothing was said then. */
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

function envelopeOf(tools: DeliverTools, { recipient, signed, site }: Job): Envelope {
  const mac = (text: string): Buffer => tools.ctx.secrets.mac('return-path', text);
  // RFC 6531 section 3.2: only these need the extension at the receiver.
  const needsSmtpUtf8 = signed.needsSmtpUtf8 || hasNonAscii(recipient.address);
  return {
    from: `${encodeReturnPath(recipient.id, mac)}@send.${signed.domain}`,
    to: recipient.address,
    message: signed.bytes,
    needsSmtpUtf8,
    dsn: site.isRelay,
  };
}

function optionsFor(tools: DeliverTools, site: Site, place: Place): SessionOptions {
  return {
    address: place.address,
    port: site.port,
    localAddress: null,
    heloName: tools.ctx.config.hostname,
    serverName: place.host.name,
    tls: { mode: site.tls, verify: site.tls === 'required' || site.tls === 'implicit' },
    auth: site.auth,
    deadlines: tools.deadlines,
    signal: tools.signal,
  };
}

function unreached(place: Place, failure: Failure): Outcome {
  return {
    // A greeting of 5xx says that this host takes no mail from us now (RFC 5321 section 3.1), not that
    // the recipient is wrong: it is kept, and another host or a later time may do.
    kind: 'unreached',
    stage: failure.stage,
    host: place.host.name,
    address: place.address,
    tls: null,
    reply: failure.reply,
    cause: failure.cause,
    mayBeDuplicate: false,
  };
}

function ended(
  job: Job,
  place: Place,
  session: SmtpSession,
  result: Awaited<ReturnType<typeof send>>,
): Outcome {
  const where = {
    host: place.host.name,
    address: place.address,
    tls: tlsFacts(job.site, session),
    mayBeDuplicate: false,
    cause: null,
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

function tlsFacts(site: Site, session: SmtpSession): TlsFacts | null {
  if (session.tls === null) return null;
  const { version, cipher, isVerified } = session.tls;
  const policy = site.tls === 'implicit' ? 'required' : site.tls;
  return { version, cipher, verified: isVerified, policy };
}

function hasNonAscii(text: string): boolean {
  // oxlint-disable-next-line no-control-regex
  return /[^\u0000-\u007f]/.test(text);
}
