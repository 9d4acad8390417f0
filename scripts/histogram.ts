/** Percentiles of a Prometheus histogram, as its text format has it: for each bound how many were not above it. */

/** Counts by `LABEL BOUND`, of one process. */
export type Buckets = ReadonlyMap<string, number>;

/** What came since then, over all processes and labels: how many were not above each bound, in ascending order. */
export function sinceThen(
  now: readonly Buckets[],
  then: readonly Buckets[],
): ReadonlyMap<number, number> {
  const sums = new Map<number, number>();
  for (const [at, buckets] of now.entries()) {
    for (const [key, count] of buckets) {
      const text = key.slice(key.indexOf(' ') + 1);
      const bound = text === '+Inf' ? Infinity : Number(text);
      sums.set(bound, (sums.get(bound) ?? 0) + count - (then[at]?.get(key) ?? 0));
    }
  }
  return new Map([...sums].toSorted(([a], [b]) => a - b));
}

/** As PromQL's histogram_quantile: a bucket's values are taken to lie evenly in it. The last bound when it is above all. */
export function percentile(buckets: ReadonlyMap<number, number>, share: number): number {
  const all = buckets.get(Infinity) ?? 0;
  let [lower, below] = [0, 0];
  for (const [bound, count] of buckets) {
    if (count >= all * share) {
      if (bound === Infinity || count === below) return lower;
      return lower + ((all * share - below) / (count - below)) * (bound - lower);
    }
    [lower, below] = [bound, count];
  }
  return 0;
}
