/**
 * The disk reserve as the writer uses it: given up for outcomes, and shut for everything else until it is whole again.
 *
 * Promises that what a step of the reserve has freed is left to outcomes: until the reserve is whole, or the disk has
 * plenty, `isShut` says that nothing else of ours may be written. Looks at the disk only while it may be short. Never
 * throws but what is asked of it.
 */
import type { DiskReserve } from '../disk-reserve.ts';
import { isDiskFull } from '../full-disk.ts';

export class ReserveGate {
  readonly #reserve: DiskReserve;
  /** Given up by this process or one before, and not seen whole since. */
  #mayBeShort = true;

  constructor(reserve: DiskReserve) {
    this.#reserve = reserve;
  }

  /** Only outcomes may be written. */
  get isShut(): boolean {
    if (this.#mayBeShort) this.#mayBeShort = this.#reserve.isShort();
    return this.#mayBeShort;
  }

  /** Gives up some of the reserve. False when nothing is left of it. */
  giveUp(): boolean {
    this.#mayBeShort = true;
    return this.#reserve.giveUp();
  }

  /** Does `write`, which must be undone when it throws, anew with some of the reserve for as long as the disk is full. */
  whileFull<T>(write: () => T): T {
    for (;;) {
      try {
        return write();
      } catch (error) {
        if (!isDiskFull(error) || !this.giveUp()) throw error;
      }
    }
  }
}
