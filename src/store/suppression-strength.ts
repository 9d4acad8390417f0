/**
 * What a suppression does to the row that its address has already.
 *
 * Promises that a live row keeps its reason, except that a stronger one replaces `manual`, which the account itself could
 * lift. Reads and writes nothing; cannot fail.
 */
import type { Suppression } from './rows.ts';

/** What is known of the row that an address has. */
export interface StoredSuppression extends Pick<Suppression, 'reason'> {
  /** When it was taken out of the list, which keeps the row as a mark. */
  removedAt: number | null;
}

/**
 * `added`: it is new, also when it comes back after a removal, and stands at the head of the list. `strengthened`: it
 * replaces id, reason, source and note of the row, which keeps its position and time. `kept`: nothing changes.
 */
export type SuppressionEffect = 'added' | 'strengthened' | 'kept';

export function effectOf(
  { reason }: Pick<Suppression, 'reason'>,
  stored: StoredSuppression | null,
): SuppressionEffect {
  if (stored === null || stored.removedAt !== null) return 'added';
  return stored.reason === 'manual' && reason !== 'manual' ? 'strengthened' : 'kept';
}
