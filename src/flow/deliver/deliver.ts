/**
 * One attempt for one recipient. The story of this folder begins here.
 *
 * The queue hands over a claimed recipient with its site (`site.ts`: routes, MX, source address, TLS policy) and lane.
 * The message is composed and signed once for all its recipients (`signed-messages.ts`); then the attempt waits for a
 * session of the lane, tries the site's addresses in order (`hosts.ts`, `host-address.ts`) over kept or new sessions
 * (`session-pool.ts`), tells the lane and the fallback what the answer means for the site, and returns the outcome.
 *
 * Promises an outcome for every attempt and never throws; that nothing leaves without its signature; that a throttled
 * site is neither dialled nor signed for; and that a site's request (slow down, or not from this address) reaches its
 * lane and the fallback before the next attempt. Writes nothing: the claim was marked in the store before, so a crash at
 * any line repeats at most this attempt, with the same Message-ID.
 */
import { wallTime } from '../../base/clock.ts';
import { UncomposableError } from '../../mail/dkim/signed-message.ts';
import type { Message, Recipient } from '../../store/rows.ts';
import { backoffOfSite, tryHosts } from './hosts.ts';
import type { HostTools, Job, Over } from './hosts.ts';
import type { SignedMessage, SignedMessages } from './signed-messages.ts';
import type { Site, SiteResult, Sites } from './site.ts';
import { outcomeWithoutSession } from '../outcome/kinds.ts';
import type { Outcome } from '../outcome/kinds.ts';
import { describeOutcome } from '../outcome/text.ts';
import { throttleRequest, verdictOf } from '../outcome/verdict.ts';
import type { Context } from '../context.ts';
import type { Concurrency } from '../pacing/concurrency.ts';
import type { Lane, Throttle } from '../pacing/lane.ts';
import type { Fallback } from '../pacing/fallback.ts';

/** Temporary refusals for reputation in a row that count as a refusal. */
const PAUSES_FOR_REFUSED = 3;

/** What every attempt of this process shares. */
export interface DeliverTools extends HostTools {
  messages: SignedMessages;
  concurrency: Concurrency;
  sites: Sites;
  fallback: Fallback;
}

export interface Delivery {
  /** Null: nothing was tried, because `mayBegin` returned false. */
  outcome: Outcome | null;
  signed: SignedMessage | null;
}

/** What an attempt asks, and tells, on its way. */
export interface Steps {
  /** Whether it may go on: asked when the message is signed and a session is free. */
  mayBegin: () => boolean;
  /** The message is signed, or waits until others have left memory. May be called twice. */
  made: () => void;
  /** The signed message is on its way: its hosts are dialled now. */
  begun: (message: Message) => void;
  /**
   * Takes what gives back that the attempt had for its conversation, a session and a slot of its lane, so that they serve
   * another one; null: they are given back at once.
   */
  over: Over | null;
}

/** Delivers to one recipient within its lane. */
export async function deliver(
  tools: DeliverTools,
  recipient: Recipient,
  found: SiteResult,
  lane: Lane,
  { mayBegin, made, begun, over }: Steps,
): Promise<Delivery> {
  if (found.kind === 'none') {
    return { outcome: mayBegin() ? found.outcome : null, signed: null };
  }
  const { site } = found;
  const throttled = throttledBy(tools, lane) ?? backoffOfSite(tools, site);
  if (throttled !== null) return { outcome: mayBegin() ? throttled : null, signed: null };
  let signed: SignedMessage;
  try {
    signed = await tools.messages.acquire(recipient.messageId, made);
    made();
  } catch (error) {
    tools.messages.release(recipient.messageId);
    return { outcome: unsigned(tools, recipient, error), signed: null };
  }
  await lane.enter();
  try {
    if (!mayBegin()) return { outcome: null, signed };
    // The lane may have been throttled while this attempt waited for its session.
    const again = throttledBy(tools, lane) ?? backoffOfSite(tools, site);
    if (again !== null) return { outcome: again, signed };
    begun(signed.message);
    const job = { recipient, signed, site, maxWaitMs: maxWaitMs(tools, lane), over };
    return { outcome: await talk(tools, job, lane), signed };
  } finally {
    if (over === null) lane.leave();
    else over(() => lane.leave());
    tools.messages.release(recipient.messageId);
  }
}

/** While very many unproven sites are being tried, a site that has not answered either is waited for less. */
function maxWaitMs({ concurrency }: DeliverTools, lane: Lane): number | null {
  return concurrency.isCrowded && !lane.hasAnswered ? concurrency.limits.crowdWaitMs : null;
}

async function talk(tools: DeliverTools, job: Job, lane: Lane): Promise<Outcome> {
  const outcome = await tryHosts(tools, job);
  learn(tools, job.site, lane, outcome);
  if (!job.site.isDirect || !tools.fallback.isRelayed(job.site.key)) return outcome;
  const wasTaken = outcome.kind === 'accepted' || outcome.mayBeDuplicate;
  const isAboutUs =
    outcome.stage === 'connect' || throttleRequest(outcome, verdictOf(outcome)) !== null;
  if (wasTaken || !isAboutUs) return outcome;
  const smarthost = await tools.sites.smarthost();
  return smarthost?.kind === 'site'
    ? tryHosts(tools, { ...job, site: smarthost.site, maxWaitMs: null })
    : outcome;
}

/** Notes what the outcome says about the site, besides what it says about the recipient. */
function learn(tools: DeliverTools, site: Site, lane: Lane, outcome: Outcome): void {
  const { fallback } = tools;
  const verdict = verdictOf(outcome);
  const asked = throttleRequest(outcome, verdict);
  if (site.isDirect) {
    if (outcome.stage === 'connect') fallback.noteSilent(site.key);
    else fallback.noteReached();
    if (outcome.kind === 'accepted') fallback.noteTaken(site.key);
  }
  if (asked !== null) {
    const cause = describeOutcome(outcome, { hint: null });
    const throttle = lane.slowDown({ cause, class: asked, hint: verdict.hint });
    const isFinal = (outcome.reply?.code ?? 0) >= 500 || lane.pausesInRow >= PAUSES_FOR_REFUSED;
    if (asked === 'reputation' && site.isDirect && isFinal) {
      fallback.noteRefused(site.key, lane.name, cause);
    }
    tools.ctx.log.warn('site_throttled', {
      site: lane.name,
      until: untilText(tools.ctx, throttle),
      cause,
      hint: verdict.hint,
    });
  } else if (outcome.kind === 'unreached') {
    lane.noteUnreached();
  } else {
    lane.noteAnswer();
  }
}

/** The outcome for what comes due while its lane is throttled; null when it is not. */
function throttledBy({ ctx }: DeliverTools, lane: Lane): Outcome | null {
  const throttle = lane.throttleNow();
  if (throttle === null) return null;
  const cause = `Slowed down until ${untilText(ctx, throttle)}: ${throttle.cause}`;
  return { ...outcomeWithoutSession('throttled', 'throttled', cause), throttle };
}

function untilText({ clock }: Pick<Context, 'clock'>, { untilMs }: Throttle): string {
  return new Date(wallTime(clock, untilMs)).toISOString();
}

function unsigned(tools: DeliverTools, recipient: Recipient, error: unknown): Outcome {
  const cause = error instanceof Error ? error.message : String(error);
  if (error instanceof UncomposableError) {
    tools.ctx.log.warn('message_not_composed', { message_id: recipient.messageId, cause });
    return outcomeWithoutSession(
      'uncomposable',
      'compose',
      `the message cannot be written: ${cause}`,
    );
  }
  tools.ctx.log.error('message_not_signed', {
    message_id: recipient.messageId,
    cause,
    hint: 'The message stays queued. Check that the key file in the data directory belongs to this database.',
  });
  return outcomeWithoutSession('unsigned', 'sign', cause);
}
