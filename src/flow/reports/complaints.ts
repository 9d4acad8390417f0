/**
 * Spam complaints (ARF, RFC 5965): the recipient is suppressed and the sender is told.
 *
 * Promises that a complaint counts only with an HMAC of ours: a return path, which names one recipient, or the
 * Feedback-ID of a message with a single recipient. With several, any one of them could complain in the name of
 * another. A Message-ID proves nothing, since lists, replies and archives show it (docs/decisions.md D141). What
 * proves nothing is logged, suppresses no one and makes no event, so that the brake never sees it.
 */
import type { ArfReport } from '../../mail/reports/arf.ts';
import type { Message, Recipient } from '../../store/rows.ts';
import type { FinishAttempt } from '../../store/journey.ts';
import type { Context } from '../context.ts';
import { newEvent } from '../events.ts';
import { endOf } from '../recipient-end.ts';
import { messageOfFeedbackId } from '../feedback-id.ts';
import { recipientOfAny } from '../return-paths.ts';
import { newSuppression } from '../suppressions/suppressions.ts';

/** The id of the recipient who complained, or null. `envelope`: what the report's own return path named. */
export async function complainant(
  ctx: Pick<Context, 'store' | 'secrets' | 'config'>,
  report: ArfReport,
  envelope: string | null,
): Promise<string | null> {
  const named = envelope ?? recipientOfAny(ctx, [report.returnPath, ...report.returnPaths]);
  if (named !== null) return named;
  const messageId = messageOfFeedbackId(ctx, report.feedbackId);
  if (messageId === null) return null;
  const recipients = await ctx.store.recipients(messageId);
  const mailed = recipients.filter(({ status }) => status !== 'suppressed');
  return mailed.length === 1 ? (mailed[0]?.id ?? null) : null;
}

/** What a complaint changes; null when it was made before. */
export function settleComplaint(
  ctx: Pick<Context, 'clock' | 'ids' | 'store' | 'subscribers'>,
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
  return endOf(recipient, ctx.clock.now(), {
    dueAt: ctx.clock.steady(),
    status: 'complained',
    lastReason: `The recipient marked it as spam (${report.feedbackType}).`,
    events: [event],
    suppress: newSuppression(ctx, {
      accountId: recipient.accountId,
      email: recipient.address,
      reason: 'complaint',
      source: message.id,
    }),
  });
}
