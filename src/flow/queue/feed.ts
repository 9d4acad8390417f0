/**
 * Brings due recipients from the store into memory: all of them at start, then by time.
 *
 * Promises that no due recipient is overlooked, and that each is read about once: a look
 * continues where the last one ended, and begins anew where something may lie behind that position. A store that cannot
 * be read makes `look` reject, and the next one begins anew.
 */
import type { RecipientRef } from '../../store/journey.ts';
import type { Context } from '../context.ts';
import { LINE_MAX } from './waiting.ts';
import type { Destination, Waiting } from './waiting.ts';

const PAGE = 1_000;
/**
 * A look begins anew at least this often: the lease of a claim whose end was never written runs out behind the position
 * that looks have reached, and another node's does too.
 */
const ANEW_EVERY_MS = 10 * 60_000;

export interface FeedOptions {
  ctx: Pick<Context, 'clock' | 'store' | 'log'>;
  waiting: Waiting;
  /** Called for a destination whose line got a recipient. */
  ready: (destination: Destination) => void;
  /** Whether reading goes on: false ends a long look. */
  isRunning: () => boolean;
}

export class QueueFeed {
  readonly #options: FeedOptions;
  /** Everything due up to here was read. */
  #seen: RecipientRef | null = null;
  /** The next look begins anew. */
  #isAnew = true;
  #anewAt = -Infinity;

  constructor(options: FeedOptions) {
    this.#options = options;
  }

  /** A recipient that is due now, already committed. */
  offer(ref: RecipientRef): void {
    const destination = this.#options.waiting.add(ref);
    if (destination !== null) this.#options.ready(destination);
  }

  /** Due times were changed behind the last look: the next one begins anew. */
  lookAnew(): void {
    this.#isAnew = true;
  }

  /** Reads what is due. Returns the next due time; null when there is none. */
  async look(): Promise<number | null> {
    const { ctx, waiting, ready, isRunning } = this.#options;
    const now = ctx.clock.steady();
    this.#begin(now);
    try {
      for (;;) {
        const refs = await ctx.store.recipientsDue(now, now, PAGE, this.#seen);
        for (const ref of refs) {
          const destination = waiting.add(ref);
          if (destination !== null) ready(destination);
          this.#seen = ref;
        }
        if (refs.length < PAGE || !isRunning()) break;
        // Other work runs in between: a long queue is read in pieces.
        await new Promise<void>((resolve) => setImmediate(resolve));
      }
      return await ctx.store.nextRecipientDue(now);
    } catch (error) {
      this.#isAnew = true;
      throw error;
    }
  }

  /** Reads more for a destination whose line gets short. */
  fill(destination: Destination): void {
    if (destination.isFilling || !this.#options.isRunning()) return;
    destination.isFilling = true;
    void this.#fill(destination);
  }

  #begin(now: number): void {
    if (!this.#isAnew && now - this.#anewAt < ANEW_EVERY_MS) return;
    this.#isAnew = false;
    this.#anewAt = now;
    this.#seen = null;
  }

  async #fill(destination: Destination): Promise<void> {
    const { ctx, waiting, ready } = this.#options;
    const now = ctx.clock.steady();
    try {
      const { line } = destination;
      const limit = LINE_MAX - line.length;
      const { filledTo } = destination;
      const refs = await ctx.store.recipientsDue(now, now, limit, filledTo, destination);
      destination.hasMore = refs.length >= limit;
      for (const ref of refs) {
        waiting.add(ref);
        // Turned away: it is read again from here when there are free slots in the line.
        if (waiting.isFullFor(ref.accountId) || line.length >= LINE_MAX) {
          destination.hasMore = true;
          break;
        }
        destination.filledTo = ref;
      }
    } catch (error) {
      // The next look reads the line's recipients, within a minute.
      this.#isAnew = true;
      ctx.log.error('queue_read_failed', { error, hint: READ_HINT });
    }
    destination.isFilling = false;
    ready(destination);
    waiting.forget(destination);
  }
}

/** Of the log line for a store that could not be read. */
export const READ_HINT = 'The store could not be read; the queue looks again by itself.';
