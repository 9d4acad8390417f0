/**
 * How much of a core a process uses, for tests of work that must not go on for ever.
 *
 * Whoever spins does so in every watch; other work (garbage, the search index) ends after a while. That is why the least
 * of some watches counts.
 */
import { readFileSync } from 'node:fs';

const TICKS_PER_SECOND = 100;

/**
 * Of one core, 1 is all of it: over the least busy of at most `watches` watches of `watchMs`. Ends early at a share
 * below `enough`.
 */
export async function leastShare(
  pid: number,
  { watchMs, watches, enough = 0 }: { watchMs: number; watches: number; enough?: number },
): Promise<number> {
  let least = Infinity;
  for (let count = 0; count < watches && least >= enough; count += 1) {
    const [before, at] = [cpuSeconds(pid), performance.now()];
    await Bun.sleep(watchMs);
    least = Math.min(least, (cpuSeconds(pid) - before) / ((performance.now() - at) / 1000));
  }
  return least;
}

/** Seconds of processor time used so far. proc(5): fields 14 and 15 of stat. */
function cpuSeconds(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}
