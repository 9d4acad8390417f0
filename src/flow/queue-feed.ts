/**
 * What brings due recipients from the store into memory: all of them at start, then by time.
 *
 * Promises that nothing is overlooked for longer than a minute, also when the wall clock jumps back, and
 * that each due recipient is read about once: the look goes on from where the last one ended. Sleeps
 * until the store's next due time instead of polling.
 */
import type { RecipientRef } from '../store/store.ts';
import type { Context } from './context.ts';
import { LINE_MAX } from './queue-waiting.ts';
import type { Destination, Waiting } from './queue-waiting.ts';

const PAGE = 1_000;
/** Shortest pause between two looks, so that a stream of due times is read in batches. */
const SHORTEST_MS = 250;
const LONGEST_MS = 60_000;

export interface FeedOptions {
  ctx: Context;
  waiting: Waiting;
  /** Called for a destination whose line got something. */
  ready: (destination: Destination) => void;
}

export class QueueFeed {
  readonly #options: FeedOptions;
  /** Everything due up to here was seen. */
  #seen: RecipientRef | null = null;
  #isLooking = false;
  #isAgain = false;
  #isRunning = false;
  #cancel: () => void = () => {};

  constructor(options: FeedOptions) {
    this.#options = options;
  }

  start(): void {
    this.#isRunning = true;
    void this.#look();
  }

  stop(): void {
    this.#isRunning = false;
    this.#cancel();
  }

  /** A recipient that is due now, already committed. */
  offer(ref: RecipientRef): void {
    const destination = this.#options.waiting.add(ref);
    if (destination !== null) this.#options.ready(destination);
  }

  /** Looks from the beginning: due times were changed behind the last look. */
  again(): void {
    this.#seen = null;
    this.#isAgain = true;
    void this.#look();
  }

  /** Reads more for a destination whose line gets short. */
  fill(destination: Destination): void {
    if (destination.isFilling || !this.#isRunning) return;
    destination.isFilling = true;
    void this.#fill(destination);
  }

  async #fill(destination: Destination): Promise<void> {
    const { ctx, waiting, ready } = this.#options;
    const now = ctx.clock.now();
    try {
      const { domain, line } = destination;
      if (destination.filledTo !== null && destination.filledTo.dueAt > now) {
        destination.filledTo = null;
      }
      const limit = LINE_MAX - line.length;
      const refs = await ctx.store.recipientsDue(now, now, limit, destination.filledTo, domain);
      destination.hasMore = refs.length >= limit;
      for (const ref of refs) {
        waiting.add(ref);
        // Turned away: it is read again from here when there is room.
        if (waiting.isFull || line.length >= LINE_MAX) {
          destination.hasMore = true;
          break;
        }
        destination.filledTo = ref;
      }
    } catch (error) {
      this.#report(error);
      this.#seen = null;
    }
    destination.isFilling = false;
    ready(destination);
    waiting.forget(destination);
  }

  async #look(): Promise<void> {
    if (this.#isLooking || !this.#isRunning) return;
    this.#isLooking = true;
    this.#cancel();
    let next: number | null = null;
    const { ctx } = this.#options;
    try {
      do {
        this.#isAgain = false;
        await this.#readDue();
      } while (this.#isAgain && this.#isRunning);
      next = await ctx.store.nextRecipientDue(ctx.clock.now());
    } catch (error) {
      this.#report(error);
    }
    this.#isLooking = false;
    if (!this.#isRunning) return;
    const now = ctx.clock.now();
    const at = Math.min(Math.max(next ?? Infinity, now + SHORTEST_MS), now + LONGEST_MS);
    this.#cancel = ctx.clock.at(at, () => void this.#look());
  }

  async #readDue(): Promise<void> {
    const { ctx, waiting, ready } = this.#options;
    const now = ctx.clock.now();
    // The wall clock went back: what is due by it now may lie before the place already passed.
    if (this.#seen !== null && this.#seen.dueAt > now) this.#seen = null;
    for (;;) {
      const refs = await ctx.store.recipientsDue(now, now, PAGE, this.#seen);
      for (const ref of refs) {
        const destination = waiting.add(ref);
        if (destination !== null) ready(destination);
        this.#seen = ref;
      }
      if (refs.length < PAGE || !this.#isRunning) return;
      // Other work goes in between: a long queue is read in pieces.
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
  }

  #report(error: unknown): void {
    this.#options.ctx.log.error('queue_not_read', {
      error,
      hint: 'The store could not be read; the queue looks again within a minute.',
    });
  }
}
