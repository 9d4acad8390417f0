/**
 * The account's domain behind a From address, kept in memory because every send asks for it.
 *
 * Promises the state after the last change: whatever adds, checks or deletes a domain calls
 * `forgetDomains` when its commit is done.
 */
import type { Domain } from '../store/rows.ts';
import type { Context } from './context.ts';
import { knownPerStore } from './known.ts';

const domains = knownPerStore<Domain>();

/** The account's domain with exactly this name (lower-case A-labels), whatever its status; null when it has none. */
export function sendingDomain(
  ctx: Pick<Context, 'store' | 'clock'>,
  accountId: string,
  name: string,
): Promise<Domain | null> {
  return domains(ctx).find(`${accountId} ${name}`, () => ctx.store.domainByName(accountId, name));
}

/** Forgets what is kept in memory of every domain. */
export function forgetDomains(ctx: Pick<Context, 'store' | 'clock'>): void {
  domains(ctx).forget();
}
