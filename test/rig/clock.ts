/**
 * A clock that tests move by hand.
 *
 * Promises that time stands still between moves, and that `advance` fires timers in the order of their
 * times, each at its own moment, letting promise chains and sockets settle in between. `jump` changes
 * the wall clock only, as an operator or NTP would, and fires nothing by itself.
 */
import type { Clock } from '../../src/base/clock.ts';

interface Timer {
  atMs: number;
  fire: () => void;
}

export class TestClock implements Clock {
  #nowMs: number;
  readonly #timers = new Set<Timer>();

  /** Starts at `startMs`; the default is a fixed moment, so that failures repeat. */
  constructor(startMs = Date.UTC(2026, 0, 15, 12, 0, 0)) {
    this.#nowMs = startMs;
  }

  now(): number {
    return this.#nowMs;
  }

  at(atMs: number, fire: () => void): () => void {
    const timer = { atMs, fire };
    this.#timers.add(timer);
    if (atMs <= this.#nowMs) {
      setImmediate(() => {
        if (this.#timers.delete(timer)) fire();
      });
    }
    return () => this.#timers.delete(timer);
  }

  /** Times of the timers that are armed, ascending, in epoch milliseconds. */
  pending(): number[] {
    return Array.from(this.#timers, (timer) => timer.atMs).sort((a, b) => a - b);
  }

  /** Moves forward by `ms`, firing what falls due on the way, also what is armed meanwhile. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#nowMs + ms;
    await settle();
    for (let timer = this.#nextBefore(untilMs); timer; timer = this.#nextBefore(untilMs)) {
      this.#timers.delete(timer);
      this.#nowMs = Math.max(this.#nowMs, timer.atMs);
      timer.fire();
      await settle();
    }
    this.#nowMs = untilMs;
    await settle();
  }

  /** Sets the wall clock forward or back (negative `ms`); armed timers keep their wall-clock time. */
  jump(ms: number): void {
    this.#nowMs += ms;
  }

  #nextBefore(untilMs: number): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.atMs <= untilMs && (next === undefined || timer.atMs < next.atMs)) next = timer;
    }
    return next;
  }
}

/** Lets everything that is ready run: a few turns of the event loop, without waiting for time. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) {
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
  }
}
