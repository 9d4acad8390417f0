/**
 * Suppressed addresses of an account: search, add, and remove any of them with a note.
 *
 * Unlike the API, the operator may remove suppressions of any reason.
 */
import { addSuppression, removeSuppression } from '../../flow/suppressions/suppressions.ts';
import { accountOf } from './accounts.ts';
import { html } from '../frame/html.ts';
import { accountPath, pager } from '../frame/navigation.ts';
import { table } from '../frame/table.ts';
import { time } from '../frame/values.ts';
import { field, type Page, queryText } from '../frame/visit.ts';

const PAGE_SIZE = 100;
const ROUTE = '/accounts/:account/suppressions';

export const suppressionPages: readonly Page[] = [
  {
    method: 'GET',
    path: ROUTE,
    async open(visit) {
      const account = await accountOf(visit);
      const path = `${accountPath(account)}/suppressions`;
      const q = queryText(visit, 'q');
      const page = { limit: PAGE_SIZE, after: queryText(visit, 'after'), before: null };
      const { rows, hasMore } = await visit.ctx.store.suppressions(account.id, q, page);
      const body = html`<form method="get" action="${path}">
          <label>Address <input name="q" value="${q}" /></label>
          <button class="plain">Filter</button>
        </form>
        ${table(
          ['Address', 'Reason', 'Source', 'Note', 'Added', ''],
          rows.map((row) => [
            row.email,
            row.reason.replace('_', ' '),
            row.source,
            row.note,
            time(row.createdAt),
            html`<form class="inline" method="post" action="${path}/remove">
              <input type="hidden" name="email" value="${row.email}" />
              <input name="note" placeholder="Note" aria-label="Note" maxlength="200" />
              <button class="danger">Remove</button>
            </form>`,
          ]),
          'No suppressed addresses.',
        )}
        ${pager(path, visit.query, hasMore ? (rows.at(-1)?.email ?? null) : null)}
        <h2>Suppress an address</h2>
        <form method="post" action="${path}">
          <label>Address <input name="email" required /></label>
          <label>Note <input name="note" maxlength="200" /></label>
          <button>Suppress</button>
        </form>`;
      return { kind: 'page', title: 'Suppressions', account, body };
    },
  },
  {
    method: 'POST',
    path: ROUTE,
    async open(visit) {
      const account = await accountOf(visit);
      const note = field(visit, 'note');
      await addSuppression(visit.ctx, account.id, {
        email: field(visit, 'email'),
        source: 'operator',
        ...(note !== '' && { note }),
      });
      return { kind: 'redirect', to: `${accountPath(account)}/suppressions`, done: 'added' };
    },
  },
  {
    method: 'POST',
    path: `${ROUTE}/remove`,
    async open(visit) {
      const account = await accountOf(visit);
      const note = field(visit, 'note');
      const options = { isOperator: true, ...(note !== '' && { note }) };
      await removeSuppression(visit.ctx, account.id, field(visit, 'email'), options);
      return { kind: 'redirect', to: `${accountPath(account)}/suppressions`, done: 'removed' };
    },
  },
];
