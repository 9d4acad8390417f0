/**
 * The source of a stored message, as an operator reads it: header and body in the form in which it leaves.
 *
 * Without the DKIM-Signature, which is made at delivery; a message taken over SMTP is shown as it was taken. Null once
 * its content is gone, or when it can never be written: its failure says why. A large one is written on the thread for
 * large messages, so that nobody else waits. Rejects like `content.ts`.
 */
import { asBuffer } from '../../base/as-buffer.ts';
import type { Message } from '../../store/rows.ts';
import { composeInputOf } from '../compose-input.ts';
import type { Context } from '../context.ts';
import { withStoredContent } from './content.ts';

/** The whole message in bytes. */
export function sourceOf(
  ctx: Pick<Context, 'store' | 'secrets' | 'config' | 'budget' | 'large'>,
  message: Message,
): Promise<Buffer | null> {
  return withStoredContent(ctx, message.accountId, message.id, async (body) => {
    if (body.raw !== null) return asBuffer(body.raw);
    const isTextWanted =
      ctx.config.live.api.textFromHtml && body.text === null && body.html !== null;
    return ctx.large.compose(composeInputOf(ctx, message, body), isTextWanted);
  });
}
