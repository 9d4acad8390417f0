/**
 * The source of a stored message, as an operator reads it: header and body in the form in which it leaves.
 *
 * Without the DKIM-Signature, which is made at delivery; a message taken over SMTP is shown as it was taken. Null once
 * its content is gone, or when it can never be written: its failure says why.
 */
import { compose } from '../../mail/compose/compose.ts';
import { textFromHtml } from '../../mail/compose/text-from-html.ts';
import type { Message } from '../../store/rows.ts';
import { composeInputOf } from '../compose-input.ts';
import type { Context } from '../context.ts';

/** The whole message in bytes. */
export async function sourceOf(
  ctx: Pick<Context, 'store' | 'secrets' | 'config'>,
  message: Message,
): Promise<Buffer | null> {
  const body = (await ctx.store.body(message.accountId, message.id))?.body ?? null;
  if (body === null) return null;
  if (body.raw !== null) return Buffer.from(body.raw);
  const input = composeInputOf(ctx, message, body);
  const isTextWanted = ctx.config.live.api.textFromHtml && body.text === null && body.html !== null;
  const text = isTextWanted ? textFromHtml(body.html ?? '') : body.text;
  return compose({ ...input, text }).catch(() => null);
}
