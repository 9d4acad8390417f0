/**
 * Messages counted by account, day of acceptance and present status, updated with every change.
 *
 * Promises counts that agree with the messages after every commit (`group-sums.ts`). Never reads them:
 * `countsByStatus` sums the rows.
 */
import type { Database } from 'bun:sqlite';
import type { MessageStatus } from '../../base/status.ts';
import { dayOf } from '../counted.ts';
import { GroupSums } from './group-sums.ts';

interface Change {
  accountId: string;
  day: number;
  status: MessageStatus;
  by: number;
}

export class StatusCounts extends GroupSums<Change> {
  readonly #add;

  constructor(db: Database) {
    super();
    this.#add = db.prepare(
      'INSERT INTO status_days (account_id, day, status, count) VALUES (?, ?, ?, ?)' +
        ' ON CONFLICT DO UPDATE SET count = count + excluded.count',
    );
  }

  /** One message of `createdAt` came into `status` (+1) or left it (-1). */
  note(accountId: string, createdAt: number, status: MessageStatus, by: 1 | -1): void {
    const day = dayOf(createdAt);
    this.add(accountId + day + status, { accountId, day, status, by });
  }

  protected merge(into: Change, { by }: Change): void {
    into.by += by;
  }

  protected write({ accountId, day, status, by }: Change): void {
    if (by !== 0) this.#add.run(accountId, day, status, by);
  }
}
