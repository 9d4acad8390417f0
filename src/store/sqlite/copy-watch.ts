/**
 * How far the copy of a backup is, for whoever waits for it: its thread blocks and says nothing until the end.
 *
 * Looks at the file's size now and then. Promises at most one word a look, and that of a copy which does not grow any more
 * is said once that it is checked. Its timer paces words and is no time of business.
 */
import { stat } from 'node:fs/promises';

/** Bytes that have been copied; `checking`: all, and the copy is compared with itself. */
export type CopyProgress = number | 'checking';

/** Between two looks, in milliseconds. */
const LOOK_MS = 10_000;

/** The name of a copy until it has been checked. */
export const draftOf = (file: string): string => `${file}.part`;

/** Tells `tell` about the file `draft` until the returned function is called. */
export function watchCopy(
  draft: string,
  tell: (progress: CopyProgress) => void,
  lookMs = LOOK_MS,
): () => void {
  let told: CopyProgress = 0;
  let isLooking = false;
  const look = async (): Promise<void> => {
    // Two looks at once, on a slow disk, would see one size and take it for the last.
    if (isLooking) return;
    isLooking = true;
    const size = await stat(draft).then(
      (file) => file.size,
      () => null,
    );
    isLooking = false;
    if (size === null || told === 'checking') return;
    told = size > 0 && size === told ? 'checking' : size;
    tell(told);
  };
  const timer = setInterval(() => void look(), lookMs);
  return () => clearInterval(timer);
}
