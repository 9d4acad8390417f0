/**
 * Answers of the store kept in memory until something changes them.
 *
 * Promises never to return an answer that was read before the last `forget`: a read that was under way
 * when the rows changed is not kept. Absence is not kept either. Bounded in number and in time, so that
 * a change made behind our back shows within `MAX_AGE_MS`.
 */
import type { Clock } from '../base/clock.ts';

const MAX_ENTRIES = 10_000;
const MAX_AGE_MS = 30_000;

interface Entry<T> {
  value: T;
  readAt: number;
}

export class Known<T> {
  readonly #entries = new Map<string, Entry<T>>();
  readonly #clock: Clock;
  #generation = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The kept answer for `key`, else what `read` finds now. Rejects when `read` does. */
  async find(key: string, read: () => Promise<T | null>): Promise<T | null> {
    const kept = this.#entries.get(key);
    const now = this.#clock.now();
    // A clock that stepped back makes the age negative: such an entry is read again too.
    if (kept !== undefined && Math.abs(now - kept.readAt) < MAX_AGE_MS) return kept.value;
    const generation = this.#generation;
    const value = await read();
    if (value === null) {
      this.#entries.delete(key);
    } else if (generation === this.#generation) {
      if (this.#entries.size >= MAX_ENTRIES) this.#entries.clear();
      this.#entries.set(key, { value, readAt: now });
    }
    return value;
  }

  /** Call it after every commit that changes what this keeps. */
  forget(): void {
    this.#generation += 1;
    this.#entries.clear();
  }
}

/** One `Known` for each store that asks: several appliances in one process never share answers. */
export function knownPerStore<T>(): (of: { store: object; clock: Clock }) => Known<T> {
  const all = new WeakMap<object, Known<T>>();
  return ({ store, clock }) => {
    let known = all.get(store);
    if (known === undefined) {
      known = new Known<T>(clock);
      all.set(store, known);
    }
    return known;
  };
}
