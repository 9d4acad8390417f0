/**
 * What a stored message is composed of: the same for delivery and for whoever looks at its source.
 *
 * Pure. Not for a message that was taken whole over SMTP.
 */
import type { ComposeInput } from '../mail/compose/compose.ts';
import type { Body, Message } from '../store/rows.ts';
import type { Context } from './context.ts';
import { feedbackIdOf } from './feedback-id.ts';

/** The input of `compose` for a message and its content. */
export function composeInputOf(
  ctx: Pick<Context, 'secrets' | 'config'>,
  message: Message,
  body: Body,
): ComposeInput {
  return {
    from: message.from,
    to: message.to,
    cc: message.cc,
    replyTo: message.replyTo,
    subject: message.subject,
    html: body.html,
    text: body.text,
    headers: body.headers,
    attachments: body.attachments,
    messageId: message.messageId,
    date: new Date(message.createdAt),
    feedbackId: feedbackIdOf(ctx, message),
  };
}
