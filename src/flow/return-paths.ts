/**
 * Our own return paths, as reports carry them: which recipient a report is about.
 *
 * Promises that only what carries our HMAC names a recipient. Reads no store and never fails.
 */
import { decodeReturnPath } from '../mail/reports/return-path.ts';
import type { Context } from './context.ts';

/** The recipient's id in an address whose local part is a return path of ours; else null. The domain is ignored. */
export function recipientOfReturnPath(
  ctx: Pick<Context, 'secrets'>,
  address: string,
): string | null {
  const at = address.lastIndexOf('@');
  const local = at === -1 ? address : address.slice(0, at);
  return decodeReturnPath(local, (text) => ctx.secrets.mac('return-path', text));
}

/** The first recipient that any of the addresses names. */
export function recipientOfAny(
  ctx: Pick<Context, 'secrets'>,
  addresses: readonly (string | null)[],
): string | null {
  for (const address of addresses) {
    const id = address === null ? null : recipientOfReturnPath(ctx, address);
    if (id !== null) return id;
  }
  return null;
}
