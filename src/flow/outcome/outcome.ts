/**
 * What follows from an attempt: status, next time, events, suppression. The story of this folder begins here.
 *
 * An outcome (`kinds.ts`) comes in from deliver; `verdict.ts` says what it means (the line that decides a retry);
 * `retry-schedule.ts` gives the next time; `text.ts` says it in one sentence. The end goes back to the queue, which
 * commits state, attempt, events and webhook calls together; `count.ts` counts it.
 *
 * Promises that whatever is not known is deferred, that only a permanent refusal which concerns the address suppresses
 * it, and that a message ends `bounced` when a server ever replied for it and `failed` when none did. Never throws for
 * what a server said. Only reads: whether there was ever a reply, at expiry. A crash before the commit repeats the
 * attempt.
 */
import { wallTime } from '../../base/clock.ts';
import type { MessageStatus } from '../../base/status.ts';
import type { Attempt, Message, NewEvent, Recipient, Suppression } from '../../store/rows.ts';
import type { FinishAttempt } from '../../store/journey.ts';
import { formatReply } from '../../wire/smtp/reply.ts';
import type { Context } from '../context.ts';
import { newEvent } from '../events.ts';
import type { Bounce, EventExtra } from '../events.ts';
import { endOf } from '../recipient-end.ts';
import { isSentStage } from './kinds.ts';
import type { Outcome } from './kinds.ts';
import { isFirstSent, sentEvent } from './sent.ts';
import { describeOutcome } from './text.ts';
import { verdictOf } from './verdict.ts';
import type { Verdict } from './verdict.ts';
import { DELAYED_EVENT_EVERY_MS, nextAttemptAt } from './retry-schedule.ts';

/** Share of a pause by which what waited for its end is spread. */
const THROTTLE_SPREAD = 0.5;

/** An attempt row's `reply` is the server's reply, or our words for the cause: a reply begins with its code. */
const SERVER_REPLY = /^[2-5]\d\d(?: |$)/;

/** One attempt that has ended. */
export interface EndedAttempt {
  message: Message;
  /** In the state after the mark of its beginning: `attempts` counts this one. */
  recipient: Recipient;
  beganAt: number;
  endedAt: number;
  /** Its end in steady time, by which it is decided what is due and when it expires. */
  steadyAt: number;
  outcome: Outcome;
}

/** Makes of an ended attempt what the store commits. `random` in [0, 1) spreads the next time. */
export async function settle(
  ctx: Context,
  ended: EndedAttempt,
  random: number,
): Promise<FinishAttempt> {
  const { message, recipient, outcome, endedAt, steadyAt } = ended;
  const verdict = verdictOf(outcome);
  const reason = describeOutcome(outcome, verdict);
  const next = verdict.kind === 'deferred' ? nextTime(ended, random) : null;
  const end = verdict.kind === 'deferred' && next === null ? await expire(ctx, ended) : verdict;
  const isDelayEvent =
    end.kind === 'deferred' &&
    outcome.kind !== 'unsigned' &&
    (recipient.delayedAt === null || steadyAt - recipient.delayedAt >= DELAYED_EVENT_EVERY_MS);
  const events: NewEvent[] = [];
  const raise = (type: NewEvent['type'], occurredAt: number, extra: EventExtra | null): void => {
    const payload = factsOf(ended, end);
    events.push(newEvent(ctx, { message, recipient, type, occurredAt, payload, extra }));
  };
  if (isSentStage(outcome.stage) && (await isFirstSent(ctx, recipient))) {
    events.push(sentEvent(ctx, message, recipient, ended.beganAt));
  }
  if (end.kind === 'delivered') raise('email.delivered', endedAt, null);
  if (end.kind === 'bounced') raise('email.bounced', endedAt, { bounce: bounceOf(end, reason) });
  if (end.kind === 'failed') raise('email.failed', endedAt, { failed: { reason } });
  if (isDelayEvent && next !== null) {
    const delay = {
      message: reason,
      attempt: recipient.attempts,
      next_attempt_at: new Date(wallTime(ctx.clock, next)).toISOString(),
    };
    raise('email.delivery_delayed', endedAt, { delay });
  }
  return endOf(recipient, endedAt, {
    dueAt: steadyAt,
    status: statusAfter(recipient, end, outcome),
    nextAttemptAt: end.kind === 'deferred' ? next : null,
    lastReason: reason,
    delayedAt: isDelayEvent ? steadyAt : recipient.delayedAt,
    attempt: attemptRow(ctx, ended, end),
    events,
    suppress: end.suppresses ? suppressionOf(ctx, ended, reason) : null,
  });
}

/** By the schedule, but not before the site's pause ends, and then not all at once. */
function nextTime({ recipient, steadyAt, outcome }: EndedAttempt, random: number): number | null {
  const next = nextAttemptAt(recipient.attempts, steadyAt, recipient.expiresAt, random);
  if (next === null || outcome.throttle === null) return next;
  const { untilMs } = outcome.throttle;
  const afterPause =
    untilMs + Math.round(random * THROTTLE_SPREAD * Math.max(0, untilMs - steadyAt));
  return Math.min(Math.max(next, afterPause), recipient.expiresAt);
}

/** At expiry: bounced, Transient, after temporary refusals; failed when no server ever replied. */
async function expire(ctx: Context, ended: EndedAttempt): Promise<Verdict> {
  const earlier = await ctx.store.attempts(ended.message.id);
  const last = earlier.findLast(
    (a) => a.recipientId === ended.recipient.id && SERVER_REPLY.test(a.reply ?? ''),
  );
  const hasAnswer = ended.outcome.reply !== null || last !== undefined;
  const verdict = verdictOf(ended.outcome);
  return {
    ...verdict,
    kind: hasAnswer ? 'bounced' : 'failed',
    bounceType: 'Transient',
    suppresses: false,
  };
}

function statusAfter(recipient: Recipient, end: Verdict, outcome: Outcome): MessageStatus {
  if (end.kind !== 'deferred') return end.kind;
  // A fault of ours is no delay at the receiver; the log tells the operator of it.
  return outcome.kind === 'unsigned' ? recipient.status : 'delivery_delayed';
}

/** The `bounce` object of the event: the server's own words where there are any. */
function bounceOf(end: Verdict, reason: string): Bounce {
  return {
    type: end.bounceType,
    subType: end.subType,
    message: end.reply === null ? reason : formatReply(end.reply),
  };
}

/** Facts for the API's `events[].payload`. */
function factsOf(ended: EndedAttempt, end: Verdict): Record<string, unknown> {
  const { outcome, recipient } = ended;
  return {
    attempt: recipient.attempts,
    stage: outcome.stage,
    reply: outcome.reply === null ? null : formatReply(outcome.reply),
    cause: outcome.cause,
    host: outcome.host,
    address: outcome.address,
    tls: outcome.tls,
    class: end.class,
    ...(end.kind === 'bounced' ? { bounce: { type: end.bounceType, subType: end.subType } } : {}),
    ...(end.hint === null ? {} : { hint: end.hint }),
    ...(outcome.mayBeDuplicate ? { may_be_duplicate: true } : {}),
  };
}

function attemptRow(ctx: Context, ended: EndedAttempt, end: Verdict): Attempt {
  const { outcome, recipient } = ended;
  return {
    id: ctx.ids.next(ctx.clock.now()),
    messageId: ended.message.id,
    recipientId: recipient.id,
    number: recipient.attempts,
    beganAt: ended.beganAt,
    endedAt: ended.endedAt,
    outcome: end.kind === 'bounced' ? 'failed' : end.kind,
    class: end.class,
    stage: outcome.stage,
    host: outcome.host,
    address: outcome.address,
    tls: outcome.tls === null ? null : JSON.stringify(outcome.tls),
    reply: outcome.reply === null ? outcome.cause : formatReply(outcome.reply),
    mayBeDuplicate: outcome.mayBeDuplicate,
  };
}

function suppressionOf(ctx: Context, ended: EndedAttempt, reason: string): Suppression {
  return {
    id: ctx.ids.next(ctx.clock.now()),
    accountId: ended.message.accountId,
    email: ended.recipient.address.toLowerCase(),
    reason: 'hard_bounce',
    source: ended.message.id,
    note: reason.slice(0, 500),
    createdAt: ended.endedAt,
  };
}
