/**
 * The suppression list's writes.
 *
 * Promises one row an address and account. A row stays when it is removed (marked, not deleted), because
 * the list's cursor is the address. A live row keeps its reason, except that a stronger one replaces
 * `manual`, which the account itself could lift.
 */
import type { Database } from 'bun:sqlite';
import { SELECT_SUPPRESSION } from './columns.ts';
import type { SuppressionRow } from './columns.ts';
import type { Suppression } from '../rows.ts';
import type { Harm, HarmCounts } from './harm-counts.ts';
import type { Writes } from './verbs.ts';

type AddedRow = [string, string, string, string, string | null, string | null, number];

export class SuppressionWriter {
  readonly #add;
  readonly #harm: HarmCounts;
  readonly #dropRemoved;
  readonly #remove;
  readonly #get;

  constructor(db: Database, harm: HarmCounts) {
    this.#harm = harm;
    this.#add = db.prepare<Pick<Harm, 'seq' | 'createdAt'>, AddedRow>(
      'INSERT INTO suppressions (id, account_id, email, reason, source, note, created_at)' +
        ' VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (account_id, email) DO UPDATE SET' +
        ' id = excluded.id, reason = excluded.reason, source = excluded.source, note = excluded.note' +
        " WHERE reason = 'manual' AND excluded.reason <> 'manual' RETURNING seq, created_at AS createdAt",
    );
    this.#dropRemoved = db.prepare(
      'DELETE FROM suppressions WHERE account_id = ? AND email = ? AND removed_at IS NOT NULL',
    );
    this.#remove = db.prepare(
      'UPDATE suppressions SET removed_at = ? WHERE account_id = ? AND email = ? AND removed_at IS NULL',
    );
    this.#get = db.prepare<SuppressionRow, [string, string]>(
      SELECT_SUPPRESSION + ' WHERE account_id = ? AND email = ? AND removed_at IS NULL',
    );
  }

  /** Whether something changed. */
  add(row: Suppression): boolean {
    // What comes back after a removal is new: it stands at the head of the list again.
    this.#dropRemoved.run(row.accountId, row.email);
    const written = this.#add.get(
      row.id,
      row.accountId,
      row.email,
      row.reason,
      row.source,
      row.note,
      row.createdAt,
    );
    if (written === null) return false;
    this.#harm.note({ ...row, ...written });
    return true;
  }

  remove(accountId: string, email: string, now: number): boolean {
    return this.#remove.run(now, accountId, email).changes === 1;
  }

  get(accountId: string, email: string): Suppression | null {
    return this.#get.get(accountId, email);
  }
}

/** The verbs over `suppressions`. */
export function suppressionWrites(
  suppressions: SuppressionWriter,
): Pick<Writes, 'addSuppression' | 'addSuppressionsStep' | 'removeSuppression'> {
  return {
    addSuppression(row) {
      suppressions.add(row);
      return suppressions.get(row.accountId, row.email) ?? row;
    },
    addSuppressionsStep(rows) {
      let added = 0;
      for (const row of rows) if (suppressions.add(row)) added += 1;
      return added;
    },
    removeSuppression(accountId, email, now) {
      return suppressions.remove(accountId, email, now);
    },
  };
}
