/**
 * When `email.sent` is due, and what it says: the message is signed and its first attempt has begun
 * (docs/decisions.md D28).
 *
 * Promises one such event for a recipient, however often it is attempted: its row or an earlier attempt says that it was
 * raised. An attempt that was put off without dialling does not count. Fails as the store fails.
 */
import type { Message, NewEvent, Recipient } from '../../store/rows.ts';
import type { Context } from '../context.ts';
import { newEvent } from '../events.ts';
import { isSentStage } from './kinds.ts';

/** Whether `email.sent` was not raised yet: no earlier attempt had got as far as a signature. */
export async function isFirstSent(
  ctx: Pick<Context, 'store'>,
  recipient: Recipient,
): Promise<boolean> {
  // Written while an attempt was under way; after its outcome the attempts below say it.
  if (recipient.status === 'sent') return false;
  if (recipient.attempts === 1) return true;
  const earlier = await ctx.store.attempts(recipient.messageId);
  return !earlier.some((a) => a.recipientId === recipient.id && isSentStage(a.stage));
}

/** The event of an attempt that began at `beganAt` (epoch milliseconds). */
export function sentEvent(
  ctx: Context,
  message: Message,
  recipient: Recipient,
  beganAt: number,
): NewEvent {
  const payload = { attempt: recipient.attempts };
  return newEvent(ctx, {
    message,
    recipient,
    type: 'email.sent',
    occurredAt: beganAt,
    payload,
    extra: null,
  });
}
