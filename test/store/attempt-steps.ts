/** Beginning attempts, as a queue does. */
import type { Recipient } from '../../src/store/rows.ts';
import type { Store } from '../../src/store/store.ts';

/** When what `begin` has begun is due again, counted from its beginning. */
export const AGAIN_MS = 300_000;

/** Begins one for `owner`, in `inMs` from now. */
export function begin(
  store: Store,
  recipient: Recipient,
  owner: string,
  leaseMs = 60_000,
  inMs = 0,
) {
  const now = Date.now() + inMs;
  const claim = { owner, leaseUntil: now + leaseMs, nextAttemptAt: now + AGAIN_MS };
  return store.begin([{ recipientId: recipient.id, ...claim }], now);
}
