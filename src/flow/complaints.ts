/**
 * Spam complaints (ARF, RFC 5965): the recipient is suppressed and the sender is told.
 *
 * Promises that a complaint names its recipient by something only that mail carries: a return path with
 * our HMAC, or the Message-ID or Feedback-ID of a message with a single recipient. With several, whoever
 * got one copy could complain in another's name: such a report is logged and suppresses nobody.
 */
import { isId } from '../base/ids.ts';
import type { ArfReport } from '../mail/arf.ts';
import type { Message, Recipient } from '../store/rows.ts';
import type { FinishAttempt } from '../store/store.ts';
import { unchanged } from './bounces.ts';
import type { Context } from './context.ts';
import { newEvent } from './events.ts';
import { messageOfFeedbackId } from './feedback-id.ts';
import { recipientOfAny } from './return-paths.ts';
import { newSuppression } from './suppressions.ts';

/** The id of the recipient who complained, or null. `envelope`: what the report's own return path named. */
export async function complainant(
  ctx: Pick<Context, 'store' | 'secrets' | 'config'>,
  report: ArfReport,
  envelope: string | null,
): Promise<string | null> {
  const named = envelope ?? recipientOfAny(ctx, [report.returnPath, ...report.returnPaths]);
  if (named !== null) return named;
  const messageId =
    ownMessageId(report.messageId, ctx.config.hostname) ??
    messageOfFeedbackId(ctx, report.feedbackId);
  if (messageId === null) return null;
  const recipients = await ctx.store.recipients(messageId);
  const mailed = recipients.filter(({ status }) => status !== 'suppressed');
  return mailed.length === 1 ? (mailed[0]?.id ?? null) : null;
}

/** What a complaint changes; null when it was made before. */
export function settleComplaint(
  ctx: Pick<Context, 'clock' | 'store'>,
  message: Message,
  recipient: Recipient,
  report: ArfReport,
): FinishAttempt | null {
  if (recipient.status === 'complained') return null;
  const complaint = { feedback_type: report.feedbackType };
  const event = newEvent(ctx, {
    message,
    recipient,
    type: 'email.complained',
    occurredAt: ctx.clock.now(),
    payload: { via: 'report', ...complaint, user_agent: report.userAgent },
    extra: { complaint },
  });
  return {
    ...unchanged(ctx, recipient),
    status: 'complained',
    lastReason: `The recipient marked it as spam (${report.feedbackType}).`,
    events: [event],
    suppress: newSuppression(ctx, {
      accountId: recipient.accountId,
      email: recipient.address,
      reason: 'complaint',
      source: message.id,
    }),
  };
}

/** The email's id inside a Message-ID that acceptance made: `<id@hostname>`. */
function ownMessageId(messageId: string | null, hostname: string): string | null {
  const [id = '', host] = (messageId ?? '').replace(/^<|>$/g, '').split('@');
  return host?.toLowerCase() === hostname && isId(id.toLowerCase()) ? id.toLowerCase() : null;
}
