/**
 * Where looks for due mail begin: behind what was due long ago and is gone.
 *
 * While somebody holds a snapshot (a backup, a long report) the server keeps the index entries of all that was delivered
 * since, and who walks the queue from its beginning walks over them. Promises that each row which is due is seen by a look
 * at most `WHOLE_EVERY_MS` later than without this: that often one goes from the beginning, and whenever another session
 * has ended, whose mail is free with old times. Between those, looks begin `SLACK_MS` before the first row that the last look
 * has found. What else becomes free with a time of before that waits for the next one.
 */
import type { DueRow } from '../due-choice.ts';

/** One walk over what is gone may take as long as the snapshot has lasted: one in some hundred looks. */
const WHOLE_EVERY_MS = 30_000;
/** Commits come late, and clocks of nodes differ. */
const SLACK_MS = 15_000;

export class DueFloor {
  readonly #tick: () => number;
  #floor = 0;
  /** `tick` of the last look from the beginning. */
  #wholeAt = -Infinity;

  /** `tick`: milliseconds that only rise. */
  constructor(tick: () => number = () => performance.now()) {
    this.#tick = tick;
  }

  /** From which due time on to look at `now` (steady epoch milliseconds); 0: from the beginning. */
  from(now: number): number {
    const isOver = this.#tick() - this.#wholeAt >= WHOLE_EVERY_MS;
    return isOver || now < this.#floor ? 0 : this.#floor;
  }

  /** The next look begins at the beginning. */
  forget(): void {
    this.#wholeAt = -Infinity;
  }

  /** What a look at `now` has found, soonest first. `isWhole`: it was from the beginning. */
  seen(rows: readonly DueRow[], now: number, isWhole: boolean): void {
    if (isWhole) this.#wholeAt = this.#tick();
    this.#floor = Math.min(rows[0]?.dueAt ?? now, now) - SLACK_MS;
  }
}
