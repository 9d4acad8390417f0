/** Which files this process has open: what a test closes must not stay open, or its log is never emptied. */
import { readdirSync, readlinkSync } from 'node:fs';

/** The files below a directory that this process has open, once for each time. */
export function openIn(folder: string): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)].filter((path) => path.startsWith(folder));
    } catch {
      // The listing itself was open.
      return [];
    }
  });
}
