/**
 * A clock that tests move by hand.
 *
 * Promises that time stands still between moves, and that `advance` fires timers in the order of their
 * times, each at its own moment, letting promise chains and sockets settle in between. `jump` changes
 * the wall clock only, as an operator or NTP would, and fires nothing by itself. Its steady time agrees with the wall
 * clock until the first jump. What is given to `waitsFor` ends before time goes on: a disk does not know this clock.
 */
import type { MachineClock } from '../../src/base/clock.ts';

interface Timer {
  /** By the wall clock. */
  atMs: number;
  /** By the time that has really passed. */
  elapsedAtMs: number;
  fire: () => void;
}

export class TestClock implements MachineClock {
  readonly #startMs: number;
  #nowMs: number;
  #elapsedMs = 0;
  #sleptMs = 0;
  readonly #timers = new Set<Timer>();
  readonly #awaited = new Set<Promise<unknown>>();

  /** Starts at `startMs`; the default is a fixed moment, so that failures repeat. */
  constructor(startMs = Date.UTC(2026, 0, 15, 12, 0, 0)) {
    this.#startMs = startMs;
    this.#nowMs = startMs;
  }

  now(): number {
    return this.#nowMs;
  }

  /** How far `advance` has moved it in all: the time that really passed. */
  get elapsedMs(): number {
    return this.#elapsedMs;
  }

  steady(): number {
    return this.#startMs + this.#elapsedMs;
  }

  uptime(): number {
    return this.#elapsedMs + this.#sleptMs;
  }

  bootId(): string {
    return 'boot';
  }

  after(waitMs: number, fire: () => void): () => void {
    return this.#arm({ atMs: this.#nowMs + waitMs, elapsedAtMs: this.#elapsedMs + waitMs, fire });
  }

  #arm(timer: Timer): () => void {
    this.#timers.add(timer);
    if (this.#leftMs(timer) <= 0) {
      setImmediate(() => {
        if (this.#timers.delete(timer)) timer.fire();
      });
    }
    return () => this.#timers.delete(timer);
  }

  /** No `advance` moves time before this has ended, well or not. It must not wait for this clock. */
  waitsFor<T>(work: Promise<T>): Promise<T> {
    const ended: Promise<unknown> = work.then(
      () => this.#awaited.delete(ended),
      () => this.#awaited.delete(ended),
    );
    this.#awaited.add(ended);
    return work;
  }

  /** Times of the timers that are armed, ascending, in epoch milliseconds. */
  pending(): number[] {
    return Array.from(this.#timers, (timer) => timer.atMs).sort((a, b) => a - b);
  }

  /** Moves forward by `ms`, firing what falls due on the way, also what is armed meanwhile. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#elapsedMs + ms;
    await this.#settle();
    for (
      let timer = this.#nextWithin(endMs - this.#elapsedMs);
      timer;
      timer = this.#nextWithin(endMs - this.#elapsedMs)
    ) {
      this.#timers.delete(timer);
      this.pass(Math.max(0, this.#leftMs(timer)));
      timer.fire();
      await this.#settle();
    }
    this.pass(endMs - this.#elapsedMs);
    await this.#settle();
  }

  /** Sets the wall clock forward or back (negative `ms`); armed timers end by either time, as the machine's do. */
  jump(ms: number): void {
    this.#nowMs += ms;
  }

  /** The machine sleeps: the wall clock and its uptime go on, timers and steady time do not. */
  sleep(ms: number): void {
    this.#nowMs += ms;
    this.#sleptMs += ms;
  }

  /** Time passes, and nothing fires by itself: what falls due on the way does at the next `advance`. */
  pass(ms: number): void {
    this.#nowMs += ms;
    this.#elapsedMs += ms;
  }

  async #settle(): Promise<void> {
    await settle();
    while (this.#awaited.size > 0) {
      await Promise.all(this.#awaited);
      await settle();
    }
  }

  #leftMs({ atMs, elapsedAtMs }: Timer): number {
    return Math.min(atMs - this.#nowMs, elapsedAtMs - this.#elapsedMs);
  }

  #nextWithin(ms: number): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of this.#timers) {
      const left = this.#leftMs(timer);
      if (left <= ms && (next === undefined || left < this.#leftMs(next))) next = timer;
    }
    return next;
  }
}

/** Lets everything that is ready run: a few turns of the event loop, without waiting for time. */
async function settle(): Promise<void> {
  for (let round = 0; round < 5; round += 1) {
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
  }
}
