/**
 * The suppressions that a transaction adds: decided by `suppression-strength.ts` over rows that it has locked.
 *
 * Promises one row an address and account; what comes back after a removal gets a new position, at the head of the list.
 * A row that another node adds in the same moment is kept as that node has written it.
 */
import { harmfulMessage } from '../counted.ts';
import type { Suppression } from '../rows.ts';
import { effectOf } from '../suppression-strength.ts';
import type { StoredSuppression } from '../suppression-strength.ts';
import type { Session } from './database.ts';
import { insertInto, part, table, updateFrom } from './statement.ts';
import type { Part } from './statement.ts';
import type { Sums } from './sums.ts';
import { SUPPRESSIONS } from './tables.ts';

/** The row that an address has, live or removed. */
interface StoredRow extends StoredSuppression, Suppression {
  seq: number | null;
}

const STRENGTHENED = table('suppressions', {
  seq: 'int8',
  id: 'uuid',
  reason: 'text',
  source: 'text',
  note: 'text',
});

const keyOf = ({ accountId, email }: Pick<Suppression, 'accountId' | 'email'>): string =>
  `${accountId} ${email}`;

export class SuppressionRows {
  readonly #stored: Map<string, StoredRow>;
  /** Messages of the accounts themselves that rows name as their source. */
  readonly #own: ReadonlySet<string>;
  readonly #sums: Sums;
  readonly #added = new Map<string, StoredRow>();
  readonly #strengthened = new Map<string, StoredRow>();

  private constructor(stored: Map<string, StoredRow>, own: ReadonlySet<string>, sums: Sums) {
    this.#stored = stored;
    this.#own = own;
    this.#sums = sums;
  }

  /** Locks the rows of the addresses of `about`. */
  static async read(
    session: Session,
    about: readonly Suppression[],
    sums: Sums,
  ): Promise<SuppressionRows> {
    if (about.length === 0) return new SuppressionRows(new Map(), new Set(), sums);
    const [rows, own] = await Promise.all([
      session.all<StoredRow>(
        part(
          'SELECT seq, id, account_id AS "accountId", email, reason, source, note, created_at AS "createdAt",' +
            ' removed_at AS "removedAt" FROM suppressions WHERE (account_id, email) IN' +
            ' (SELECT * FROM unnest($1::uuid[], $2::text[])) ORDER BY account_id, email FOR UPDATE',
          about.map(({ accountId }) => accountId),
          about.map(({ email }) => email),
        ),
      ),
      session.all<{ id: string; accountId: string }>(
        part(
          'SELECT id, account_id AS "accountId" FROM messages WHERE id = ANY($1::uuid[])',
          about.flatMap((row) => harmfulMessage(row) ?? []),
        ),
      ),
    ]);
    return new SuppressionRows(
      new Map(rows.map((row) => [keyOf(row), row])),
      new Set(own.map(({ id, accountId }) => `${accountId} ${id}`)),
      sums,
    );
  }

  /** Whether something changes. */
  add(row: Suppression): boolean {
    const key = keyOf(row);
    const stored = this.#stored.get(key) ?? null;
    const effect = effectOf(row, stored);
    if (effect === 'kept') return false;
    const message = harmfulMessage(row);
    const isHarm = message !== null && this.#own.has(`${row.accountId} ${message}`);
    if (effect === 'strengthened' && stored !== null) {
      const { id, reason, source, note } = row;
      const next = { ...stored, id, reason, source, note };
      this.#stored.set(key, next);
      // What this transaction itself adds is not there yet: it is added as it is now.
      (this.#added.has(key) ? this.#added : this.#strengthened).set(key, next);
      if (isHarm) this.#sums.harm(next);
      return true;
    }
    const next = { ...row, seq: null, removedAt: null };
    this.#stored.set(key, next);
    this.#added.set(key, next);
    if (isHarm) this.#sums.harm(row);
    return true;
  }

  /** The row of the address as it stands after all of it; null when it has none. */
  get(row: Suppression): Suppression | null {
    const stored = this.#stored.get(keyOf(row));
    if (stored === undefined || stored.removedAt !== null) return null;
    const { seq: _seq, removedAt: _removedAt, ...suppression } = stored;
    return suppression;
  }

  /** What writes them. */
  parts(): Part[] {
    const parts: Part[] = [];
    const added = rowsOf(this.#added);
    if (added.length > 0) parts.push(insertInto(SUPPRESSIONS, added, REPLACE_WEAKER));
    if (this.#strengthened.size > 0)
      parts.push(updateFrom(STRENGTHENED, ['seq'], rowsOf(this.#strengthened)));
    return parts;
  }
}

/** Instead of the mark of a removed row, or of a weaker one that another node has just added. */
const REPLACE_WEAKER =
  'ON CONFLICT (account_id, email) DO UPDATE SET seq = DEFAULT, id = excluded.id, reason = excluded.reason,' +
  ' source = excluded.source, note = excluded.note, created_at = excluded.created_at, removed_at = NULL' +
  " WHERE suppressions.removed_at IS NOT NULL OR (suppressions.reason = 'manual' AND excluded.reason <> 'manual')";

/** In the order in which they were added, which is that of the list. */
const rowsOf = (rows: ReadonlyMap<string, StoredRow>) =>
  [...rows.values()].map((row) => ({ ...row }));
