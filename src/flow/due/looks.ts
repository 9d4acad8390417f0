/**
 * When the store is looked at for due work: at once when asked, by the store's next due time, and at least every minute.
 *
 * Promises one look at a time; that a look which is asked for while another reads or rests begins when that has ended;
 * and that a look that failed delays the next look by a minute at most. Reads nothing itself. A failed look is reported
 * and made again.
 */
import type { Clock } from '../../base/clock.ts';

/** The longest time between two looks: rows change in ways that nobody reports. */
const LONGEST_MS = 60_000;
/** The pause after a look that failed. */
const FAULT_PAUSE_MS = 5_000;
/** The longest rest after a look. */
const LONGEST_REST_MS = 5_000;

export interface LooksOptions {
  clock: Clock;
  /** The shortest pause between two looks that follow the store's due times, so that these are read in batches. */
  shortestMs: number;
  /** The longest; default: a minute. */
  longestMs?: number | undefined;
  /** After a look there is none for so many times as long as it took; default: 0. */
  rest?: number | undefined;
  /** Brings what is due into memory. Returns when there will be more at the soonest; null when that is not known. */
  look: () => Promise<number | null>;
  failed: (error: unknown) => void;
}

export class Looks {
  readonly #options: LooksOptions;
  #isRunning = false;
  #isWanted = false;
  /** The look that is under way. */
  #current: Promise<void> | null = null;
  #timer: { atMs: number; cancel: () => void } | null = null;
  /** No look begins before. */
  #restsUntil = 0;

  constructor(options: LooksOptions) {
    this.#options = options;
  }

  /** Whether looks are made: `stop` was not called. A long look ends early when it sees this false. */
  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** Makes the first look. */
  start(): void {
    this.#isRunning = true;
    this.soon();
  }

  /** Makes no further look; resolves when the one under way has ended. */
  async stop(): Promise<void> {
    this.#isRunning = false;
    this.#timer?.cancel();
    this.#timer = null;
    await this.#current;
  }

  /** Looks now, or once more when the look under way has ended. */
  soon(): void {
    if (!this.#isRunning) return;
    this.#isWanted = true;
    if (this.#options.clock.steady() < this.#restsUntil) this.by(this.#restsUntil);
    else this.#current ??= this.#lookAll();
  }

  /** Looks at `atMs` (epoch milliseconds) unless a look is to be made earlier anyway. */
  by(atMs: number): void {
    if (!this.#isRunning || (this.#timer !== null && this.#timer.atMs <= atMs)) return;
    this.#timer?.cancel();
    const { clock } = this.#options;
    const cancel = clock.after(atMs - clock.steady(), () => {
      this.#timer = null;
      this.soon();
    });
    this.#timer = { atMs, cancel };
  }

  async #lookAll(): Promise<void> {
    const { clock, look, failed, shortestMs, longestMs = LONGEST_MS, rest = 0 } = this.#options;
    this.#timer?.cancel();
    this.#timer = null;
    let [nextAt, beganAt] = [Infinity, clock.steady()];
    while (this.#isWanted && this.#isRunning && clock.steady() >= this.#restsUntil) {
      this.#isWanted = false;
      beganAt = clock.steady();
      try {
        nextAt = (await look()) ?? Infinity;
        const endedAt = clock.steady();
        this.#restsUntil = endedAt + Math.min(rest * (endedAt - beganAt), LONGEST_REST_MS);
      } catch (error) {
        failed(error);
        nextAt = clock.steady() + FAULT_PAUSE_MS;
      }
    }
    this.#current = null;
    // Counted from the look's beginning: what came due while it lasted has waited for that long already.
    const soonest = this.#isWanted ? 0 : Math.max(nextAt, beganAt + shortestMs);
    this.by(Math.min(Math.max(soonest, this.#restsUntil), clock.steady() + longestMs));
  }
}
