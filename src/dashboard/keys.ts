/** API keys of an account: making one (shown once) and revoking. */
import { createKey, revokeKey } from '../flow/keys.ts';
import { accountOf } from './accounts.ts';
import { html } from './html.ts';
import { accountPath, action, badge, table, time } from './layout.ts';
import { field, type Page, param } from './visit.ts';

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
          ['Name', 'Key', 'May', 'Made (UTC)', 'Last used (UTC)', ''],
          keys.map((key) => [
            key.name,
            html`<code>${key.prefix}…${key.last4}</code>`,
            html`${key.permission === 'full_access' ? 'everything' : 'send'}
            ${key.isTest && '(sandbox)'}`,
            time(key.createdAt),
            time(key.lastUsedAt),
            key.revokedAt === null
              ? action(`${path}/${key.id}/revoke`, 'Revoke', 'danger')
              : html`${badge('revoked')} ${time(key.revokedAt)}`,
          ]),
          'No key yet.',
        )}
        <h2>New key</h2>
        <form method="post" action="${path}">
          <label>Name <input name="name" required maxlength="60" /></label>
          <label
            >May
            <select name="permission">
              <option value="sending_access">send</option>
              <option value="full_access">everything</option>
            </select></label
          >
          <label
            >For
            <select name="environment">
              <option value="live">live mail</option>
              <option value="test">sandbox: nothing leaves the machine</option>
            </select></label
          >
          <button>Make key</button>
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
      const body = html`<p class="notice" role="status">The key is shown this once:</p>
        <p><code>${token}</code></p>
        <p><a href="${accountPath(account)}/keys">Back to the keys</a></p>`;
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
