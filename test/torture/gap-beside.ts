/** The bound of docs/reliability.md R84, and how it is measured beside some work on a binary. */
import { bestOf } from '../rig/best-of.ts';
import { longestGap } from '../rig/ready-gap.ts';

export const LONGEST_MS = 250;

/**
 * The longest that GET /ready took meanwhile, in milliseconds; printed with the seed of the input. The same work again
 * where it was too long: a busy machine only adds to it.
 */
export async function gapBeside(
  appliance: { url: string; pid: number },
  seed: number,
  work: () => Promise<unknown>,
): Promise<number> {
  const best = await bestOf(LONGEST_MS, async () => (await longestGap(appliance, work))[0]);
  process.stdout.write(`      ${best} ms (seed ${seed})\n`);
  return best;
}
