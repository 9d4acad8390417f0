/**
 * One-click unsubscribe (RFC 8058): a signed link of ours that suppresses one recipient.
 *
 * Asked for by the header `X-Postrider-Unsubscribe: yes` on a message with one recipient. The link names
 * the recipient's row and carries an HMAC, so it can neither be guessed nor changed to another address.
 * Only a POST suppresses: scanners and previews follow links (RFC 8058 section 3.1). Doing it twice is fine.
 */
import { timingSafeEqual } from 'node:crypto';
import type { Suppression } from '../../store/rows.ts';
import type { Context } from '../context.ts';
import { newSuppression } from './suppressions.ts';

/** 96 bits: a link lives in mailboxes for years. */
const TAG_BYTES = 12;
const ID_BYTES = 16;
const TOKEN = /^[A-Za-z0-9_-]{38}$/;

/** The link for one recipient: `<public_url>/unsubscribe/<token>`. */
export function unsubscribeUrl(
  ctx: Pick<Context, 'config' | 'secrets'>,
  recipientId: string,
): string {
  const id = Buffer.from(recipientId.replaceAll('-', ''), 'hex');
  const token = Buffer.concat([id, tagOf(ctx, recipientId)]).toString('base64url');
  return `${ctx.config.live.http.publicUrl.replace(/\/{1,20}$/, '')}/unsubscribe/${token}`;
}

/** The two header fields that make mail clients show the button (RFC 8058 section 3). */
export function unsubscribeHeaders(
  ctx: Pick<Context, 'config' | 'secrets'>,
  recipientId: string,
): [name: string, value: string][] {
  return [
    ['List-Unsubscribe', `<${unsubscribeUrl(ctx, recipientId)}>`],
    ['List-Unsubscribe-Post', 'List-Unsubscribe=One-Click'],
  ];
}

/** The recipient of this link, for the page that a person opens; null for a token that is not ours or whose mail is deleted. */
export async function findUnsubscribe(
  ctx: Pick<Context, 'store' | 'secrets'>,
  token: string,
): Promise<{ accountId: string; messageId: string; address: string } | null> {
  if (!TOKEN.test(token)) return null;
  const bytes = Buffer.from(token, 'base64url');
  const hex = bytes.toString('hex', 0, ID_BYTES);
  const id = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  if (!timingSafeEqual(bytes.subarray(ID_BYTES), tagOf(ctx, id))) return null;
  const recipient = await ctx.store.recipientById(id);
  if (recipient === null) return null;
  const { accountId, messageId, address } = recipient;
  return { accountId, messageId, address };
}

/** Suppresses the link's recipient with reason `unsubscribe`; null for a token that is not ours. */
export async function acceptUnsubscribe(
  ctx: Pick<Context, 'store' | 'secrets' | 'clock' | 'ids' | 'log'>,
  token: string,
): Promise<Suppression | null> {
  const found = await findUnsubscribe(ctx, token);
  if (found === null) return null;
  const { accountId, messageId, address } = found;
  const made = newSuppression(ctx, {
    accountId,
    email: address,
    reason: 'unsubscribe',
    source: messageId,
  });
  const suppression = await ctx.store.addSuppression(made);
  // Once: whoever has the link can use it as often as they like.
  if (suppression.id === made.id)
    ctx.log.info('unsubscribed', { account_id: accountId, message_id: messageId });
  return suppression;
}

function tagOf(ctx: Pick<Context, 'secrets'>, recipientId: string): Buffer {
  return ctx.secrets.mac('unsubscribe', recipientId).subarray(0, TAG_BYTES);
}
