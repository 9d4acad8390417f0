/**
 * Brings one signed message to the first host of a site that answers for it.
 *
 * Promises that a message is handed to the next host only while no host can have taken it; that only
 * opportunistic TLS gives way to plaintext, on a new connection; and that at most `MAX_ADDRESSES`
 * addresses are tried. Never throws.
 */
import { encodeReturnPath } from '../mail/return-path.ts';
import type { Signed } from '../mail/signed-message.ts';
import type { Recipient } from '../store/rows.ts';
import type { Deadlines } from '../wire/smtp-deadlines.ts';
import type { SessionOptions, SmtpSession } from '../wire/smtp-client.ts';
import type { Envelope, SendResult } from '../wire/smtp-transaction.ts';
import type { Context } from './context.ts';
import type { SignedMessage } from './deliver-message.ts';
import type { Site, SiteHost, Target } from './deliver-site.ts';
import { outcomeWithoutSession } from './outcome-kinds.ts';
import type { Outcome, TlsFacts } from './outcome-kinds.ts';
import type { Acquired, Failure, Sessions } from './sessions.ts';
import type { BrokenTls } from './tls-policy.ts';

/** Postfix's smtp_mx_address_limit: more hosts than this never helped anybody. */
const MAX_ADDRESSES = 5;

export interface HostTools {
  ctx: Context;
  sessions: Sessions;
  brokenTls: BrokenTls;
  deadlines: Deadlines;
  /** PEM certificates trusted beside the system's. */
  extraCa: string[] | undefined;
  signal: AbortSignal;
}

export interface Job {
  recipient: Recipient;
  signed: SignedMessage;
  site: Site;
  /** Longest wait for the connection, and again for the greeting; null: as long as ever. */
  hurriedMs: number | null;
}

interface Place {
  host: SiteHost;
  target: Target;
  /** How a session to it is opened. */
  options: SessionOptions;
  /** The same without TLS, for a host whose opportunistic TLS is broken; null where that may not be. */
  plain: SessionOptions | null;
}

/** The places of a site, made once: the same options each time, by which open sessions are found again. */
const places = new WeakMap<Site, Place[]>();

/** Tries the hosts of `job.site` in their order until one answers for the message. */
export async function tryHosts(tools: HostTools, job: Job): Promise<Outcome> {
  let last = outcomeWithoutSession('unreached', 'connect', 'the host list is empty');
  for (const place of placesOf(tools, job.site)) {
    const result = await tryAddress(tools, job, place);
    if (!result.mayTryNext) return result.outcome;
    last = result.outcome;
  }
  return last;
}

/**
 * When every address of the site rests because it could not be reached lately: the outcome, without
 * dialling. Null when there is one to try.
 */
export function restOfSite(tools: HostTools, site: Site): Outcome | null {
  if (!tools.sessions.hasRests) return null;
  let untilMs = Infinity;
  let outcome: Outcome | null = null;
  for (const place of placesOf(tools, site)) {
    const rest = tools.sessions.restOf(place.options);
    if (rest === null) return null;
    untilMs = Math.min(untilMs, rest.untilMs);
    outcome = unreached(place, rest.failure);
  }
  if (outcome === null) return null;
  return {
    ...outcome,
    kind: 'held',
    stage: 'held',
    cause: `${outcome.cause ?? 'not reached'} (not dialled again so soon)`,
    hold: { untilMs, class: 'network', hint: null },
  };
}

/** Addresses in the order to be tried; among hosts of the best preference, one with an idle session first. */
function placesOf(tools: HostTools, site: Site): Place[] {
  let all = places.get(site);
  if (all === undefined) {
    all = makePlaces(tools, site);
    places.set(site, all);
  }
  const best = site.hosts[0]?.preference;
  const idle = all.findIndex(
    (place) =>
      place.host.preference === best && tools.sessions.hasIdle(currentOptions(tools, place)),
  );
  if (idle <= 0) return all.length > MAX_ADDRESSES ? all.slice(0, MAX_ADDRESSES) : all;
  return [...all.slice(idle, idle + 1), ...all.toSpliced(idle, 1)].slice(0, MAX_ADDRESSES);
}

function makePlaces(tools: HostTools, site: Site): Place[] {
  return site.hosts.flatMap((host) =>
    host.targets.map((target): Place => {
      const options = optionsFor(tools, site, host, target);
      // A password never follows into the clear.
      const mayGoPlain = host.tls.mode === 'opportunistic' && site.auth === null;
      const plain: SessionOptions = { ...options, tls: { ...options.tls, mode: 'none' } };
      return { host, target, options, plain: mayGoPlain ? plain : null };
    }),
  );
}

/** Without TLS where the host's was found broken lately. */
function currentOptions(tools: HostTools, { host, options, plain }: Place): SessionOptions {
  return plain !== null && tools.brokenTls.has(host.name) ? plain : options;
}

async function tryAddress(
  tools: HostTools,
  job: Job,
  place: Place,
): Promise<{ outcome: Outcome; mayTryNext: boolean }> {
  for (let mayReuse = true; ; mayReuse = false) {
    const acquired = await connect(tools, place, mayReuse, job.hurriedMs);
    if (acquired.kind === 'failed') {
      return { outcome: unreached(place, acquired), mayTryNext: !acquired.isLocal };
    }
    const { session, isReused } = acquired;
    const result = await sendAsOffered(tools, job, session);
    tools.sessions.release(session, job.site.limits.messagesPerConnection);
    // A kept session may have been closed by the other side meanwhile: that says nothing of the message.
    const wasStale = isReused && result.kind === 'broken' && !result.mayBeDuplicate;
    if (!wasStale) return { outcome: ended(job, place, session, result), mayTryNext: false };
  }
}

async function connect(
  tools: HostTools,
  place: Place,
  mayReuse: boolean,
  hurriedMs: number | null,
): Promise<Acquired> {
  const options = currentOptions(tools, place);
  const acquired = await tools.sessions.acquire(hurried(options, hurriedMs), mayReuse);
  if (acquired.kind === 'ready' || !acquired.tlsFailed || place.plain === null) return acquired;
  // RFC 3207 leaves the session unusable: a new connection, this time without TLS.
  tools.brokenTls.note(place.host.name);
  return tools.sessions.acquire(place.plain);
}

function hurried(options: SessionOptions, hurriedMs: number | null): SessionOptions {
  if (hurriedMs === null) return options;
  const { connect, banner } = options.deadlines;
  const deadlines = {
    ...options.deadlines,
    connect: Math.min(connect, hurriedMs),
    banner: Math.min(banner, hurriedMs),
  };
  return { ...options, deadlines };
}

function optionsFor(tools: HostTools, site: Site, host: SiteHost, target: Target): SessionOptions {
  const { mode, verify, checkPeer } = host.tls;
  return {
    address: target.address,
    port: site.port,
    localAddress: target.from,
    heloName: tools.ctx.config.hostname,
    serverName: host.name,
    tls: {
      mode,
      verify,
      ...(tools.extraCa === undefined ? {} : { ca: tools.extraCa }),
      ...(checkPeer === null ? {} : { checkPeer }),
    },
    auth: site.auth,
    deadlines: tools.deadlines,
    signal: tools.signal,
  };
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
  const { message: bytes, data } = inAscii;
  const envelope = envelopeOf(tools, {
    ...job,
    signed: { ...signed, bytes, data, needsSmtpUtf8: false },
  });
  return send(session, envelope);
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

function envelopeOf(tools: HostTools, { recipient, signed, site }: Job): Envelope {
  const mac = (text: string): Buffer => tools.ctx.secrets.mac('return-path', text);
  return {
    from: `${encodeReturnPath(recipient.id, mac)}@send.${signed.domain}`,
    to: recipient.address,
    message: signed.bytes,
    data: signed.data,
    // RFC 6531 section 3.2: only these need the extension at the receiver.
    needsSmtpUtf8: signed.needsSmtpUtf8 || hasNonAscii(recipient.address),
    dsn: site.isRelay,
  };
}

function unreached({ host, target }: Place, failure: Failure): Outcome {
  return {
    // A greeting of 5xx says that this host takes no mail from us now (RFC 5321 section 3.1), not that
    // the recipient is wrong: it is kept, and another host or a later time may do.
    kind: 'unreached',
    stage: failure.stage,
    host: host.name,
    address: target.address,
    tls: null,
    reply: failure.reply,
    cause: failure.cause,
    mayBeDuplicate: false,
    hold: null,
  };
}

function ended(
  job: Job,
  { host, target }: Place,
  session: SmtpSession,
  result: Awaited<ReturnType<typeof send>>,
): Outcome {
  const where = {
    host: host.name,
    address: target.address,
    tls: tlsFacts(host, session),
    mayBeDuplicate: false,
    cause: null,
    hold: null,
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
