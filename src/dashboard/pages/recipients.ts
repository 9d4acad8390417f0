/**
 * Confirmed recipients: whom an account may mail where its plan allows no others. The operator confirms, so that an
 * account cannot let itself; operators of one account do not see the page (`access.ts`).
 *
 * The work is in flow/accept.
 */
import { confirmRecipient, removeConfirmation } from '../../flow/accept/confirmed-recipients.ts';
import { confirm } from '../frame/action.ts';
import { form } from '../frame/form.ts';
import { html, type Html } from '../frame/html.ts';
import { pager, ROOT } from '../frame/navigation.ts';
import { card, empty, table } from '../frame/table.ts';
import { time } from '../frame/values.ts';
import { field, type Page, queryText, type Visit } from '../frame/visit.ts';
import { accountOf } from './accounts.ts';
import { recipientsNote, recipientsPath } from './recipients-note.ts';

const ROUTE = '/accounts/:account/recipients';
const PAGE_SIZE = 50;

export const recipientPages: readonly Page[] = [
  { method: 'GET', path: ROUTE, open: list },
  {
    method: 'POST',
    path: ROUTE,
    mainField: 'email',
    async open(visit) {
      const account = await accountOf(visit);
      await confirmRecipient(visit.ctx, account.id, field(visit, 'email'));
      return { kind: 'redirect', to: recipientsPath(account), done: 'confirmed' };
    },
  },
  {
    method: 'POST',
    path: `${ROUTE}/remove`,
    async open(visit) {
      const account = await accountOf(visit);
      await removeConfirmation(visit.ctx, account.id, field(visit, 'email'));
      return { kind: 'redirect', to: recipientsPath(account), done: 'removed' };
    },
  },
];

async function list(visit: Visit): ReturnType<Page['open']> {
  const account = await accountOf(visit);
  const path = recipientsPath(account);
  const after = queryText(visit, 'after') ?? '';
  const page = { limit: PAGE_SIZE + 1, after };
  const read = await visit.ctx.store.confirmedRecipients(account.id, page);
  const rows = read.slice(0, PAGE_SIZE);
  const next = read.length > PAGE_SIZE ? (rows.at(-1)?.email ?? null) : null;
  const body = html`${
    recipientsNote(visit, account) ??
    html`<p class="soft">
      The plan of this account allows emails to everybody. This list counts on a plan with
      <code>confirmed_recipients_only</code>.
    </p>`
  }
  ${table(
    [['Address', 'title'], 'Since', ''],
    rows.map(({ email, createdAt }) => [email, time(createdAt), removal(visit, path, email)]),
    empty('No confirmed recipients', 'Confirm the addresses that this account may mail.'),
  )}
  ${pager(path, visit.query, next, ['First', 'Next'])}
  ${card(
    'Confirm an address',
    form(visit, {
      to: path,
      fields: [{ kind: 'text', type: 'email', name: 'email', label: 'Address', required: true }],
      submit: 'Confirm',
    }),
  )}`;
  const up = { label: 'Accounts', href: `${ROOT}/accounts` };
  return { kind: 'page', title: 'Confirmed recipients', account, body, up };
}

function removal(visit: Visit, path: string, email: string): Html | null {
  return confirm(visit, {
    to: `${path}/remove`,
    label: 'Remove',
    words: 'The account can no longer mail this address. What was accepted is still delivered.',
    sure: `Remove ${email}`,
    inputs: html`<input type="hidden" name="email" value="${email}" />`,
  });
}
