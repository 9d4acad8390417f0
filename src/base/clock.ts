/**
 * The appliance's clock, and the one seam through which tests move time.
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
  /**
   * Calls `fire` once, `waitMs` from now, by the wall clock or by the time that has really passed, whichever comes
   * first: a wall clock that is set back does not delay it. Returns a function that cancels it.
   */
  after(waitMs: number, fire: () => void): () => void;
}

/** Longest sleep before the wall clock is read again, in milliseconds. */
const MAX_SLEEP_MS = 30_000;

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  at: (atMs, fire) => whenOver(() => atMs - Date.now(), fire),
  after(waitMs, fire) {
    const [atMs, sinceMs] = [Date.now() + waitMs, performance.now()];
    // A suspended machine stops the second of them, a clock that is set back the first.
    const leftMs = (): number =>
      Math.min(atMs - Date.now(), waitMs - (performance.now() - sinceMs));
    return whenOver(leftMs, fire);
  },
};

/** Fires once `leftMs` is 0 or less, looking at least every `MAX_SLEEP_MS`. */
function whenOver(leftMs: () => number, fire: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const arm = (waitMs: number): void => {
    timer = setTimeout(
      () => {
        const left = leftMs();
        if (waitMs <= 0 || left <= 0) fire();
        else arm(left);
      },
      Math.min(Math.max(waitMs, 0), MAX_SLEEP_MS),
    );
    timer.unref();
  };
  arm(leftMs());
  return () => clearTimeout(timer);
}

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
