/**
 * What a soak's samples say: whether memory, descriptors, the WAL and the lag of the main thread hold still.
 *
 * Pure arithmetic. Looks only at what came after the warm-up, and says so where that is too little to decide.
 */

/** What one interval of a soak was like: medians of what was read in it, and the largest WAL. */
export interface Sample {
  /** Messages sent since the start, at the interval's end. */
  sent: number;
  rssMib: number;
  descriptors: number;
  /** All WAL files of the data directory together. */
  walMib: number;
  /** Cumulated counts of the lag histogram: its observations, and those of at most `LAG_SECONDS`. */
  lagCount: number;
  lagWithin: number;
  /** CPU seconds of the process since its start. */
  cpuSeconds: number;
}

export interface Finding {
  what: string;
  /** Null: this run is too short to decide. */
  isPassed: boolean | null;
  words: string;
}

/** Resident memory, and so the WAL, may grow by so much over 100,000 messages. */
const GROWTH_MIB_PER_100K = 1;
/** Fewer messages than this say nothing of that: the allocator's own breathing is larger. */
const MESSAGES_TO_DECIDE = 100_000;
/** Sessions and calls under way come and go: so many more at the end than at the beginning are still none lost. */
const DESCRIPTORS_MORE = 8;
/** p99 of the lag; a bound of the histogram's own buckets. */
export const LAG_SECONDS = 0.05;
const LAG_SHARE = 0.99;
/** CPU for a message may rise by so much from the first third to the last. */
const CPU_RISE = 0.25;

/** `samples` after the warm-up, oldest first; the first is the one it ended with. */
export function assess(samples: readonly Sample[]): Finding[] {
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined || samples.length < 6) {
    return [
      { what: 'run', isPassed: null, words: 'too few intervals after the warm-up: 6 are needed' },
    ];
  }
  return [
    growth('memory', samples, ({ rssMib }) => rssMib),
    descriptors(samples),
    growth('WAL', samples, ({ walMib }) => walMib),
    lag(first, last),
    cpu(samples),
  ];
}

function growth(what: string, samples: readonly Sample[], mib: (one: Sample) => number): Finding {
  const messages = (samples.at(-1)?.sent ?? 0) - (samples[0]?.sent ?? 0);
  const more = slope(samples.map((one) => [one.sent / 100_000, mib(one)]));
  const words = `${more.toFixed(2)} MiB more per 100,000 messages (over ${messages}; at most ${GROWTH_MIB_PER_100K})`;
  return {
    what,
    isPassed: messages < MESSAGES_TO_DECIDE ? null : more <= GROWTH_MIB_PER_100K,
    words,
  };
}

function descriptors(samples: readonly Sample[]): Finding {
  const [begin, end] = thirds(samples).map((part) => median(part.map((one) => one.descriptors)));
  const more = (end ?? 0) - (begin ?? 0);
  const words = `${begin} in the first third, ${end} in the last (at most ${DESCRIPTORS_MORE} more)`;
  return { what: 'descriptors', isPassed: more <= DESCRIPTORS_MORE, words };
}

function lag(first: Sample, last: Sample): Finding {
  const share = (last.lagWithin - first.lagWithin) / Math.max(1, last.lagCount - first.lagCount);
  const words = `${(share * 100).toFixed(2)} % within ${LAG_SECONDS * 1000} ms (at least ${LAG_SHARE * 100})`;
  return { what: 'lag of the main thread', isPassed: share >= LAG_SHARE, words };
}

function cpu(samples: readonly Sample[]): Finding {
  const [begin = 0, end = 0] = thirds(samples).map((part) => {
    const [from, to] = [part[0], part.at(-1)];
    if (from === undefined || to === undefined || to.sent === from.sent) return 0;
    return ((to.cpuSeconds - from.cpuSeconds) / (to.sent - from.sent)) * 1000;
  });
  const words = `${begin.toFixed(2)} s per 1,000 messages in the first third, ${end.toFixed(2)} in the last (at most ${CPU_RISE * 100} % more)`;
  return { what: 'CPU', isPassed: end <= begin * (1 + CPU_RISE), words };
}

/** The first and the last third. */
function thirds<T>(items: readonly T[]): [T[], T[]] {
  const count = Math.max(2, Math.floor(items.length / 3));
  return [items.slice(0, count), items.slice(-count)];
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

/** Of the line that fits best (least squares). */
function slope(points: readonly (readonly [x: number, y: number])[]): number {
  const mean = (values: number[]): number => values.reduce((a, b) => a + b, 0) / values.length;
  const [x0, y0] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))];
  const above = points.reduce((sum, [x, y]) => sum + (x - x0) * (y - y0), 0);
  const below = points.reduce((sum, [x]) => sum + (x - x0) ** 2, 0);
  return below === 0 ? 0 : above / below;
}
