/**
 * Recipients that were suppressed while their mail waited: they are not mailed, as at acceptance.
 *
 * Promises that a retry does not mail an address that has bounced, complained or unsubscribed in the meantime. Asks the
 * store only about mail that has waited: for the rest acceptance has just asked. Never adds a suppression itself. Fails
 * as the store fails.
 */
import { idTime } from '../../base/ids.ts';
import type { Recipient } from '../../store/rows.ts';
import type { FinishAttempt } from '../../store/journey.ts';
import type { Context } from '../context.ts';
import { newEvent } from '../events.ts';
import { logEnd } from '../journey-log.ts';
import { endOf } from '../recipient-end.ts';

/** What was accepted this long ago or less was checked just now, in milliseconds. */
const FRESH_MS = 60_000;

/** The end of a recipient that must not be mailed any more; null when it may be. */
export async function endOfSuppressed(
  ctx: Pick<Context, 'clock' | 'ids' | 'store' | 'subscribers' | 'log'>,
  recipient: Recipient,
): Promise<FinishAttempt | null> {
  const now = ctx.clock.now();
  // `attempts` counts the one that is about to begin.
  if (recipient.attempts <= 1 && Math.abs(now - idTime(recipient.id)) <= FRESH_MS) return null;
  const address = recipient.address.toLowerCase();
  const found = await ctx.store.suppressed(recipient.accountId, [address]);
  const suppression = found.get(address);
  const message = suppression && (await ctx.store.messageById(recipient.messageId));
  if (!suppression || !message) return null;
  const { reason } = suppression;
  const event = newEvent(ctx, {
    message,
    recipient,
    type: 'email.suppressed',
    occurredAt: now,
    payload: { reason },
    extra: null,
  });
  const end = endOf(recipient, now, {
    dueAt: ctx.clock.steady(),
    status: 'suppressed',
    lastReason: `The recipient is suppressed (${reason}).`,
    events: [event],
  });
  // The queue writes it however long that takes.
  logEnd(ctx, message, end);
  return end;
}
