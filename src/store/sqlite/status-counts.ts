/**
 * Messages counted by account, day of acceptance and present status, updated with every change.
 *
 * Promises counts that agree with the messages after every commit: the changes of one group of writes are summed in
 * memory and written once, before the group commits, and what an undone item had counted is dropped with it. Never
 * reads them: `countsByStatus` sums the rows.
 */
import type { Database } from 'bun:sqlite';
import type { MessageStatus } from '../../base/status.ts';

export const MS_PER_DAY = 86_400_000;

/** UTC days since the epoch. */
export function dayOf(timeMs: number): number {
  return Math.floor(timeMs / MS_PER_DAY);
}

interface Change {
  accountId: string;
  day: number;
  status: MessageStatus;
  by: number;
}

export class StatusCounts {
  readonly #add;
  readonly #group = new Map<string, Change>();
  #item: Change[] = [];

  constructor(db: Database) {
    this.#add = db.prepare(
      'INSERT INTO status_days (account_id, day, status, count) VALUES (?, ?, ?, ?)' +
        ' ON CONFLICT DO UPDATE SET count = count + excluded.count',
    );
  }

  /** One message of `createdAt` came into `status` (+1) or left it (-1). */
  note(accountId: string, createdAt: number, status: MessageStatus, by: 1 | -1): void {
    this.#item.push({ accountId, day: dayOf(createdAt), status, by });
  }

  /** The item stands: its changes belong to the group. */
  keep(): void {
    for (const change of this.#item) {
      const key = change.accountId + change.day + change.status;
      const summed = this.#group.get(key);
      if (summed === undefined) this.#group.set(key, change);
      else summed.by += change.by;
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
    this.#group.clear();
  }

  /** Writes the group's sums; call inside its transaction. */
  flush(): void {
    for (const change of this.#group.values()) {
      if (change.by !== 0) this.#add.run(change.accountId, change.day, change.status, change.by);
    }
    this.#group.clear();
  }
}
