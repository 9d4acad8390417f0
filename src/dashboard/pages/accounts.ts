/**
 * Accounts: create, pause, resume; and the account that other pages belong to.
 *
 * The work is in flow/accounts. Fails with the refusals of that folder, such as a name in use.
 */
import type { AccountStatus } from '../../base/status.ts';
import { accountNamed, createAccount, setAccountStatus } from '../../flow/accounts/accounts.ts';
import { usageOf } from '../../flow/accounts/usage.ts';
import type { Account } from '../../store/rows.ts';
import { html, type Html } from '../frame/html.ts';
import { action } from '../frame/action.ts';
import { ROOT, accountPath } from '../frame/navigation.ts';
import { table } from '../frame/table.ts';
import { badge, time } from '../frame/values.ts';
import { field, type Page, param, type Visit } from '../frame/visit.ts';

const PATH = `${ROOT}/accounts`;

/** The account in the path. Throws `ApiError` `not_found`. */
export function accountOf(visit: Visit): Promise<Account> {
  return accountNamed(visit.ctx, param(visit, 'account'));
}

export const accountPages: readonly Page[] = [
  {
    method: 'GET',
    path: '/accounts',
    async open({ ctx }) {
      const accounts = await ctx.store.accounts();
      const rows = await Promise.all(
        accounts.map(async (account) => {
          const { usage, storage } = await usageOf(ctx, account);
          return [
            html`<a href="${accountPath(account)}/emails">${account.name}</a>`,
            html`${badge(account.status)} ${account.statusReason}`,
            account.plan,
            html`${usage.usedThisMonth}
            ${usage.includedEmails !== null && `of ${usage.includedEmails}`}`,
            html`${storage.usedBytes}`,
            time(account.createdAt),
            statusForm(account),
          ];
        }),
      );
      const plans = [...ctx.config.live.plans.keys()];
      const body = html`${table(
          ['Account', 'Status', 'Plan', 'Sent this month', 'Bytes kept', 'Created', ''],
          rows,
          'No accounts yet.',
        )}
        <h2>New account</h2>
        <form method="post" action="${PATH}">
          <label>Name <input name="name" required maxlength="60" /></label>
          <label
            >Plan
            <select name="plan">
              ${plans.map((plan) => html`<option>${plan}</option>`)}
            </select></label
          >
          <button>Create account</button>
        </form>`;
      return { kind: 'page', title: 'Accounts', account: null, body };
    },
  },
  {
    method: 'POST',
    path: '/accounts',
    mainField: 'name',
    async open(visit) {
      const input = { name: field(visit, 'name'), plan: field(visit, 'plan') || 'unlimited' };
      await createAccount(visit.ctx, input);
      return { kind: 'redirect', to: PATH, done: 'added' };
    },
  },
  statusPage('pause', 'paused'),
  statusPage('payment-required', 'payment_required'),
  statusPage('resume', 'active'),
];

function statusPage(verb: string, status: AccountStatus): Page {
  return {
    method: 'POST',
    path: `/accounts/:account/${verb}`,
    async open(visit) {
      const { id } = await accountOf(visit);
      await setAccountStatus(visit.ctx, id, status, field(visit, 'reason') || null);
      return { kind: 'redirect', to: PATH, done: 'saved' };
    },
  };
}

function statusForm(account: Account): Html {
  const base = accountPath(account);
  if (account.status !== 'active') return action(`${base}/resume`, 'Resume');
  return html`<form class="inline" method="post" action="${base}/pause">
    <input
      name="reason"
      placeholder="Reason (shown to senders)"
      aria-label="Reason"
      maxlength="200"
    />
    <button class="danger">Pause</button>
  </form>`;
}
