/** The audit log: who changed what, when and from where; newest first. */
import { accountNames } from '../../flow/accounts/accounts.ts';
import { html } from '../frame/html.ts';
import { filters } from '../frame/form.ts';
import { pager, ROOT } from '../frame/navigation.ts';
import { table } from '../frame/table.ts';
import { time } from '../frame/values.ts';
import { queryText, type Page } from '../frame/visit.ts';

const PATH = `${ROOT}/audit`;
const PAGE_SIZE = 50;

export const auditPages: readonly Page[] = [
  {
    method: 'GET',
    path: '/audit',
    async open(visit) {
      const { store } = visit.ctx;
      const who = queryText(visit, 'who');
      const after = queryText(visit, 'after');
      const before = after !== null && /^\d{1,15}$/.test(after) ? Number(after) : null;
      const found = await store.audit({ who, before, limit: PAGE_SIZE + 1 });
      const rows = found.slice(0, PAGE_SIZE);
      const next = found.length > PAGE_SIZE ? String(rows.at(-1)?.seq) : null;
      const names = await accountNames(
        visit.ctx,
        rows.map(({ accountId }) => accountId),
      );
      const body = html`${filters(PATH, [{ kind: 'text', name: 'who', label: 'Who', value: who }])}
      ${table(
        [
          ['When', 'time'],
          'Who',
          ['By', 'minor'],
          ['What', 'title'],
          'Of',
          'Account',
          ['From', 'minor'],
        ],
        rows.map((row) => [
          time(row.at),
          row.who,
          row.via,
          html`<code>${row.action}</code>`,
          row.target,
          row.accountId === null ? null : (names.get(row.accountId) ?? row.accountId),
          row.address,
        ]),
        'Nothing has been changed yet.',
      )}
      ${pager(PATH, visit.query, next)}`;
      return { kind: 'page', title: 'Audit log', account: null, body };
    },
  },
];
