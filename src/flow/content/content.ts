/**
 * The content of a message as it is read back, whether it came over HTTP or SMTP. This room has no other step: the API,
 * the dashboard and the request log (`logged-request`) ask it, and it writes nothing.
 *
 * A message taken over SMTP is stored whole; here it is read in its parts, so that both kinds look alike. Large content
 * is read one at a time, within what the memory budget has for the account, and the event loop goes on in between: as
 * many as want it may ask at once. Null when the content was not kept. Rejects with `platform_halted` when the budget has
 * too few bytes, and when the thread for large messages dies meanwhile.
 */
import type { Body, ListedBody } from '../../store/rows.ts';
import { ALONE_FROM } from '../byte-budget.ts';
import type { Context } from '../context.ts';

type Parts = Pick<Context, 'store' | 'large' | 'budget'>;

/** The content of the account's message, in its parts. */
export function contentOf(ctx: Parts, accountId: string, messageId: string): Promise<Body | null> {
  return withStoredContent(ctx, accountId, messageId, async (body) =>
    body.raw === null ? body : { ...body, ...(await ctx.large.read(body.raw)) },
  );
}

/** The content without the bytes of attachments, which cost nothing then. */
export async function listedContentOf(
  ctx: Parts,
  accountId: string,
  messageId: string,
): Promise<ListedBody | null> {
  const sizes = await ctx.store.contentSizes(accountId, messageId);
  return readWithin(ctx, accountId, sizes?.body ?? 0, async (isLarge) => {
    const body = (await ctx.store.listedBody(accountId, messageId, isLarge))?.body ?? null;
    if (body === null || body.raw === null) return body;
    const { attachments, ...texts } = await ctx.large.read(body.raw);
    const listed = attachments.map(({ content, ...rest }) => ({ ...rest, size: content.length }));
    return { ...body, ...texts, attachments: listed };
  });
}

/** What `work` makes of the content as it is stored while its bytes are counted; null when there is none. */
export async function withStoredContent<T>(
  ctx: Pick<Context, 'store' | 'budget'>,
  accountId: string,
  messageId: string,
  work: (body: Body) => Promise<T>,
): Promise<T | null> {
  const sizes = await ctx.store.contentSizes(accountId, messageId);
  const bytes = sizes === null ? 0 : sizes.body + sizes.attachments;
  return readWithin(ctx, accountId, bytes, async (isLarge) => {
    const body = (await ctx.store.body(accountId, messageId, isLarge))?.body ?? null;
    return body === null ? null : await work(body);
  });
}

function readWithin<T>(
  { budget }: Pick<Context, 'budget'>,
  accountId: string,
  bytes: number,
  read: (isLarge: boolean) => Promise<T>,
): Promise<T> {
  return bytes < ALONE_FROM ? read(false) : budget.during(bytes, accountId, () => read(true));
}
