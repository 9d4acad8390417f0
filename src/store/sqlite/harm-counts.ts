/**
 * Hard bounces and complaints that messages of an account have caused, by hour, updated with every suppression.
 *
 * Promises sums that agree with the suppressions after every commit (`group-sums.ts`); what counts says `counted.ts`.
 * Rows from before the counter are added by `step`, newest first; until one is reached, what changes in it is left to
 * that step.
 */
import type { Database } from 'bun:sqlite';
import { idBound } from '../../base/ids.ts';
import type { SuppressionReason } from '../../base/status.ts';
import { harmOf, harmfulMessage, hourOf } from '../counted.ts';
import type { Harm } from '../counters.ts';
import { GroupSums } from './group-sums.ts';
import { RecountMark } from './recount-mark.ts';

interface Sum extends Harm {
  hour: number;
  accountId: string;
}

/** A suppression as the counter sees it. */
export interface HarmRow {
  seq: number;
  id: string;
  accountId: string;
  reason: SuppressionReason;
  source: string | null;
  createdAt: number;
}

export class HarmCounts extends GroupSums<Sum> {
  readonly #mark: RecountMark;
  readonly #add;
  readonly #ownerOf;
  readonly #older;

  constructor(db: Database) {
    super();
    this.#mark = new RecountMark(db, 'harm');
    this.#add = db.prepare(
      'INSERT INTO harm_hours (hour, account_id, hard_bounces, complaints) VALUES (?, ?, ?, ?)' +
        ' ON CONFLICT DO UPDATE SET hard_bounces = hard_bounces + excluded.hard_bounces,' +
        ' complaints = complaints + excluded.complaints',
    );
    this.#ownerOf = db.prepare<{ accountId: string }, [string]>(
      'SELECT account_id AS accountId FROM messages WHERE id = ?',
    );
    this.#older = db.prepare<HarmRow, [number, number]>(
      'SELECT seq, id, account_id AS accountId, reason, source, created_at AS createdAt FROM suppressions' +
        ' WHERE seq < ? ORDER BY seq DESC LIMIT ?',
    );
  }

  /** The row was written, with this reason as a new one. */
  note(row: HarmRow): void {
    if (this.#mark.isReached(row.seq)) this.#count(row);
  }

  /** Counts what is harm among at most `limit` rows added since `oldest` (epoch milliseconds); returns how many may be left. */
  step(oldest: number, limit: number): number {
    if (this.#mark.at === 0) return 0;
    const bound = idBound(oldest);
    const rows = this.#older.all(this.#mark.at, limit).filter(({ id }) => id >= bound);
    for (const row of rows) this.#count(row);
    this.#mark.moveTo(rows.length < limit ? 0 : (rows.at(-1)?.seq ?? 0));
    return this.#mark.at;
  }

  override drop(): void {
    super.drop();
    this.#mark.forget();
  }

  override forget(): void {
    super.forget();
    this.#mark.forget();
  }

  #count(row: HarmRow): void {
    const messageId = harmfulMessage(row);
    if (messageId === null) return;
    const { accountId, createdAt } = row;
    if (this.#ownerOf.get(messageId)?.accountId !== accountId) return;
    const hour = hourOf(createdAt);
    this.add(`${hour} ${accountId}`, { hour, accountId, ...harmOf(row) });
  }

  protected merge(into: Sum, by: Sum): void {
    into.hardBounces += by.hardBounces;
    into.complaints += by.complaints;
  }

  protected write({ hour, accountId, hardBounces, complaints }: Sum): void {
    this.#add.run(hour, accountId, hardBounces, complaints);
  }
}
