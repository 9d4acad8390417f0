/**
 * A number of the store that is kept for a while, so that whoever asks for it often does not load the store.
 *
 * Promises that it is read at most every `LEAST_MS`, and that reading it takes at most a fiftieth of the time, however
 * long one reading takes: several nodes that are asked read the same database each. Who asks while it is being read
 * gets what that reading finds. A reading that fails is not kept, and fails for all who wait for it.
 */
import type { Clock } from '../base/clock.ts';

const LEAST_MS = 2_000;
/** How many times the length of a reading its result is kept. */
const KEPT_TIMES = 50;

export class KeptReading<T> {
  readonly #clock: Pick<Clock, 'steady'>;
  readonly #read: () => Promise<T>;
  #kept: { value: T; until: number } | null = null;
  #reading: Promise<T> | null = null;

  constructor(clock: Pick<Clock, 'steady'>, read: () => Promise<T>) {
    this.#clock = clock;
    this.#read = read;
  }

  /** Fails as the reading does. */
  async get(): Promise<T> {
    if (this.#kept !== null && this.#clock.steady() < this.#kept.until) return this.#kept.value;
    this.#reading ??= this.#readNow().finally(() => (this.#reading = null));
    return this.#reading;
  }

  async #readNow(): Promise<T> {
    const beganAt = this.#clock.steady();
    const value = await this.#read();
    const endedAt = this.#clock.steady();
    const keptMs = Math.max(LEAST_MS, KEPT_TIMES * (endedAt - beganAt));
    this.#kept = { value, until: endedAt + keptMs };
    return value;
  }
}
