/**
 * Measures a time as the best of some runs: a busy or slower machine only ever adds to it, now and then by a lot, while
 * work that is too slow is too slow each time.
 */

/** How often a time is measured at most. */
export const TRIES = 3;

/** The least that `measure` comes to, asked again up to twice while that is more than `most`. Any unit. */
export async function bestOf(
  most: number,
  measure: () => number | Promise<number>,
): Promise<number> {
  let best = Infinity;
  for (let count = 0; count < TRIES && best > most; count += 1) {
    best = Math.min(best, await measure());
  }
  return best;
}

/** Milliseconds that `work` takes. */
export async function tookMs(work: () => unknown): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}
