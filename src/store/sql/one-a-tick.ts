/**
 * Lets one pass in each round of the event loop.
 *
 * For reads that take some milliseconds of the thread that asks: of a hundred that are asked for at once, others wait for
 * one, not for all. Promises that they pass in the order in which they came, and that one that comes alone does not wait.
 */
import { setImmediate as nextTick } from 'node:timers/promises';

export class OneATick {
  /** Ends when the next one may pass. */
  #next: Promise<unknown> = Promise.resolve();

  /** Resolves when the caller may go on. */
  async pass(): Promise<void> {
    const mine = this.#next;
    this.#next = mine.then(() => nextTick());
    await mine;
  }
}
