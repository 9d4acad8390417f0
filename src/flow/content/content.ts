/**
 * The content of a message as it is read back, whether it came over HTTP or SMTP. This room has no other step: the API,
 * the dashboard and the request log (`logged-request`) ask it, and it writes nothing.
 *
 * A message taken over SMTP is stored whole; here it is read in its parts, so that both kinds look alike.
 * Null when the content was not kept. Rejects when the thread for large messages dies meanwhile.
 */
import type { Body } from '../../store/rows.ts';
import type { Context } from '../context.ts';

/** The content of the account's message, in its parts. */
export async function contentOf(
  { store, large }: Pick<Context, 'store' | 'large'>,
  accountId: string,
  messageId: string,
): Promise<Body | null> {
  const body = (await store.body(accountId, messageId))?.body ?? null;
  return body === null || body.raw === null ? body : { ...body, ...(await large.read(body.raw)) };
}
