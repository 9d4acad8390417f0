/** A long removal as steps of the writer, one after the other: others write in between. */
import type { RemovalStep } from './verbs.ts';

/** Repeats `step`, each time from where the one before has ended; returns the sum. */
export async function untilEnd<At>(
  first: At,
  step: (after: At) => Promise<RemovalStep<At>>,
): Promise<number> {
  let total = 0;
  for (let after: At | null = first; after !== null;) {
    const { removed, next }: RemovalStep<At> = await step(after);
    total += removed;
    after = next;
  }
  return total;
}
