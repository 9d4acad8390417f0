/**
 * What the operator does with waiting recipients: give up, and read in one sentence why a recipient waits.
 *
 * Works with a running queue and without one. Never gives up a recipient that is in an attempt, here or on another node:
 * its mail may be arriving. Fails as the store fails.
 */
import { wallTime, wallTimeOrNull } from '../../base/clock.ts';
import type { Clock } from '../../base/clock.ts';
import { isFinal } from '../../base/status.ts';
import type { Recipient } from '../../store/rows.ts';
import type { CallRef } from '../../store/webhooks.ts';
import type { Context } from '../context.ts';
import { newEvent } from '../events.ts';
import { logEnd } from '../journey-log.ts';
import { endOf } from '../recipient-end.ts';

const GIVEN_UP = 'given up by the operator';

/** The queue of this process, as this looks at it. */
export interface OwnQueue {
  /** Whose attempts are its own. */
  owner: string;
  /** Whether the recipient is in an attempt, which is left alone. */
  isInAttempt: (recipientId: string) => boolean;
}

/**
 * Ends waiting recipients as `failed`, by recipient or message id. Returns one list of webhook calls for
 * each that was ended. `queue`: null where none runs here.
 */
export async function failByOperator(
  ctx: Context,
  id: string,
  queue: OwnQueue | null,
): Promise<CallRef[][]> {
  const one = await ctx.store.recipientById(id);
  const recipients = one === null ? await ctx.store.recipients(id) : [one];
  const ended: CallRef[][] = [];
  for (const recipient of recipients) {
    if (isFinal(recipient.status) || recipient.nextAttemptAt === null) continue;
    if (queue?.isInAttempt(recipient.id) === true) continue;
    const calls = await giveUp(ctx, recipient, queue?.owner ?? null);
    if (calls !== null) ended.push(calls);
  }
  return ended;
}

/** Null: nothing was ended. */
async function giveUp(
  ctx: Context,
  recipient: Recipient,
  owner: string | null,
): Promise<CallRef[] | null> {
  const message = await ctx.store.messageById(recipient.messageId);
  if (message === null) return null;
  const now = ctx.clock.now();
  const reason =
    recipient.lastReason === null ? GIVEN_UP : `${GIVEN_UP}; before that: ${recipient.lastReason}`;
  const event = newEvent(ctx, {
    message,
    recipient,
    type: 'email.failed',
    occurredAt: now,
    payload: { attempt: recipient.attempts, cause: GIVEN_UP },
    extra: { failed: { reason } },
  });
  const end = endOf(recipient, now, {
    dueAt: ctx.clock.steady(),
    status: 'failed',
    lastReason: reason,
    events: [event],
  });
  // On a store of its own a lease is of this process, or of a dead one.
  const isShared = ctx.revision.number !== null;
  const spares = isShared ? { spares: { owner, now: ctx.clock.steady() } } : {};
  const { calls, isOvertaken } = await ctx.store.finish({ ...end, ...spares });
  if (isOvertaken) return null;
  ctx.followers.tell(end.events);
  logEnd(ctx, message, end);
  return calls;
}

/** The recipient with its times by the wall clock, for people. */
export function inWallTime(clock: Clock, recipient: Recipient): Recipient {
  const { nextAttemptAt, expiresAt, delayedAt } = recipient;
  return {
    ...recipient,
    nextAttemptAt: wallTimeOrNull(clock, nextAttemptAt),
    expiresAt: wallTime(clock, expiresAt),
    delayedAt: wallTimeOrNull(clock, delayedAt),
  };
}

/** Why this recipient waits, until when, and when it is tried next, in one sentence. Its times: by the wall clock. */
export function explain(recipient: Recipient, now: number): string {
  if (recipient.nextAttemptAt === null) {
    return `${recipient.address} is ${recipient.status}${because(recipient)}.`;
  }
  const until = `until ${new Date(recipient.expiresAt).toISOString()}`;
  const next =
    recipient.nextAttemptAt <= now
      ? 'is due now'
      : `is tried again at ${new Date(recipient.nextAttemptAt).toISOString()}`;
  if (recipient.attempts === 0)
    return `${recipient.address} waits for its first attempt, ${until}.`;
  const times = recipient.attempts === 1 ? 'one attempt' : `${recipient.attempts} attempts`;
  return `${recipient.address} ${next} and ${until}, after ${times}${because(recipient)}.`;
}

function because(recipient: Recipient): string {
  return recipient.lastReason === null ? '' : `: ${recipient.lastReason.replace(/\.$/, '')}`;
}
