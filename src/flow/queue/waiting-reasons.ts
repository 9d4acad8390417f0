/**
 * Why recipients wait, said once for all that wait for the same reason.
 *
 * Replies differ in ids, times and addresses from one message to the next; what is left without them is the reason.
 * Pure, linear in the texts.
 */
import type { Recipient } from '../../store/rows.ts';

/** Recipients that wait for one reason. */
export interface WaitingReason {
  /** The words of one of them; null: not tried yet. */
  reason: string | null;
  count: number;
  /** The soonest next attempt (epoch milliseconds). */
  nextAttemptAt: number;
}

/** Words that may be an id, an address or a time. */
const LONG_WORD = /[\w.:-]{6,}/g;
/** RFC 3463. */
const ENHANCED_CODE = /^\d\.\d{1,3}\.\d{1,3}$/;

/** What is common to reasons that differ only in particulars. */
export function commonReason({ lastReason, address }: Recipient): string {
  if (lastReason === null) return '';
  return lastReason
    .replaceAll(address, '…')
    .replace(LONG_WORD, (word) => (/\d/.test(word) && !ENHANCED_CODE.test(word) ? '…' : word));
}

/** The reasons of `rows`, the most frequent first. */
export function waitingReasons(rows: readonly Recipient[]): WaitingReason[] {
  const groups = new Map<string, WaitingReason>();
  for (const row of rows) {
    const key = commonReason(row);
    const nextAttemptAt = row.nextAttemptAt ?? Infinity;
    const group = groups.get(key);
    if (group === undefined) {
      groups.set(key, { reason: row.lastReason, count: 1, nextAttemptAt });
    } else {
      group.count += 1;
      group.nextAttemptAt = Math.min(group.nextAttemptAt, nextAttemptAt);
    }
  }
  return [...groups.values()].sort((a, b) => b.count - a.count);
}
