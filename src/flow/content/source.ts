/**
 * The source of a stored message, as an operator reads it: header and body in the form in which it leaves.
 *
 * Without the DKIM-Signature, which is made at delivery; a message taken over SMTP is shown as it was taken. Null once
 * its content is gone, or when it can never be written: its failure says why.
 */
import { setImmediate as nextTick } from 'node:timers/promises';
import { compose } from '../../mail/compose/compose.ts';
import type { Message } from '../../store/rows.ts';
import { composeInputOf } from '../compose-input.ts';
import type { Context } from '../context.ts';
import { withStoredContent } from './content.ts';

/** The whole message in bytes. */
export function sourceOf(
  ctx: Pick<Context, 'store' | 'secrets' | 'config' | 'budget'>,
  message: Message,
): Promise<Buffer | null> {
  return withStoredContent(ctx, message.accountId, message.id, async (body) => {
    if (body.raw !== null) return Buffer.from(body.raw);
    const input = composeInputOf(ctx, message, body);
    const isTextWanted =
      ctx.config.live.api.textFromHtml && body.text === null && body.html !== null;
    const text = isTextWanted ? await textOf(body.html ?? '') : body.text;
    // Reading and composing 13 MB, and sending what comes of it, are a tick of the event loop each.
    await nextTick();
    const source = await compose({ ...input, text }).catch(() => null);
    await nextTick();
    return source;
  });
}

/** Loaded with the first html that needs it, as on the signing thread. */
async function textOf(html: string): Promise<string | null> {
  const { textFromHtml } = await import('../../mail/compose/text-from-html.ts');
  return textFromHtml(html);
}
