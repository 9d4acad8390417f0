/**
 * Time as the appliance sees it: the one seam through which tests move it.
 *
 * Promises wall-clock milliseconds and timers that look at the wall clock again at least every 30 s,
 * because a suspended machine delays monotonic timers (CLOCK_MONOTONIC stops while it sleeps).
 * Never keeps the process alive by itself.
 */

export interface Clock {
  /** Wall-clock time in epoch milliseconds. */
  now(): number;
  /** Calls `fire` once, when `now()` has reached `atMs`. Returns a function that cancels it. */
  at(atMs: number, fire: () => void): () => void;
}

/** Longest sleep before the wall clock is read again, in milliseconds. */
const MAX_SLEEP_MS = 30_000;

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  at(atMs, fire) {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const arm = (): void => {
      const waitMs = atMs - Date.now();
      if (waitMs <= 0) {
        timer = setTimeout(fire, 0);
      } else {
        timer = setTimeout(
          () => (Date.now() >= atMs ? fire() : arm()),
          Math.min(waitMs, MAX_SLEEP_MS),
        );
      }
      timer.unref();
    };
    arm();
    return () => clearTimeout(timer);
  },
};

/** Resolves when `clock.now()` has reached `atMs`, or at once when `signal` is aborted. */
export function sleepUntil(clock: Clock, atMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    const done = (): void => {
      cancel();
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const cancel = clock.at(atMs, done);
    signal?.addEventListener('abort', done, { once: true });
  });
}
