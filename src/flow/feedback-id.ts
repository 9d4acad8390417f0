/**
 * The Feedback-ID of a message: what a feedback loop reports when a recipient marks it as spam.
 *
 * Four fields, as Gmail reads them (https://support.google.com/a/answer/6254652): message, account, domain,
 * sender. The first carries our HMAC, so that only a
 * recipient of the message can complain about it. A sender's own Feedback-ID in a submitted message stays as it is.
 */
import { decodeReturnPath, encodeReturnPath } from '../mail/reports/return-path.ts';
import type { Message } from '../store/rows.ts';
import type { Context } from './context.ts';

type FeedbackContext = Pick<Context, 'secrets' | 'config'>;

/** The header's value. */
export function feedbackIdOf(ctx: FeedbackContext, message: Message): string {
  const first = encodeReturnPath(message.id, macOf(ctx));
  return `${first}:${message.accountId}:${message.domainId ?? ''}:${ctx.config.startup.cluster.name}`;
}

/** The id of the message that a Feedback-ID of ours names; null for any other text. */
export function messageOfFeedbackId(
  ctx: FeedbackContext,
  feedbackId: string | null,
): string | null {
  const [first = ''] = (feedbackId ?? '').trim().split(':');
  return decodeReturnPath(first, macOf(ctx));
}

function macOf(ctx: FeedbackContext): (text: string) => Buffer {
  return (text) => ctx.secrets.mac('feedback-id', text);
}
