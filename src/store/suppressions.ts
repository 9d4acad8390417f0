/**
 * The port for suppressions: the addresses that an account may not write to.
 *
 * Promises one row an address and account; addresses are in lower case. A row keeps its reason, except that a stronger
 * one replaces `manual`, which the account itself could lift. The list's cursor is an address or the id of a row, and
 * holds for a week after the address was removed.
 */
import type { SuppressionReason } from '../base/status.ts';
import type { Page, PageOf } from './pages.ts';
import type { Suppression } from './rows.ts';

export interface SuppressionStore {
  /** Returns the row that stands afterwards. */
  addSuppression(suppression: Suppression): Promise<Suppression>;
  /** Returns how many were new or became stronger. In steps: a failure halfway leaves what came before. */
  addSuppressions(rows: Suppression[]): Promise<number>;
  /** False when the address was not in the list. */
  removeSuppression(accountId: string, email: string, now: number): Promise<boolean>;
  suppression(accountId: string, email: string): Promise<Suppression | null>;
  suppressionById(accountId: string, id: string): Promise<Suppression | null>;
  /** Of `emails` those that are in the list, by address. */
  suppressed(accountId: string, emails: string[]): Promise<Map<string, Suppression>>;
  /** Newest first; `q`: substring of the address, whatever its case. With `reason` the rows of this one alone. */
  suppressions(
    accountId: string,
    q: string | null,
    page: Page,
    reason?: SuppressionReason,
  ): Promise<PageOf<Suppression>>;
}
