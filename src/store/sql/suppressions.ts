/**
 * Reads of single suppressions, by their address or id.
 *
 * Never shows a removed row. The list, with its cursors and its search, is each engine's own.
 */
import type { Suppression } from '../rows.ts';
import type { SuppressionStore } from '../suppressions.ts';
import { SELECT_SUPPRESSION } from './columns.ts';
import type { SuppressionRow } from './columns.ts';
import type { SqlReader } from './reader.ts';

const BY_ADDRESS =
  SELECT_SUPPRESSION + ' WHERE account_id = ? AND email = ? AND removed_at IS NULL';
const BY_ID = SELECT_SUPPRESSION + ' WHERE id = ? AND account_id = ? AND removed_at IS NULL';

export function suppressionReads(
  sql: SqlReader,
): Pick<SuppressionStore, 'suppression' | 'suppressionById' | 'suppressed'> {
  return {
    suppression: (accountId, email) => sql.one<SuppressionRow>(BY_ADDRESS, accountId, email),
    suppressionById: (accountId, id) => sql.one<SuppressionRow>(BY_ID, id, accountId),
    async suppressed(accountId, emails) {
      const found = new Map<string, Suppression>();
      const rows = await Promise.all(
        emails.map((email) => sql.one<SuppressionRow>(BY_ADDRESS, accountId, email)),
      );
      for (const row of rows) if (row !== null) found.set(row.email, row);
      return found;
    },
  };
}
