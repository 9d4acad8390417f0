/**
 * The memory that mail may use on its way in, over all listeners (HTTP bodies, submission, reports), and when its content
 * is read back.
 *
 * Promises that no more bytes are under way than it was made for, that one owner (an account, all of port 25)
 * never has more than half of what large bodies may use, and that large bodies leave small ones their own part. What is
 * large is worked on one at a time, since a parsed body takes up to twenty times its bytes, and owners alternate: what
 * one has many of waits, and not the one of another. Only counts: a share that was not released is lost until the
 * restart, so release in `finally`. Never throws; a refusal is `false`.
 */

import { ApiError } from '../base/errors.ts';

/** Measured with bodies of 14 MB of every shape: docs/decisions.md D160. */
const LARGE_BYTES = 96 * 1024 * 1024;
const SMALL_BYTES = 16 * 1024 * 1024;
/** Up to here a body counts as small. */
const SMALL_MAX = 64 * 1024;
/** From here on one body is worked on at a time. Smaller content is read back at once. */
export const ALONE_FROM = 512 * 1024;
/** From here on the garbage of the work is collected, while other work goes on: its size is not known to the collector. */
const COLLECT_FROM = 4 * 1024 * 1024;

/** Seconds after which a client may try again when too much is under way: a large body is worked on within one. */
const BUSY_RETRY_SECONDS = 5;

/** Sizes in bytes, for tests. */
export interface BudgetSizes {
  large: number;
  small: number;
}

/** What one request or message has taken. */
export interface Share {
  /** Takes `bytes` more; false, and nothing taken, when fewer are left. */
  grow(bytes: number): boolean;
  /** Resolves when the work on this body may begin: at once for all but large ones, which wait for each other. */
  begin(): Promise<void>;
  /** Gives everything back. A second call does nothing. */
  release(): void;
}

export class ByteBudget {
  readonly #sizes: BudgetSizes;
  #small = 0;
  #large = 0;
  readonly #byOwner = new Map<string, number>();
  /** The owner of the large body that is worked on. */
  #working: string | null = null;
  /** By owner, who comes next first. No list is empty. */
  readonly #waiting = new Map<string, (() => void)[]>();

  constructor(sizes: BudgetSizes = { large: LARGE_BYTES, small: SMALL_BYTES }) {
    this.#sizes = sizes;
  }

  /** Bytes taken now. */
  get bytes(): number {
    return this.#small + this.#large;
  }

  /** Whether `owner` could take `bytes` now. Takes nothing. */
  isFree(bytes: number, owner: string): boolean {
    if (bytes <= SMALL_MAX) return this.#small + bytes <= this.#sizes.small;
    const own = (this.#byOwner.get(owner) ?? 0) + bytes;
    return this.#large + bytes <= this.#sizes.large && own <= this.#sizes.large / 2;
  }

  /** An empty share of `owner`. */
  open(owner: string): Share {
    const state = { bytes: 0, isOpen: true, isWorking: false };
    return {
      grow: (bytes) => {
        const total = state.bytes + bytes;
        this.#count(-state.bytes, state.bytes, owner);
        const isFree = state.isOpen && this.isFree(total, owner);
        if (isFree) state.bytes = total;
        this.#count(state.bytes, state.bytes, owner);
        return isFree;
      },
      begin: async () => {
        if (state.bytes < ALONE_FROM) return;
        if (this.#working !== null) await this.#wait(owner);
        this.#working = owner;
        state.isWorking = true;
      },
      release: () => {
        if (!state.isOpen) return;
        state.isOpen = false;
        this.#count(-state.bytes, state.bytes, owner);
        if (state.isWorking) this.#next(state.bytes);
      },
    };
  }

  /**
   * Does `work`, for which `bytes` are counted meanwhile: large work after what was there before. Rejects with
   * `platform_halted`, and does nothing, when too few are left for `owner`.
   */
  async during<T>(bytes: number, owner: string, work: () => Promise<T>): Promise<T> {
    const share = this.open(owner);
    try {
      if (!share.grow(bytes)) throw tooBusy();
      await share.begin();
      return await work();
    } finally {
      share.release();
    }
  }

  /** Adds to the part to which a body of `size` belongs. */
  #count(bytes: number, size: number, owner: string): void {
    if (size <= SMALL_MAX) {
      this.#small += bytes;
      return;
    }
    this.#large += bytes;
    const own = (this.#byOwner.get(owner) ?? 0) + bytes;
    if (own > 0) this.#byOwner.set(owner, own);
    else this.#byOwner.delete(owner);
  }

  #wait(owner: string): Promise<void> {
    return new Promise((resolve) => {
      const own = this.#waiting.get(owner);
      if (own === undefined) this.#waiting.set(owner, [resolve]);
      else own.push(resolve);
    });
  }

  /** After the caller has dropped what it had: begins to collect, and lets the next large body begin. */
  #next(bytes: number): void {
    setImmediate(() => {
      if (bytes >= COLLECT_FROM) Bun.gc(false);
      const begin = this.#takeWaiting();
      if (begin === null) this.#working = null;
      else begin();
    });
  }

  /** What has waited longest of those whose owner comes next; of the last owner only where nobody else waits. */
  #takeWaiting(): (() => void) | null {
    for (const [owner, [first, ...others]] of this.#waiting) {
      if (owner === this.#working && this.#waiting.size > 1) continue;
      this.#waiting.delete(owner);
      if (others.length > 0) this.#waiting.set(owner, others);
      return first ?? null;
    }
    return null;
  }
}

/** The refusal of a request for which the memory budget has no bytes. */
export function tooBusy(): ApiError {
  return new ApiError(
    'platform_halted',
    'This service is handling too many large requests at the moment. Try again later.',
    { headers: { 'Retry-After': String(BUSY_RETRY_SECONDS) } },
  );
}
