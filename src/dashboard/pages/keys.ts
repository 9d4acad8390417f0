/**
 * API keys of an account: create and revoke.
 *
 * Promises that the text of a key is shown once, in the response that creates it.
 */
import { createKey, revokeKey } from '../../flow/accounts/keys.ts';
import { accountOf } from './accounts.ts';
import { html } from '../frame/html.ts';
import { action } from '../frame/action.ts';
import { accountPath } from '../frame/navigation.ts';
import { table } from '../frame/table.ts';
import { badge, time } from '../frame/values.ts';
import { field, type Page, param } from '../frame/visit.ts';

const ROUTE = '/accounts/:account/keys';

export const keyPages: readonly Page[] = [
  {
    method: 'GET',
    path: ROUTE,
    async open(visit) {
      const account = await accountOf(visit);
      const path = `${accountPath(account)}/keys`;
      const keys = await visit.ctx.store.keys(account.id);
      const body = html`${table(
          ['Name', 'Key', 'Permission', 'Created', 'Last used', ''],
          keys.map((key) => [
            key.name,
            html`<code>${key.prefix}…${key.last4}</code>`,
            html`${key.permission === 'full_access' ? 'Full access' : 'Sending only'}
            ${key.isTest && '(sandbox)'}`,
            time(key.createdAt),
            time(key.lastUsedAt),
            key.revokedAt === null
              ? action(`${path}/${key.id}/revoke`, 'Revoke', 'danger')
              : html`${badge('revoked')} ${time(key.revokedAt)}`,
          ]),
          'No API keys yet.',
        )}
        <h2>New key</h2>
        <form method="post" action="${path}">
          <label>Name <input name="name" required maxlength="60" /></label>
          <label
            >Permission
            <select name="permission">
              <option value="sending_access">Sending only</option>
              <option value="full_access">Full access</option>
            </select></label
          >
          <label
            >Mode
            <select name="environment">
              <option value="live">Live: sends real email</option>
              <option value="test">Sandbox: nothing leaves the machine</option>
            </select></label
          >
          <button>Create key</button>
        </form>`;
      return { kind: 'page', title: 'API keys', account, body };
    },
  },
  {
    method: 'POST',
    path: ROUTE,
    async open(visit) {
      const account = await accountOf(visit);
      const { token } = await createKey(visit.ctx, account.id, {
        name: field(visit, 'name'),
        permission: field(visit, 'permission') === 'full_access' ? 'full_access' : 'sending_access',
        isTest: field(visit, 'environment') === 'test',
      });
      const body = html`<p class="notice" role="status">Copy the key now. It is shown only once.</p>
        <p><code>${token}</code></p>
        <p><a href="${accountPath(account)}/keys">Back to API keys</a></p>`;
      return { kind: 'page', title: 'New API key', account, body };
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
