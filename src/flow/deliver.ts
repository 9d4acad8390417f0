/**
 * One attempt for one recipient: waits for its turn, signs (once a message), talks, learns, reports.
 *
 * Promises an outcome for every attempt and never throws; that nothing leaves without its signature; that
 * a place which rests is neither dialled nor signed for; and that what a place asked for (less, or not
 * from this address) reaches its lane and the smarthost's stand-in before the next attempt.
 */
import { UncomposableError } from '../mail/signed-message.ts';
import type { Recipient } from '../store/rows.ts';
import { restOfSite, tryHosts } from './deliver-hosts.ts';
import type { HostTools, Job } from './deliver-hosts.ts';
import type { SignedMessage, SignedMessages } from './deliver-message.ts';
import type { Site, SiteResult, Sites } from './deliver-site.ts';
import { outcomeWithoutSession } from './outcome-kinds.ts';
import type { Outcome } from './outcome-kinds.ts';
import { describeOutcome } from './outcome-text.ts';
import { asksForLess, judge } from './outcome-verdict.ts';
import type { Room } from './room.ts';
import type { Lane } from './shaping.ts';
import type { Fallback } from './smarthost.ts';

/** Temporary refusals for reputation in a row that count as a refusal. */
const PAUSES_FOR_REFUSED = 3;

/** What every attempt of this process shares. */
export interface DeliverTools extends HostTools {
  messages: SignedMessages;
  room: Room;
  sites: Sites;
  fallback: Fallback;
}

export interface Delivery {
  /** Null: nothing was tried, because `mayBegin` said no. */
  outcome: Outcome | null;
  signed: SignedMessage | null;
}

/**
 * Delivers to one recipient within its lane. `mayBegin` is asked when the message is signed and the turn
 * has come.
 */
export async function deliver(
  tools: DeliverTools,
  recipient: Recipient,
  found: SiteResult,
  lane: Lane,
  mayBegin: () => boolean,
): Promise<Delivery> {
  if (found.kind === 'none') {
    return { outcome: mayBegin() ? found.outcome : null, signed: null };
  }
  const { site } = found;
  const held = heldBy(lane) ?? restOfSite(tools, site);
  if (held !== null) return { outcome: mayBegin() ? held : null, signed: null };
  let signed: SignedMessage;
  try {
    signed = await tools.messages.acquire(recipient.messageId);
  } catch (error) {
    tools.messages.release(recipient.messageId);
    return { outcome: unsigned(tools, recipient, error), signed: null };
  }
  await lane.enter();
  try {
    if (!mayBegin()) return { outcome: null, signed };
    // The place may have begun to rest while this one waited for its turn.
    const outcome =
      heldBy(lane) ??
      restOfSite(tools, site) ??
      (await talk(tools, { recipient, signed, site, hurriedMs: patience(tools, lane) }, lane));
    return { outcome, signed };
  } finally {
    lane.leave();
    tools.messages.release(recipient.messageId);
  }
}

/** In a crowd of places that say nothing, less for one that has not answered either. */
function patience({ room }: DeliverTools, lane: Lane): number | null {
  return room.isCrowded && !lane.hasAnswered ? room.limits.hurriedMs : null;
}

async function talk(tools: DeliverTools, job: Job, lane: Lane): Promise<Outcome> {
  const outcome = await tryHosts(tools, job);
  learn(tools, job.site, lane, outcome);
  if (!job.site.isDirect || !tools.fallback.isRelayed(job.site.key)) return outcome;
  const wasTaken = outcome.kind === 'accepted' || outcome.mayBeDuplicate;
  const isAboutUs = outcome.stage === 'connect' || asksForLess(outcome, judge(outcome)) !== null;
  if (wasTaken || !isAboutUs) return outcome;
  const standIn = await tools.sites.standIn();
  return standIn?.kind === 'site'
    ? tryHosts(tools, { ...job, site: standIn.site, hurriedMs: null })
    : outcome;
}

/** What the outcome says of the place, beside what it says of the recipient. */
function learn(tools: DeliverTools, site: Site, lane: Lane, outcome: Outcome): void {
  const { fallback } = tools;
  const verdict = judge(outcome);
  const asked = asksForLess(outcome, verdict);
  if (site.isDirect) {
    if (outcome.stage === 'connect') fallback.noteSilent(site.key);
    else fallback.noteReached();
    if (outcome.kind === 'accepted') fallback.noteTaken(site.key);
  }
  if (asked !== null) {
    const cause = describeOutcome(outcome, { hint: null });
    const hold = lane.slowDown({ cause, class: asked, hint: verdict.hint });
    const isFinal = (outcome.reply?.code ?? 0) >= 500 || lane.pausesInRow >= PAUSES_FOR_REFUSED;
    if (asked === 'reputation' && site.isDirect && isFinal) {
      fallback.noteRefused(site.key, lane.name, cause);
    }
    tools.ctx.log.warn('place_slowed', {
      place: lane.name,
      until: new Date(hold.untilMs).toISOString(),
      cause,
      hint: verdict.hint,
    });
  } else if (outcome.kind === 'unreached') {
    lane.noteUnreached();
  } else {
    lane.noteAnswer();
  }
}

/** The outcome for what comes due while its lane rests; null when it does not. */
function heldBy(lane: Lane): Outcome | null {
  const hold = lane.holdNow();
  if (hold === null) return null;
  const until = new Date(hold.untilMs).toISOString();
  const cause = `${lane.name} is given less until ${until}, because ${hold.cause}`;
  return { ...outcomeWithoutSession('held', 'held', cause), hold };
}

function unsigned(tools: DeliverTools, recipient: Recipient, error: unknown): Outcome {
  const cause = error instanceof Error ? error.message : String(error);
  if (error instanceof UncomposableError) {
    tools.ctx.log.warn('message_not_composed', { message_id: recipient.messageId, cause });
    return outcomeWithoutSession(
      'uncomposable',
      'compose',
      `the message can not be written: ${cause}`,
    );
  }
  tools.ctx.log.error('message_not_signed', {
    message_id: recipient.messageId,
    cause,
    hint: 'The message waits. See that the key file of the data directory is the right one.',
  });
  return outcomeWithoutSession('unsigned', 'sign', cause);
}
