/**
 * The row numbers of messages, where SQLite's own choice would use one again.
 *
 * SQLite gives a new row the highest number that there is, plus one: after the newest message went, its number would
 * come again, and the search index, which goes on by number, would pass the new row over. Promises numbers above every
 * one that went while this process lives.
 */
import type { Database } from 'bun:sqlite';

export class MessageSeqs {
  readonly #highest;
  #gone = 0;

  constructor(db: Database) {
    this.#highest = db.prepare<{ seq: number | null }, []>('SELECT max(seq) AS seq FROM messages');
  }

  /** The row with this number goes. */
  keepAbove(seq: number): void {
    this.#gone = Math.max(this.#gone, seq);
  }

  /** The number of the next row; null: the one that SQLite chooses. */
  next(): number | null {
    if (this.#gone === 0) return null;
    const highest = this.#highest.get()?.seq ?? 0;
    return highest >= this.#gone ? null : this.#gone + 1;
  }
}
