/**
 * Which files of the suites on the compiled binary may run beside each other, and which run alone.
 *
 * A file runs alone unless it is named here: most of these suites measure time, fill memory or disks, use fixed ports or
 * keep both cores busy, and a neighbour would change what they see. Named is what waits for most of its time and says
 * nothing about speed (docs/decisions.md D490).
 */

/** One run of the test runner. */
export interface Part {
  name: string;
  /** Below test/. */
  paths: string[];
  options: string[];
}

/**
 * Below test/. Seconds of wall that each took alone in a run of the whole suite, and seconds of CPU (its own and of all
 * that it had started): 60 and 2, 67 and 8, 62 and 5, 26 and 5, 53 and 9.
 */
export const BESIDE: readonly string[] = [
  'e2e/jobs.test.ts',
  'e2e/migrate.test.ts',
  'e2e/nodes-certificates.test.ts',
  'e2e/postgres.test.ts',
  'e2e/try-cluster.test.ts',
];

/** Together these files use a third of one core; more at once would not end before the longest. */
const AT_ONCE = 4;

/** The runs of a suite with these files, which stand below test/: each file is in one of them, once. */
export function partsOf(suite: string, files: readonly string[]): Part[] {
  const beside = files.filter((file) => BESIDE.includes(file));
  const alone = files.filter((file) => !BESIDE.includes(file));
  const parts: Part[] = [];
  if (beside.length > 0)
    parts.push({
      name: `${suite} side by side`,
      paths: beside,
      options: [`--parallel=${AT_ONCE}`],
    });
  if (alone.length > 0) parts.push({ name: suite, paths: alone, options: [] });
  return parts;
}
