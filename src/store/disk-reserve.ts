/**
 * The disk reserve: a file of some megabytes in the data directory, really allocated, that is given up in steps when the
 * disk is full.
 *
 * Promises that the store can be opened, and the outcome of what is under way be recorded, while another program
 * keeps the disk at 0 free bytes. `DiskWatch` fills it; the store gives it up. A reserve that was given up is short until
 * it is whole again or the disk has plenty, and nothing but outcomes is written meanwhile, so that nothing else of ours
 * eats what was freed. An operator may delete the file: then there is none until the next filling. Holds random bytes,
 * because a file system that compresses would keep nothing free for zeros. Keeps no state but the file.
 */
import { randomBytes } from 'node:crypto';
import { statSync, statfsSync, truncateSync } from 'node:fs';
import { open, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { keptReserveBytes } from '../base/limits.ts';
import { isDiskFull } from './full-disk.ts';

const FILE = 'disk.reserve';
/** What is written, or given up, in one step: small, because other programs may take what a step leaves. */
const STEP_BYTES = 64 * 1024;
/** What opening the store takes at most: shared memory of three files, their logs, the pid file. */
const START_BYTES = 256 * 1024;
/** From this many times the reserve on the disk has plenty, whatever the file holds. */
const PLENTY = 4;

export class DiskReserve {
  readonly #dataDir: string;
  readonly #path: string;

  constructor(dataDir: string) {
    this.#dataDir = dataDir;
    this.#path = join(dataDir, FILE);
  }

  /** Bytes that it holds; 0 where there is none. Throws what the file system throws. */
  keptBytes(): number {
    return this.#size() ?? 0;
  }

  /** Whether it was given up, wholly or in part, and the disk has not recovered. */
  isShort(): boolean {
    const kept = this.#size();
    if (kept === null) return false;
    const { bavail, blocks, bsize } = statfsSync(this.#dataDir);
    const wanted = keptReserveBytes(blocks * bsize);
    return kept < wanted && bavail * bsize < PLENTY * wanted;
  }

  /** Gives up so many bytes, or all that are left. False when there were none. Never throws. */
  giveUp(bytes: number = STEP_BYTES): boolean {
    const kept = this.#size() ?? 0;
    if (kept === 0) return false;
    try {
      truncateSync(this.#path, Math.max(0, kept - bytes));
      return true;
    } catch {
      // Of another user, most likely. It is as good as none.
      return false;
    }
  }

  /** Gives up what the opening of the store needs and the disk has not. */
  freeForStart(): void {
    const { bavail, bsize } = statfsSync(this.#dataDir);
    const missing = START_BYTES - bavail * bsize;
    if (missing > 0) this.giveUp(missing);
  }

  /**
   * Makes the file, or makes it whole again, where that leaves as much free as it takes. Readable by its owner alone;
   * on disk when this resolves. Returns whether it was short. Rejects with what the file system says, except that the
   * disk is full.
   */
  async fill(): Promise<boolean> {
    const { bavail, blocks, bsize } = await statfs(this.#dataDir);
    const missing = keptReserveBytes(blocks * bsize) - this.keptBytes();
    if (missing <= 0 || bavail * bsize < 2 * missing) return false;
    const file = await open(this.#path, 'a', 0o600);
    try {
      await file.chmod(0o600);
      const random = randomBytes(STEP_BYTES);
      for (let left = missing; left > 0; left -= STEP_BYTES) {
        await file.appendFile(random.subarray(0, left));
      }
      await file.sync();
    } catch (error) {
      if (!isDiskFull(error)) throw error;
    } finally {
      await file.close();
    }
    return true;
  }

  #size(): number | null {
    return statSync(this.#path, { throwIfNoEntry: false })?.size ?? null;
  }
}
