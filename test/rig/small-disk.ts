/**
 * A disk of a few megabytes that a test can fill: a tmpfs of its own.
 *
 * Mounting takes a right that containers often lack: ask `mayMakeDisks`, or say `small disk` to `describeWith`.
 */
import { mkdtempSync, rmSync, statfsSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface SmallDisk {
  path: string;
  /** Fills the disk until about `left` bytes are free. */
  fill(left?: number): void;
  /** Gives it back. */
  clear(): void;
  /** As the file system says. */
  freeBytes(): number;
  unmount(): void;
}

/** Throws where this user may not mount. */
export function makeSmallDisk(bytes: number): SmallDisk {
  const path = mkdtempSync(join(tmpdir(), 'small-disk-'));
  const mounted = Bun.spawnSync(['mount', '-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', path]);
  if (!mounted.success) {
    rmSync(path, { recursive: true });
    throw new Error(`mount: ${mounted.stderr.toString()}`);
  }
  const filler = join(path, 'filler');
  return {
    path,
    fill(left = 0) {
      let size = 0;
      const page = Buffer.alloc(4096);
      for (;;) {
        try {
          writeFileSync(filler, page, { flag: 'a' });
          size += page.length;
        } catch {
          break;
        }
      }
      truncateSync(filler, Math.max(0, size - left));
    },
    clear: () => rmSync(filler, { force: true }),
    freeBytes() {
      const { bavail, bsize } = statfsSync(path);
      return bavail * bsize;
    },
    unmount() {
      Bun.spawnSync(['umount', '-l', path]);
      rmSync(path, { recursive: true, force: true });
    },
  };
}

let may: boolean | undefined;

export function mayMakeDisks(): boolean {
  if (may !== undefined) return may;
  try {
    makeSmallDisk(1_000_000).unmount();
    may = true;
  } catch {
    may = false;
  }
  return may;
}
