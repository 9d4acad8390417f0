/**
 * API keys of an account: create, rename, revoke.
 *
 * Promises that the text of a key is shown once, in the response that creates it.
 */
import { createKey, renameKey, revokeKey } from '../../flow/accounts/keys.ts';
import type { Key } from '../../store/rows.ts';
import { actions, confirm } from '../frame/action.ts';
import { form } from '../frame/form.ts';
import { html, type Html } from '../frame/html.ts';
import { accountPath } from '../frame/navigation.ts';
import { card, empty, table } from '../frame/table.ts';
import { badge, copyable, count, time } from '../frame/values.ts';
import { field, type Page, param, type Visit } from '../frame/visit.ts';
import { accountOf } from './accounts.ts';
import { shownKeys } from './shown-keys.ts';

const ROUTE = '/accounts/:account/keys';

export const keyPages: readonly Page[] = [
  { method: 'GET', path: ROUTE, open: list },
  {
    method: 'POST',
    path: ROUTE,
    mainField: 'name',
    async open(visit) {
      const account = await accountOf(visit);
      const { token } = await createKey(visit.ctx, account.id, {
        name: field(visit, 'name'),
        permission: field(visit, 'permission') === 'full_access' ? 'full_access' : 'sending_access',
        isTest: field(visit, 'environment') === 'test',
      });
      const back = `${accountPath(account)}/keys`;
      const body = html`<p class="notice good" role="status">
          Copy the key now. It is shown only once.
        </p>
        <p>${copyable(token, 'Copy the key')}</p>
        <p><a class="button plain" href="${back}">Back to API keys</a></p>`;
      const up = { label: 'API keys', href: back };
      return { kind: 'page', title: 'New API key', account, body, up };
    },
  },
  {
    method: 'POST',
    path: `${ROUTE}/:id/rename`,
    async open(visit) {
      const account = await accountOf(visit);
      await renameKey(visit.ctx, account.id, param(visit, 'id'), field(visit, 'name'));
      return { kind: 'redirect', to: `${accountPath(account)}/keys`, done: 'saved' };
    },
  },
  {
    method: 'POST',
    path: `${ROUTE}/:id/revoke`,
    async open(visit) {
      const account = await accountOf(visit);
      await revokeKey(visit.ctx, account.id, param(visit, 'id'));
      return { kind: 'redirect', to: `${accountPath(account)}/keys`, done: 'revoked' };
    },
  },
];

async function list(visit: Visit): ReturnType<Page['open']> {
  const account = await accountOf(visit);
  const path = `${accountPath(account)}/keys`;
  const { keys, more } = await shownKeys(visit.ctx.store, account.id);
  // Those that work first; the newest of each first.
  const sorted = keys
    .toReversed()
    .sort((a, b) => Number(a.revokedAt !== null) - Number(b.revokedAt !== null));
  const body = html`${table(
    [
      ['Name', 'title'],
      'Key',
      'Permission',
      ['Mode', 'state'],
      ['Created', 'minor'],
      'Last used',
      '',
    ],
    sorted.map((key) => [
      html`<a href="${accountPath(account)}/logs?key=${key.id}">${key.name}</a>`,
      html`<code class="nowrap">${key.prefix}…${key.last4}</code>`,
      key.permission === 'full_access' ? 'Full access' : 'Sending only',
      key.isTest ? badge('sandbox') : badge('live'),
      time(key.createdAt),
      time(key.lastUsedAt) ?? html`<span class="soft">never</span>`,
      key.revokedAt === null
        ? changes(visit, path, key)
        : html`${badge('revoked')} ${time(key.revokedAt)}`,
    ]),
    empty('No API keys yet', 'A program needs a key to send. Its text is shown once, here.'),
  )}
  ${
    more > 0 &&
    html`<p class="soft">
      ${count(more, 'older revoked key')} ${more === 1 ? 'is' : 'are'} not shown; the API lists all.
    </p>`
  }
  ${card('Create a key', newKey(visit, path))}`;
  return { kind: 'page', title: 'API keys', account, body };
}

function changes(visit: Visit, path: string, key: Key): Html | null {
  const used =
    key.lastUsedAt === null ? 'It was never used.' : html`Last used ${time(key.lastUsedAt)}.`;
  return actions([
    confirm(visit, {
      to: `${path}/${key.id}/rename`,
      label: 'Rename',
      words: '',
      sure: 'Rename',
      kind: 'plain',
      inputs: html`<p class="field">
        <label>New name <input name="name" value="${key.name}" required maxlength="60" /></label>
      </p>`,
    }),
    confirm(visit, {
      to: `${path}/${key.id}/revoke`,
      label: 'Revoke',
      words: html`${used} Requests with it are refused from now on; this cannot be undone.`,
      sure: `Revoke ${key.name}`,
    }),
  ]);
}

function newKey(visit: Visit, path: string): Html | null {
  return form(visit, {
    to: path,
    fields: [
      {
        kind: 'text',
        name: 'name',
        label: 'Name',
        required: true,
        maxLength: 60,
        hint: 'Which program uses it.',
      },
      {
        kind: 'select',
        name: 'permission',
        label: 'Permission',
        options: [
          ['sending_access', 'Sending only'],
          ['full_access', 'Full access: also domains, keys, webhooks, and reading emails'],
        ],
      },
      {
        kind: 'select',
        name: 'environment',
        label: 'Mode',
        options: [
          ['live', 'Live: sends real email'],
          ['test', 'Sandbox: nothing leaves the machine'],
        ],
      },
    ],
    submit: 'Create key',
  });
}
