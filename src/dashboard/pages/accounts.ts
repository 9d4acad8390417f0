/**
 * Accounts and plans: create, edit, pause, resume; what each has used; and the account that other pages belong to.
 *
 * The work is in flow/accounts. Plans stand in the config file and are only shown here.
 */
import type { Plan } from '../../base/config.ts';
import type { AccountStatus } from '../../base/status.ts';
import {
  accountNamed,
  changeAccount,
  createAccount,
  setAccountStatus,
} from '../../flow/accounts/accounts.ts';
import { usageOf } from '../../flow/accounts/usage.ts';
import type { Account } from '../../store/rows.ts';
import { action, actions, confirm, type Confirmation, linkButton } from '../frame/action.ts';
import { type FieldSpec, form } from '../frame/form.ts';
import { html, type Html, type HtmlValue } from '../frame/html.ts';
import { ROOT, accountPath } from '../frame/navigation.ts';
import { card, table } from '../frame/table.ts';
import { badge, bytes, copyable, number, time } from '../frame/values.ts';
import { field, type Page, param, type Visit } from '../frame/visit.ts';
import { longList } from './long-list.ts';
import { recipientsNote } from './recipients-note.ts';

const PATH = `${ROOT}/accounts`;

/** The account in the path. Throws `ApiError` `not_found`. */
export function accountOf(visit: Visit): Promise<Account> {
  return accountNamed(visit.ctx, param(visit, 'account'));
}

export const accountPages: readonly Page[] = [
  { method: 'GET', path: '/accounts', open: list },
  {
    method: 'POST',
    path: '/accounts',
    mainField: 'name',
    async open(visit) {
      const input = { name: field(visit, 'name'), plan: field(visit, 'plan') || 'unlimited' };
      const account = await createAccount(visit.ctx, input);
      return { kind: 'redirect', to: `${accountPath(account)}/domains`, done: 'account_added' };
    },
  },
  { method: 'GET', path: '/accounts/:account/edit', isForm: true, open: editPage },
  {
    method: 'POST',
    path: '/accounts/:account/edit',
    mainField: 'name',
    async open(visit) {
      const { id } = await accountOf(visit);
      const input = { name: field(visit, 'name'), plan: field(visit, 'plan') };
      await changeAccount(visit.ctx, id, input);
      return { kind: 'redirect', to: PATH, done: 'saved' };
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

async function list(visit: Visit): ReturnType<Page['open']> {
  const { ctx } = visit;
  const accounts = await longList(visit, PATH, {
    noun: 'account',
    part: (part) => ctx.store.accounts(part),
    named: (name) => ctx.store.account(name),
  });
  const rows = await Promise.all(accounts.rows.map((account) => accountCells(visit, account)));
  const plans = [...ctx.config.live.plans.values()];
  const body = html`${accounts.search}
  ${table(
    [
      ['Account', 'title'],
      ['Status', 'state'],
      'Plan',
      ['Sent this month', 'number'],
      ['Kept', 'number'],
      ['Created', 'minor'],
      '',
    ],
    rows,
    accounts.none ?? 'No accounts yet.',
  )}
  ${accounts.pager}
  ${card(
    'Create an account',
    form(visit, {
      to: PATH,
      fields: [nameField(''), planField(plans, 'unlimited')],
      submit: 'Create account',
    }),
  )}
  ${card(
    'Plans',
    html`<p class="soft">
        Plans stand in the config file, under <code>[[plans]]</code>; a reload takes changes over.
      </p>
      ${planTable(plans)}`,
  )}`;
  return { kind: 'page', title: 'Accounts', account: null, body };
}

async function accountCells(visit: Visit, account: Account): Promise<HtmlValue[]> {
  const { usage, storage } = await usageOf(visit.ctx, account);
  const path = accountPath(account);
  const included = usage.includedEmails;
  return [
    html`<a href="${path}/emails">${account.name}</a>`,
    html`<span>${badge(account.status)} ${account.statusReason}</span>`,
    account.plan,
    html`<a href="${path}/usage"
      >${number(usage.usedThisMonth)}${included !== null && ` of ${number(included)}`}</a
    >`,
    bytes(storage.usedBytes),
    time(account.createdAt),
    actions([linkButton(visit, `${path}/edit`, 'Edit'), statusForm(visit, account)]),
  ];
}

function statusForm(visit: Visit, account: Account): Html | null {
  if (account.status !== 'active') {
    return action(visit, `${accountPath(account)}/resume`, 'Resume');
  }
  return confirm(visit, {
    ...stopped(account, 'pause'),
    label: 'Pause',
    sure: `Pause ${account.name}`,
  });
}

/** Every change of the status, with the present one. */
function statusControls(visit: Visit, account: Account): Html {
  const { name, status, statusReason } = account;
  return html`<p>${badge(status)} ${statusReason}</p>
    ${actions([
      statusForm(visit, account),
      status === 'active' &&
        confirm(visit, {
          ...stopped(account, 'payment-required'),
          label: 'Stop until it is paid',
          sure: `Stop ${name} until it is paid`,
        }),
    ])}`;
}

function stopped(
  account: Account,
  verb: 'pause' | 'payment-required',
): Pick<Confirmation, 'to' | 'words' | 'inputs'> {
  return {
    to: `${accountPath(account)}/${verb}`,
    words: `New emails of ${account.name} are refused with the reason. What was accepted is still delivered.`,
    inputs: html`<p class="field">
      <label>Reason (shown to senders) <input name="reason" maxlength="200" /></label>
    </p>`,
  };
}

function nameField(value: string): FieldSpec {
  return { kind: 'text', name: 'name', label: 'Name', value, required: true, maxLength: 60 };
}

function planField(plans: readonly Plan[], value: string, hint?: string): FieldSpec {
  const options = plans.map(({ id }) => [id, id] as const);
  return {
    kind: 'select',
    name: 'plan',
    label: 'Plan',
    value,
    options,
    ...(hint !== undefined && { hint }),
  };
}

function planTable(plans: readonly Plan[]): Html {
  return table(
    [
      ['Plan', 'title'],
      ['Emails a month', 'number'],
      ['Emails a day', 'number'],
      ['Domains', 'number'],
      ['Content kept', 'number'],
      ['Logs', 'number'],
      ['Requests', 'number'],
    ],
    plans.map((plan) => [
      plan.id,
      limit(plan.includedEmails),
      limit(plan.dailyLimit),
      limit(plan.maxDomains >= 1_000_000 ? null : plan.maxDomains),
      plan.storageBytes === null ? NO_LIMIT : bytes(plan.storageBytes),
      `${plan.logRetentionDays} days`,
      `${number(plan.ratePerSecond)} a second`,
    ]),
    '',
  );
}

const NO_LIMIT = html`<span class="soft">no limit</span>`;

function limit(value: number | null): HtmlValue {
  return value === null ? NO_LIMIT : number(value);
}

async function editPage(visit: Visit): ReturnType<Page['open']> {
  const account = await accountOf(visit);
  const plans = [...visit.ctx.config.live.plans.values()];
  const body = html`${card(
      'Name and plan',
      form(visit, {
        to: `${accountPath(account)}/edit`,
        fields: [
          nameField(account.name),
          planField(
            plans,
            account.plan,
            'Holds for the next request. What was used this month counts against the new plan.',
          ),
        ],
        submit: 'Save',
      }),
    )}
    ${card('Status', statusControls(visit, account))} ${recipientsNote(visit, account)}
    <p>Id ${copyable(account.id, 'Copy the id')}</p>`;
  const up = { label: 'Accounts', href: PATH };
  return { kind: 'page', title: `Edit ${account.name}`, account, body, up };
}
