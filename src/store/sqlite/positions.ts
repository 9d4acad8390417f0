/**
 * Positions of messages in the list of their account: each new message gets the next number.
 *
 * Promises rising numbers within an account. The last one is read from the file once and then counted on in memory, so
 * `forget` must follow everything that undoes a message.
 */
import type { Database } from 'bun:sqlite';

/** What the schema calls the position of a message in its list, and of an attachment in its message. */
export const POSITION = 'place';

/** Accounts whose last position is kept in memory. */
const ACCOUNTS_MAX = 10_000;

export class Positions {
  readonly #last = new Map<string, number>();
  readonly #read;

  constructor(db: Database) {
    this.#read = db.prepare<{ position: number | null }, [string]>(
      'SELECT max(' + POSITION + ') AS position FROM messages WHERE account_id = ?',
    );
  }

  /** The position of the account's message that is written next. */
  next(accountId: string): number {
    const last = this.#last.get(accountId) ?? this.#read.get(accountId)?.position ?? 0;
    if (this.#last.size >= ACCOUNTS_MAX) this.#last.clear();
    this.#last.set(accountId, last + 1);
    return last + 1;
  }

  /** An item or a group was undone. */
  forget(): void {
    this.#last.clear();
  }
}
