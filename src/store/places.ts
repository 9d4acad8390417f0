/**
 * Places of messages in the list of their account: each new one gets the next number.
 *
 * Promises rising numbers within an account. The last one is asked of the file once and then counted on, so
 * `forget` must follow everything that undoes a message.
 */
import type { Database } from 'bun:sqlite';

/** Accounts whose last place is remembered. */
const ACCOUNTS_MAX = 10_000;

export class Places {
  readonly #last = new Map<string, number>();
  readonly #read;

  constructor(db: Database) {
    this.#read = db.prepare<{ place: number | null }, [string]>(
      'SELECT max(place) AS place FROM messages WHERE account_id = ?',
    );
  }

  /** For the message that is written next. */
  next(accountId: string): number {
    const last = this.#last.get(accountId) ?? this.#read.get(accountId)?.place ?? 0;
    if (this.#last.size >= ACCOUNTS_MAX) this.#last.clear();
    this.#last.set(accountId, last + 1);
    return last + 1;
  }

  /** An item or a group was undone. */
  forget(): void {
    this.#last.clear();
  }
}
