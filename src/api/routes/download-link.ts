/**
 * Links that download an attachment without a key, for an hour.
 *
 * Promises that a link opens one attachment of one email and nothing else: its signature covers email, index and
 * expiry, with a key of the data directory. A wrong link and an expired one get the same response.
 */
import { timingSafeEqual } from 'node:crypto';
import type { Context } from '../../flow/context.ts';

const LINK_MS = 3_600_000;
const PURPOSE = 'attachment link';

/** The link for the attachment at `index` (from 0), and its expiry in steady time. */
export function linkTo(
  { config, clock, secrets }: Pick<Context, 'config' | 'clock' | 'secrets'>,
  emailId: string,
  index: number,
): { url: string; expiresAt: number } {
  const expiresAt = clock.steady() + LINK_MS;
  const id = attachmentId(emailId, index);
  const signature = secrets.mac(PURPOSE, `${id} ${expiresAt}`).toString('base64url');
  const base = config.live.http.publicUrl.replace(/\/{1,20}$/, '');
  const path = `/v1/emails/${emailId}/attachments/${id}/content`;
  return { url: `${base}${path}?expires=${expiresAt}&signature=${signature}`, expiresAt };
}

/** Whether this appliance made the link for this attachment and it has not expired. */
export function isLinkValid(
  { clock, secrets }: Pick<Context, 'clock' | 'secrets'>,
  id: string,
  expires: string,
  signature: string,
): boolean {
  const good = secrets.mac(PURPOSE, `${id} ${expires}`);
  const given = Buffer.from(signature, 'base64url');
  const isSigned = given.length === good.length && timingSafeEqual(given, good);
  return isSigned && Number(expires) > clock.steady();
}

/**
 * The id of the attachment at `index`: the id of its email with the index in the last 16 bits. An attachment is only
 * looked up inside its email, so its id need not be unique beyond it.
 */
export function attachmentId(emailId: string, index: number): string {
  return `${emailId.slice(0, 32)}${index.toString(16).padStart(4, '0')}`;
}
