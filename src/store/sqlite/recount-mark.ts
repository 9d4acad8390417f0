/**
 * How far the computing of a counter for older rows has come: rows from the mark on are in the counter.
 *
 * Promises the mark as it is committed: `forget` must follow everything that undoes a move.
 */
import type { Database } from 'bun:sqlite';

/** Counters that are computed for what was stored before them. */
export type Recounted = 'outcomes' | 'harm';

export class RecountMark {
  readonly #name: Recounted;
  readonly #read;
  readonly #set;
  readonly #drop;
  /** Undefined: not read since the last undone item. */
  #at: number | undefined;

  constructor(db: Database, name: Recounted) {
    this.#name = name;
    this.#read = db.prepare<{ seq: number }, [string]>('SELECT seq FROM recounts WHERE name = ?');
    this.#set = db.prepare('UPDATE recounts SET seq = ? WHERE name = ?');
    this.#drop = db.prepare('DELETE FROM recounts WHERE name = ?');
  }

  /** The first `seq` that is counted; 0 when all rows are. */
  get at(): number {
    this.#at ??= this.#read.get(this.#name)?.seq ?? 0;
    return this.#at;
  }

  /** What changes in the row `seq` is to be counted. */
  isReached(seq: number): boolean {
    return seq >= this.at;
  }

  /** Rows from `seq` on are counted now; 0: all are. */
  moveTo(seq: number): void {
    if (seq === 0) this.#drop.run(this.#name);
    else this.#set.run(seq, this.#name);
    this.#at = seq;
  }

  /** An item or a group was undone. */
  forget(): void {
    this.#at = undefined;
  }
}
