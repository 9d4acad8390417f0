/**
 * The suppression list's writes.
 *
 * Promises one row an address and account. A row stays when it is removed (marked, not deleted), because
 * the list's cursor is the address. What replaces what says `suppression-strength.ts`.
 */
import type { Database } from 'bun:sqlite';
import { SELECT_SUPPRESSION } from '../sql/columns.ts';
import type { SuppressionRow } from '../sql/columns.ts';
import type { Suppression } from '../rows.ts';
import { effectOf } from '../suppression-strength.ts';
import type { StoredSuppression } from '../suppression-strength.ts';
import type { HarmCounts, HarmRow } from './harm-counts.ts';
import type { Writes } from './verbs.ts';

/** The row that an address has, live or removed. */
type StoredRow = StoredSuppression & Pick<HarmRow, 'seq' | 'createdAt'>;

export class SuppressionWriter {
  readonly #harm: HarmCounts;
  readonly #stored;
  readonly #add;
  readonly #strengthen;
  readonly #drop;
  readonly #remove;
  readonly #get;

  constructor(db: Database, harm: HarmCounts) {
    this.#harm = harm;
    this.#stored = db.prepare<StoredRow, [string, string]>(
      'SELECT seq, reason, removed_at AS removedAt, created_at AS createdAt FROM suppressions' +
        ' WHERE account_id = ? AND email = ?',
    );
    this.#add = db.prepare(
      'INSERT INTO suppressions (id, account_id, email, reason, source, note, created_at)' +
        ' VALUES (?, ?, ?, ?, ?, ?, ?)',
    );
    this.#strengthen = db.prepare(
      'UPDATE suppressions SET id = ?, reason = ?, source = ?, note = ? WHERE seq = ?',
    );
    this.#drop = db.prepare('DELETE FROM suppressions WHERE seq = ?');
    this.#remove = db.prepare(
      'UPDATE suppressions SET removed_at = ? WHERE account_id = ? AND email = ? AND removed_at IS NULL',
    );
    this.#get = db.prepare<SuppressionRow, [string, string]>(
      SELECT_SUPPRESSION + ' WHERE account_id = ? AND email = ? AND removed_at IS NULL',
    );
  }

  /** Whether something changed. */
  add(row: Suppression): boolean {
    const { id, accountId, email, reason, source, note, createdAt } = row;
    const stored = this.#stored.get(accountId, email);
    const effect = effectOf(row, stored);
    if (effect === 'kept') return false;
    if (effect === 'strengthened' && stored !== null) {
      this.#strengthen.run(id, reason, source, note, stored.seq);
      this.#harm.note({ ...row, seq: stored.seq, createdAt: stored.createdAt });
      return true;
    }
    // What comes back after a removal is new: it stands at the head of the list again.
    if (stored !== null) this.#drop.run(stored.seq);
    const { lastInsertRowid } = this.#add.run(
      id,
      accountId,
      email,
      reason,
      source,
      note,
      createdAt,
    );
    this.#harm.note({ ...row, seq: Number(lastInsertRowid) });
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
