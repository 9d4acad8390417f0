/**
 * The retry schedule of webhook calls: which results are tried again, when, and for how long.
 *
 * Promises ten attempts at 30 s, then doubling to one hour (docs/contract.md C13.9), never sooner than
 * the table says, and that an endpoint's `Retry-After` only ever lengthens a wait. No state, no fault.
 */
import type { PostResult } from '../../wire/https/post.ts';

export const MAX_ATTEMPTS = 10;
const FIRST_WAIT_MS = 30_000;
const LONGEST_WAIT_MS = 3_600_000;
/** Share of a wait that chance may add, so that calls which failed together are not retried together. */
const JITTER = 0.1;
/** The longest `Retry-After` that is observed: a day, in milliseconds. */
const LONGEST_RETRY_AFTER_MS = 24 * 3_600_000;

/** The wait after the `attempt`th failure (1 for the first), in milliseconds. `random` is in [0, 1). */
export function waitMs(attempt: number, random: number): number {
  const wait = Math.min(FIRST_WAIT_MS * 2 ** (attempt - 1), LONGEST_WAIT_MS);
  return Math.round(wait * (1 + JITTER * random));
}

/** Any 2xx acknowledges (docs/contract.md C13.7). */
export function isAcknowledged(result: PostResult): boolean {
  return result.kind === 'responded' && result.statusCode >= 200 && result.statusCode <= 299;
}

/** Timeout, connection failure, 429 and 5xx are tried again; 3xx and other 4xx end the call. */
function isWorthAnother(result: PostResult): boolean {
  return result.kind === 'failed' || result.statusCode === 429 || result.statusCode >= 500;
}

/** The status of a call, and its next time, after its `attempt`th attempt ended at `now` (epoch milliseconds). */
export function nextStep(
  result: PostResult,
  attempt: number,
  now: number,
  random: number,
): { status: 'open'; nextAttemptAt: number } | { status: 'done' | 'failed'; nextAttemptAt: null } {
  if (isAcknowledged(result)) return { status: 'done', nextAttemptAt: null };
  if (!isWorthAnother(result) || attempt >= MAX_ATTEMPTS) {
    return { status: 'failed', nextAttemptAt: null };
  }
  return {
    status: 'open',
    nextAttemptAt: now + Math.max(waitMs(attempt, random), askedWaitMs(result)),
  };
}

/** RFC 9110 section 10.2.3 gives `Retry-After` a meaning with 503, RFC 6585 section 4 with 429. */
function askedWaitMs(result: PostResult): number {
  if (result.kind === 'failed' || result.retryAfterSeconds === null) return 0;
  if (result.statusCode !== 429 && result.statusCode !== 503) return 0;
  return Math.min(result.retryAfterSeconds * 1000, LONGEST_RETRY_AFTER_MS);
}
