/**
 * Reads of the suppression list.
 *
 * Promises newest first; a cursor is an address and holds when its row has been removed since, because
 * removed rows stay. Looks never show a removed row.
 */
import type { Database } from 'bun:sqlite';
import { SELECT_SUPPRESSION } from './columns.ts';
import type { SuppressionRow } from './columns.ts';
import { pageOf } from './paging.ts';
import type { Suppression } from './rows.ts';
import type { Page } from './store.ts';
import type { Reads } from './verbs.ts';

interface Place {
  createdAt: number;
  seq: number;
}

const NEWEST: Place = { createdAt: Number.MAX_SAFE_INTEGER, seq: Number.MAX_SAFE_INTEGER };

/** The verbs over a reading connection; statements are prepared once, here. */
export function suppressionReads(
  db: Database,
): Pick<Reads, 'suppression' | 'suppressed' | 'suppressions'> {
  const live = db.prepare<SuppressionRow, [string, string]>(
    SELECT_SUPPRESSION + ' WHERE account_id = ? AND email = ? AND removed_at IS NULL',
  );
  const placeOf = db.prepare<Place, [string, string]>(
    'SELECT created_at AS createdAt, seq FROM suppressions WHERE account_id = ? AND email = ?',
  );
  const older = db.prepare<SuppressionRow, [string, number, number, number]>(
    SELECT_SUPPRESSION +
      ' WHERE account_id = ? AND removed_at IS NULL AND (created_at, seq) < (?, ?)' +
      ' ORDER BY created_at DESC, seq DESC LIMIT ?',
  );
  const newer = db.prepare<SuppressionRow, [string, number, number, number]>(
    SELECT_SUPPRESSION +
      ' WHERE account_id = ? AND removed_at IS NULL AND (created_at, seq) > (?, ?)' +
      ' ORDER BY created_at, seq LIMIT ?',
  );

  const rows = (accountId: string, page: Page, limit: number): SuppressionRow[] => {
    const cursor = page.before ?? page.after;
    const place = cursor === null ? NEWEST : placeOf.get(accountId, cursor);
    // An address that never was in the list says nothing about where to go on.
    if (place === null) return [];
    return (page.before === null ? older : newer).all(accountId, place.createdAt, place.seq, limit);
  };

  return {
    suppression: (accountId, email) => live.get(accountId, email),
    suppressed(accountId, emails) {
      const found = new Map<string, Suppression>();
      for (const email of emails) {
        const row = live.get(accountId, email);
        if (row !== null) found.set(email, row);
      }
      return found;
    },
    suppressions(accountId, q, page) {
      if (q === null || q === '') {
        return pageOf(rows(accountId, page, page.limit + 1), page, (row) => row);
      }
      const wanted = q.toLowerCase();
      const matches = rows(accountId, page, -1).filter((row) => row.email.includes(wanted));
      return pageOf(matches.slice(0, page.limit + 1), page, (row) => row);
    },
  };
}
