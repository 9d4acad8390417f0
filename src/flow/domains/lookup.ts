/**
 * The account's domain behind a From address, kept in memory because every send needs it.
 *
 * Promises the state after the last change: whatever adds, checks or deletes a domain calls
 * `senderDomains.forget()` when its commit is done.
 */
import type { Domain } from '../../store/rows.ts';
import type { Context } from '../context.ts';

/** The account's domain with exactly this name (lower-case A-labels), whatever its status; null when it has none. */
export async function sendingDomain(
  ctx: Pick<Context, 'store' | 'senderDomains' | 'emulation'>,
  accountId: string,
  name: string,
): Promise<Domain | null> {
  const own = await ctx.senderDomains.find(`${accountId} ${name}`, () =>
    ctx.store.domainByName(accountId, name),
  );
  if (ctx.emulation === null || own?.status === 'verified') return own;
  return ctx.emulation.verified(accountId, name);
}
