/**
 * Rows read from the store and kept in memory until something changes them.
 *
 * Promises never to return a row that was read before the last `forget`: a read that was under way
 * when the rows changed is not kept. Absence is not kept either. Bounded in number and in time, so that
 * a change made by another process shows within `MAX_AGE_MS`. Fails only when the read does.
 */
import type { Clock } from '../base/clock.ts';

const MAX_ENTRIES = 10_000;
const MAX_AGE_MS = 30_000;

interface Entry<T> {
  value: T;
  readAt: number;
}

export class RowCache<T> {
  readonly #entries = new Map<string, Entry<T>>();
  readonly #clock: Clock;
  #generation = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What is kept for `key`, else what `read` finds now. Rejects when `read` does. */
  async find(key: string, read: () => Promise<T | null>): Promise<T | null> {
    const kept = this.#entries.get(key);
    const now = this.#clock.steady();
    if (kept !== undefined && now - kept.readAt < MAX_AGE_MS) return kept.value;
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

  /** Call it after every commit that changes the rows kept here. */
  forget(): void {
    this.#generation += 1;
    this.#entries.clear();
  }
}
