/**
 * Takes due recipients from the store into memory: at start, then by time.
 *
 * Promises that no due recipient is overlooked, and that each is read about once: a look
 * continues where the last one ended, and begins anew where something may lie behind that position. What is taken is
 * ours in the store, and no other queue takes it; what there is no capacity for is left there. A row that is ours and
 * that memory has lost is answered again by the next look that begins anew. A store that cannot be read, or written,
 * makes `look` reject, and the next one begins anew.
 */
import type { DueRequest, DueTaken, RecipientRef } from '../../store/journey.ts';
import type { Context } from '../context.ts';
import { LINE_MAX, TAKE_MAX } from './waiting.ts';
import type { Destination, Waiting } from './waiting.ts';

const PAGE = 1_000;
/**
 * A look begins anew at least this often: the lease of a claim whose end was never written runs out behind the position
 * that looks have reached, and another node's does too.
 */
const ANEW_EVERY_MS = 10 * 60_000;
/**
 * Where others write too, a look begins so long before the position that looks have reached: what they commit a moment
 * later, or by a clock that is behind, has an earlier due time.
 */
const OVERLAP_MS = 3_000;

export interface FeedOptions {
  ctx: Pick<Context, 'clock' | 'store' | 'log' | 'metrics' | 'node'>;
  /** Who takes, by the store's rows. */
  owner: string;
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
  /** From there the look under way reads on. */
  #position: RecipientRef | null = null;
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
    const { ctx, isRunning } = this.#options;
    const now = ctx.clock.steady();
    this.#begin(now);
    try {
      for (;;) {
        if ((await this.#takePage(now)) || !isRunning()) break;
        // Other work runs in between: a long queue is read in pieces.
        await new Promise<void>((resolve) => setImmediate(resolve));
      }
      return await ctx.store.nextRecipientDue(now);
    } catch (error) {
      this.#isAnew = true;
      throw error;
    }
  }

  /** Returns whether no further row is due. */
  async #takePage(now: number): Promise<boolean> {
    const { owner, waiting, ready } = this.#options;
    const { ours, left, last, isEnd } = await this.#take({
      owner,
      now,
      limit: PAGE,
      after: this.#position,
      most: TAKE_MAX,
      without: waiting.full(),
    });
    const found = [
      ...ours.map((ref) => waiting.add(ref)),
      ...left.map((ref) => waiting.addLeft(ref)),
    ];
    for (const destination of found) if (destination !== null) ready(destination);
    this.#position = last ?? this.#position;
    if (last !== null && last.dueAt >= (this.#seen?.dueAt ?? 0)) this.#seen = last;
    return isEnd;
  }

  /** Takes more for a destination whose line gets short. */
  fill(destination: Destination): void {
    if (destination.isFilling || !this.#options.isRunning()) return;
    destination.isFilling = true;
    void this.#fill(destination);
  }

  async #take(request: DueRequest): Promise<DueTaken> {
    const { clock, store, metrics } = this.#options.ctx;
    const from = clock.steady();
    const taken = await store.takeDue(request);
    metrics.claimSeconds.observe({ step: 'take' }, (clock.steady() - from) / 1_000);
    return taken;
  }

  #begin(now: number): void {
    if (!this.#isAnew && now - this.#anewAt < ANEW_EVERY_MS) {
      const overlapMs = this.#options.ctx.node === null ? 0 : OVERLAP_MS;
      this.#position = this.#seen && { ...this.#seen, dueAt: this.#seen.dueAt - overlapMs };
      return;
    }
    this.#isAnew = false;
    this.#anewAt = now;
    this.#seen = null;
    this.#position = null;
  }

  async #fill(destination: Destination): Promise<void> {
    const { ctx, owner, waiting, ready } = this.#options;
    const now = ctx.clock.steady();
    try {
      const { accountId, line, filledTo: after } = destination;
      const limit = LINE_MAX - line.length;
      // Its own line is low: only its account may be full.
      const accountIds = waiting.isFullFor(accountId) ? [accountId] : [];
      const { ours, left, isEnd } = await this.#take({
        owner,
        now,
        limit,
        after,
        most: limit,
        without: { accountIds, destinations: [] },
        of: destination,
      });
      destination.hasMore = !isEnd;
      for (const ref of left) waiting.addLeft(ref);
      for (const ref of ours) {
        waiting.add(ref);
        // Turned away: it is read again from here when there are free slots in the line.
        if (waiting.isFullFor(ref.accountId) || line.length >= LINE_MAX) {
          destination.hasMore = true;
          break;
        }
        if (left.length === 0) destination.filledTo = ref;
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
