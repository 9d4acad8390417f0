/** What pages of an account say of whom its plan lets it mail, and where the list of these is. */
import { planOf } from '../../flow/accounts/plans.ts';
import type { Account } from '../../store/rows.ts';
import { html, type Html } from '../frame/html.ts';
import { accountPath } from '../frame/navigation.ts';
import type { Visit } from '../frame/visit.ts';

export function recipientsPath(account: Pick<Account, 'id'>): string {
  return `${accountPath(account)}/recipients`;
}

/** That the plan allows confirmed recipients alone; null where it allows all. */
export function recipientsNote(
  { ctx, may }: Pick<Visit, 'ctx' | 'may'>,
  account: Account,
): Html | null {
  if (!planOf(ctx.config.live.plans, account).confirmedRecipientsOnly) return null;
  const path = recipientsPath(account);
  const words = 'confirmed recipients';
  return html`<p>
    The plan of this account allows emails only to
    ${may('GET', path) ? html`<a href="${path}">${words}</a>` : words} and to addresses at its
    verified domains.
  </p>`;
}
