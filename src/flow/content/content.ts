/**
 * The content of a message as it is read back, whether it came over HTTP or SMTP. This room has no other step: the API,
 * the dashboard and the request log (`logged-request`) ask it, and it writes nothing.
 *
 * A message taken over SMTP is stored whole; here it is read in its parts, so that both kinds look alike.
 * Never throws; null when the content was not kept.
 */
import { isReservedHeader } from '../../mail/header/headers.ts';
import { readParts } from '../../mail/mime/message-parts.ts';
import { decodeWords } from '../../mail/mime/text.ts';
import { splitMime, valueOf } from '../../mail/mime/tree.ts';
import type { Body } from '../../store/rows.ts';
import type { Context } from '../context.ts';

/** The content of the account's message, in its parts. */
export async function contentOf(
  ctx: Pick<Context, 'store'>,
  accountId: string,
  messageId: string,
): Promise<Body | null> {
  const body = (await ctx.store.body(accountId, messageId))?.body ?? null;
  return body === null || body.raw === null ? body : inParts(body, body.raw);
}

function inParts(body: Body, raw: Uint8Array): Body {
  const { html, text, attachments } = readParts(raw);
  const headers = splitMime(raw)
    .fields.filter(({ name }) => !isReservedHeader(name))
    .map((field): [string, string] => [
      // As the sender spelled it: the parsed name is in lower case.
      Buffer.from(raw.subarray(field.start, field.valueStart - 1))
        .toString('latin1')
        .trim(),
      decodeWords(valueOf(raw, field)),
    ]);
  return {
    ...body,
    html,
    text,
    headers,
    attachments: attachments.map(({ filename, contentType, contentId, content }) => ({
      filename,
      contentType,
      contentId,
      content: content(),
    })),
  };
}
