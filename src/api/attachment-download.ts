/**
 * Links under which an attachment can be fetched without a key, for an hour.
 *
 * Promises that a link opens one attachment of one email and nothing else: its signature covers email,
 * place and end, under a key of the data directory. Never tells a wrong link from an expired one.
 */
import { timingSafeEqual } from 'node:crypto';
import type { Context } from '../flow/context.ts';

export const LINK_MS = 3_600_000;
const PURPOSE = 'attachment link';

/** The link for the attachment at `place` (from 0), and when it ends. */
export function linkTo(
  { config, clock, secrets }: Pick<Context, 'config' | 'clock' | 'secrets'>,
  emailId: string,
  place: number,
): { url: string; expiresAt: number } {
  const expiresAt = clock.now() + LINK_MS;
  const id = attachmentId(emailId, place);
  const signature = secrets.mac(PURPOSE, `${id} ${expiresAt}`).toString('base64url');
  const base = config.http.publicUrl.replace(/\/+$/, '');
  const path = `/v1/emails/${emailId}/attachments/${id}/content`;
  return { url: `${base}${path}?expires=${expiresAt}&signature=${signature}`, expiresAt };
}

/** Whether a link was made here for this attachment and has not ended. */
export function isLinkGood(
  { clock, secrets }: Pick<Context, 'clock' | 'secrets'>,
  id: string,
  expires: string,
  signature: string,
): boolean {
  const good = secrets.mac(PURPOSE, `${id} ${expires}`);
  const given = Buffer.from(signature, 'base64url');
  const isSigned = given.length === good.length && timingSafeEqual(given, good);
  return isSigned && Number(expires) > clock.now();
}

/**
 * The id of the attachment at `place`: its email's id with the place in the last 16 bits. Ids of
 * attachments are only ever looked for inside their email, so they need not be unique beyond it.
 */
export function attachmentId(emailId: string, place: number): string {
  return `${emailId.slice(0, 32)}${place.toString(16).padStart(4, '0')}`;
}
