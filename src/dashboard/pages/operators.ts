/**
 * Operators: who may sign in, with which role, to the whole appliance or to one account.
 *
 * The work is in flow/people; `access.ts` keeps these pages from operators of one account. Promises that a password is
 * shown once, in the response that makes it.
 */
import { ApiError, validationFailed } from '../../base/errors.ts';
import { accountNamed, accountNames } from '../../flow/accounts/accounts.ts';
import {
  addOperator,
  operatorNamed,
  removeOperator,
  resetPassword,
} from '../../flow/people/operators.ts';
import { disableTotp } from '../../flow/people/totp.ts';
import type { Operator } from '../../store/people.ts';
import type { Account } from '../../store/rows.ts';
import { action, actions, confirm } from '../frame/action.ts';
import { form } from '../frame/form.ts';
import { html, type Html } from '../frame/html.ts';
import { ROOT } from '../frame/navigation.ts';
import { card, table } from '../frame/table.ts';
import { badge, copyable, count, time } from '../frame/values.ts';
import { field, param, type Page, type PageResponse, type Visit } from '../frame/visit.ts';
import { choiceField, OFFERED } from './offered.ts';

const PATH = `${ROOT}/operators`;

export const operatorPages: readonly Page[] = [
  {
    method: 'GET',
    path: '/operators',
    async open(visit) {
      const { store } = visit.ctx;
      const [operators, accounts] = await Promise.all([store.operators(), store.accounts(OFFERED)]);
      const names = await accountNames(
        visit.ctx,
        operators.map(({ accountId }) => accountId),
      );
      const body = html`${table(
        [['Name', 'title'], 'Role', 'Sees', 'Second factor', 'Last sign-in', ''],
        operators.map((one) => cells(visit, one, names)),
        'There are no operators.',
      )}
      ${card('Add an operator', newOperator(visit, accounts))}`;
      return { kind: 'page', title: 'Operators', account: null, body };
    },
  },
  {
    method: 'POST',
    path: '/operators',
    mainField: 'name',
    async open(visit) {
      const role = field(visit, 'role') === 'admin' ? 'admin' : 'read_only';
      const accountId = await accountIdIn(visit);
      const name = field(visit, 'name').toLowerCase();
      const { password } = await addOperator(visit.ctx, { name, role, accountId });
      return passwordPage(`Operator ${name}`, name, password);
    },
  },
  {
    method: 'POST',
    path: '/operators/:name/password',
    async open(visit) {
      const name = param(visit, 'name');
      return passwordPage(`New password of ${name}`, name, await resetPassword(visit.ctx, name));
    },
  },
  {
    method: 'POST',
    path: '/operators/:name/totp-reset',
    async open(visit) {
      await disableTotp(visit.ctx, await operatorNamed(visit.ctx, param(visit, 'name')));
      return { kind: 'redirect', to: PATH, done: 'saved' };
    },
  },
  {
    method: 'POST',
    path: '/operators/:name/remove',
    async open(visit) {
      const name = param(visit, 'name');
      if (name === visit.operator?.name) {
        const message = 'You cannot remove yourself: let another operator do it.';
        throw validationFailed([{ path: 'name', message }]);
      }
      await removeOperator(visit.ctx, name);
      return { kind: 'redirect', to: PATH, done: 'removed' };
    },
  },
];

/** The account that a new operator is to see alone; null for all. Throws `not_found` at its field. */
async function accountIdIn(visit: Visit): Promise<string | null> {
  const asked = field(visit, 'account');
  if (asked === '') return null;
  try {
    return (await accountNamed(visit.ctx, asked)).id;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw error.with({ issues: [{ path: 'account', message: error.message }] });
  }
}

function cells(
  visit: Visit,
  operator: Operator,
  names: ReadonlyMap<string, string>,
): (Html | string | null)[] {
  const { name, role, accountId, sealedTotp, recoveryCodes, signedInAt } = operator;
  const base = `${PATH}/${encodeURIComponent(name)}`;
  return [
    html`<strong>${name}</strong>`,
    role === 'admin' ? 'May change' : 'Read-only',
    accountId === null ? 'Everything' : `Only ${names.get(accountId) ?? accountId}`,
    sealedTotp === null
      ? badge('none', 'neutral')
      : html`${badge('on', 'good')} ${count(recoveryCodes, 'recovery code')} left`,
    time(signedInAt) ?? 'Never',
    actions([
      action(visit, `${base}/password`, 'New password'),
      sealedTotp !== null && action(visit, `${base}/totp-reset`, 'Reset second factor'),
      confirm(visit, {
        to: `${base}/remove`,
        label: 'Remove',
        words: `${name} can no longer sign in, and every session of ${name} ends.`,
        sure: `Remove ${name}`,
      }),
    ]),
  ];
}

function newOperator(visit: Visit, accounts: readonly Account[]): Html | null {
  return form(visit, {
    to: PATH,
    submit: 'Add operator',
    fields: [
      {
        kind: 'text',
        name: 'name',
        label: 'Name',
        hint: 'For signing in: lower-case letters and digits, or a mail address.',
        required: true,
        maxLength: 60,
      },
      {
        kind: 'select',
        name: 'role',
        label: 'Role',
        options: [
          ['read_only', 'Read-only: looks at everything below, changes nothing'],
          ['admin', 'May change what it sees'],
        ],
      },
      choiceField(accounts, {
        name: 'account',
        label: 'Sees',
        value: null,
        none: 'The whole appliance',
        wordsOf: ({ name }) => `Only the account ${name}`,
        hint: 'The name or the id of one account; empty for the whole appliance.',
      }),
    ],
  });
}

function passwordPage(title: string, name: string, password: string): PageResponse {
  const body = html`<p class="notice" role="status">
      Hand the password over now. It is shown only once; ${name} can choose another one after
      signing in.
    </p>
    <p>${copyable(password, 'Copy the password')}</p>
    <p><a href="${PATH}">Back to the operators</a></p>`;
  return { kind: 'page', title, account: null, body };
}
