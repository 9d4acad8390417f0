/**
 * Bytes of content that each account keeps, updated with every message that comes and every content that goes.
 *
 * Promises a sum that agrees with `bodies.bytes` after every commit, and that whoever asks within a group sees what the
 * group has added so far. Like `status-counts.ts` it writes the changes of a group once, before the group commits.
 */
import type { Database } from 'bun:sqlite';
import type { GroupSum } from './group-sums.ts';

export class StoredBytes implements GroupSum {
  readonly #read;
  readonly #add;
  #group = new Map<string, number>();
  #item: { accountId: string; by: number }[] = [];

  constructor(db: Database) {
    this.#read = db.prepare<{ bytes: number }, [string]>(
      'SELECT bytes FROM stored_bytes WHERE account_id = ?',
    );
    this.#add = db.prepare(
      'INSERT INTO stored_bytes (account_id, bytes) VALUES (?, ?)' +
        ' ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes',
    );
  }

  /** Content of `by` bytes came, or went when `by` is negative. */
  note(accountId: string, by: number): void {
    if (by !== 0) this.#item.push({ accountId, by });
  }

  /** What the account keeps, with what was noted so far. */
  of(accountId: string): number {
    let bytes = (this.#read.get(accountId)?.bytes ?? 0) + (this.#group.get(accountId) ?? 0);
    for (const change of this.#item) if (change.accountId === accountId) bytes += change.by;
    return bytes;
  }

  /** The item stands: its changes belong to the group. */
  keep(): void {
    for (const { accountId, by } of this.#item) {
      this.#group.set(accountId, (this.#group.get(accountId) ?? 0) + by);
    }
    this.#item = [];
  }

  /** The item was undone. */
  drop(): void {
    this.#item = [];
  }

  /** The whole group was undone. */
  forget(): void {
    this.#item = [];
    this.#group = new Map();
  }

  /** Writes the group's sums; call inside its transaction. */
  flush(): void {
    for (const [accountId, by] of this.#group) this.#add.run(accountId, by);
    this.#group = new Map();
  }
}
