/**
 * When a deferred recipient is tried again: often within the first hour (greylisting lets mail in after one to fifteen
 * minutes), then less and less often, until it expires.
 *
 * Promises times that never lie before `now` nor after the expiry, at which there is always a last attempt. Never reads
 * a clock: every time comes in as an argument, in epoch milliseconds. Cannot fail.
 */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Wait after the n-th failed attempt; the last entry repeats. Begins at 0, 1, 6, 16, 31 and 61 minutes. */
const WAITS_MS: readonly number[] = [
  1 * MINUTE_MS,
  5 * MINUTE_MS,
  10 * MINUTE_MS,
  15 * MINUTE_MS,
  30 * MINUTE_MS,
  1 * HOUR_MS,
  2 * HOUR_MS,
  3 * HOUR_MS,
  4 * HOUR_MS,
];

/** Share by which a wait is spread, so that what failed together is not retried together. */
const JITTER = 0.1;

/** Wait of an attempt that died with the process, in milliseconds. */
const CRASH_WAIT_MS = 15_000;

/** `email.delivery_delayed` is raised at the first delay and then at most this often. */
export const DELAYED_EVENT_EVERY_MS = 6 * HOUR_MS;

/** The undisturbed wait after attempt `number` (1 for the first), in milliseconds. */
export function waitAfter(number: number): number {
  return WAITS_MS[Math.min(Math.max(number, 1), WAITS_MS.length) - 1] ?? 4 * HOUR_MS;
}

/**
 * When to try again after attempt `number` ended deferred at `now`; null when `expiresAt` has passed.
 * `random` is in [0, 1): 0.5 means no jitter.
 */
export function nextAttemptAt(
  number: number,
  now: number,
  expiresAt: number,
  random: number,
): number | null {
  if (now >= expiresAt) return null;
  const spread = 1 + (random * 2 - 1) * JITTER;
  return Math.min(now + Math.round(waitAfter(number) * spread), expiresAt);
}

/**
 * When an attempt that begins now is due again if the process dies in it: soon, but not at once, so that
 * a restart goes on quickly and a message that kills the process makes no hot loop.
 */
export function dueAfterCrash(now: number): number {
  return now + CRASH_WAIT_MS;
}
