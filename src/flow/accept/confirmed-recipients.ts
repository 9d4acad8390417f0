/**
 * Confirmed recipients: the addresses an account may send to while its plan says `confirmed_recipients_only`.
 *
 * The operator confirms single addresses; every address at a verified domain of the account counts as
 * confirmed, since its owner has proved control of that domain. The appliance never mails a request for it.
 */
import { ApiError } from '../../base/errors.ts';
import type { Context } from '../context.ts';
import { sendingDomain } from '../domains/lookup.ts';
import { suppressionAddress } from '../suppressions/suppressions.ts';

/**
 * Confirms an address for an account, and returns it as it is kept. `isNew`: it was not confirmed before. Throws
 * `validation_failed`.
 */
export async function confirmRecipient(
  ctx: Pick<Context, 'store' | 'clock'>,
  accountId: string,
  email: string,
): Promise<{ email: string; isNew: boolean }> {
  const address = suppressionAddress(email);
  const isNew = await ctx.store.addConfirmedRecipient(accountId, address, ctx.clock.now());
  return { email: address, isNew };
}

/** Takes a confirmation back, and returns the address. Throws ApiError `not_found`, `validation_failed`. */
export async function removeConfirmation(
  ctx: Pick<Context, 'store'>,
  accountId: string,
  email: string,
): Promise<string> {
  const address = suppressionAddress(email);
  if (await ctx.store.removeConfirmedRecipient(accountId, address)) return address;
  throw new ApiError('not_found', `${address} is not a confirmed recipient.`);
}

/** Which of the addresses are not confirmed, in their order. `address` in lower case. */
export async function unconfirmed(
  ctx: Pick<Context, 'store' | 'senderDomains' | 'emulation'>,
  accountId: string,
  recipients: readonly { address: string; domain: string }[],
): Promise<Set<string>> {
  const found = await ctx.store.confirmed(
    accountId,
    recipients.map(({ address }) => address),
  );
  const missing = new Set<string>();
  for (const { address, domain } of recipients) {
    if (found.has(address)) continue;
    const own = await sendingDomain(ctx, accountId, domain);
    if (own?.status !== 'verified') missing.add(address);
  }
  return missing;
}
