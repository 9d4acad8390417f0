/**
 * Suppressed addresses of an account: search, add, remove any of them with a note; import and export as CSV.
 *
 * Unlike the API, the operator may remove suppressions of any reason. An import goes on behind its page, which shows how
 * far it is.
 */
import { validationFailed } from '../../base/errors.ts';
import { isId } from '../../base/ids.ts';
import type { SuppressionReason } from '../../base/status.ts';
import { exportSuppressions } from '../../flow/suppressions/csv-import.ts';
import type { ImportState } from '../../flow/suppressions/imports.ts';
import { addSuppression, removeSuppression } from '../../flow/suppressions/suppressions.ts';
import type { Account, Suppression } from '../../store/rows.ts';
import { confirm, jumpTo, linkButton, together } from '../frame/action.ts';
import { type FieldSpec, filters, form } from '../frame/form.ts';
import { html, type Html } from '../frame/html.ts';
import { accountPath, pager } from '../frame/navigation.ts';
import { streamOf } from '../frame/stream.ts';
import { card, empty, facts, table } from '../frame/table.ts';
import { badge, bytes, time, type Tone } from '../frame/values.ts';
import { field, type Page, queryText, type Visit } from '../frame/visit.ts';
import { accountOf } from './accounts.ts';

const PAGE_SIZE = 50;
const LIVE_SECONDS = 1;
const ROUTE = '/accounts/:account/suppressions';

const REASONS: Record<SuppressionReason, readonly [label: string, tone: Tone]> = {
  hard_bounce: ['hard bounce', 'bad'],
  complaint: ['complaint', 'bad'],
  unsubscribe: ['unsubscribed', 'fair'],
  manual: ['manual', 'neutral'],
};

export const suppressionPages: readonly Page[] = [
  { method: 'GET', path: ROUTE, open: list },
  {
    method: 'POST',
    path: ROUTE,
    mainField: 'email',
    async open(visit) {
      const account = await accountOf(visit);
      const note = field(visit, 'note');
      await addSuppression(visit.ctx, account.id, {
        email: field(visit, 'email'),
        source: 'operator',
        ...(note !== '' && { note }),
      });
      return { kind: 'redirect', to: pathOf(account), done: 'added' };
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
      return { kind: 'redirect', to: pathOf(account), done: 'removed' };
    },
  },
  {
    method: 'GET',
    path: `${ROUTE}/export`,
    async open(visit) {
      const account = await accountOf(visit);
      return {
        kind: 'document',
        contentType: 'text/csv; charset=utf-8',
        body: await streamOf(encoded(exportSuppressions(visit.ctx, account.id)), visit.ctx.log),
        saveAs: `suppressions-${account.name}.csv`,
      };
    },
  },
  { method: 'GET', path: `${ROUTE}/import`, isForm: true, open: importPage },
  {
    method: 'POST',
    path: `${ROUTE}/import`,
    mainField: 'csv',
    async open(visit) {
      const account = await accountOf(visit);
      const text = field(visit, 'csv');
      if (visit.file === null && text === '') {
        throw validationFailed([{ path: 'csv', message: 'Choose a file, or paste addresses.' }]);
      }
      const file = visit.file ?? new Blob([text]);
      visit.parts.imports.start(account.id, file, visit.file?.name ?? 'pasted addresses');
      return { kind: 'redirect', to: `${pathOf(account)}/import` };
    },
  },
];

function pathOf(account: Account): string {
  return `${accountPath(account)}/suppressions`;
}

async function* encoded(texts: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  for await (const text of texts) yield encoder.encode(text);
}

async function list(visit: Visit): ReturnType<Page['open']> {
  const account = await accountOf(visit);
  const path = pathOf(account);
  const q = queryText(visit, 'q');
  const reason = reasonOf(queryText(visit, 'reason'));
  const page = { limit: PAGE_SIZE, after: queryText(visit, 'after'), before: null };
  const { rows, hasMore } = await visit.ctx.store.suppressions(account.id, q, page, reason);
  const isAsked = q !== null || reason !== undefined || page.after !== null;
  const body = html`${(isAsked || rows.length > 0) && filters(path, filterFields(q, reason))}
    ${table(
      [['Address', 'title'], ['Reason', 'state'], 'Source', ['Added', 'time'], ''],
      rows.map((row) => [
        html`${row.email} ${row.note !== null && html`<p class="hint">${row.note}</p>`}`,
        badge(...REASONS[row.reason]),
        sourceOf(account, row),
        time(row.createdAt),
        removal(visit, path, row),
      ]),
      isAsked
        ? empty('No suppressed address matches.', 'Whoever is not listed here gets mail.')
        : empty(
            'No suppressed addresses',
            'Addresses that bounce or complain come here by themselves, and get no more mail.',
            linkButton(visit, `${path}/import`, 'Import a list'),
          ),
    )}
    ${pager(path, visit.query, hasMore ? (rows.at(-1)?.email ?? null) : null)}
    <div id="add">
      ${card(
        'Suppress an address',
        form(visit, {
          to: path,
          fields: [
            { kind: 'text', type: 'email', name: 'email', label: 'Address', required: true },
            { kind: 'text', name: 'note', label: 'Note', maxLength: 200 },
          ],
          submit: 'Suppress',
        }),
      )}
    </div>`;
  const tools = together([
    jumpTo(visit, path, 'add', 'Add'),
    linkButton(visit, `${path}/import`, 'Import'),
    linkButton(visit, `${path}/export`, 'Export'),
  ]);
  return { kind: 'page', title: 'Suppressions', account, body, tools };
}

function reasonOf(text: string | null): SuppressionReason | undefined {
  return text !== null && Object.hasOwn(REASONS, text) ? (text as SuppressionReason) : undefined;
}

function filterFields(q: string | null, reason: SuppressionReason | undefined): FieldSpec[] {
  const options = Object.entries(REASONS).map(([key, [label]]) => [key, label] as const);
  return [
    { kind: 'text', type: 'search', name: 'q', label: 'Address', value: q },
    {
      kind: 'select',
      name: 'reason',
      label: 'Reason',
      value: reason ?? '',
      options: [['', 'any'], ...options],
    },
  ];
}

/** The email that caused it, or the word for who added it. */
function sourceOf(account: Account, { source }: Suppression): Html | string | null {
  if (source === null || !isId(source)) return source;
  return html`<a href="${accountPath(account)}/emails/${source}">email</a>`;
}

function removal(visit: Visit, path: string, { email, reason }: Suppression): Html | null {
  const warning =
    reason === 'complaint' || reason === 'unsubscribe'
      ? ' The recipient asked for no more mail: write again only when they want it.'
      : '';
  return confirm(visit, {
    to: `${path}/remove`,
    label: 'Remove',
    words: `New emails to ${email} are sent again.${warning}`,
    sure: 'Remove it from the list',
    fields: { email },
    inputs: html`<p class="field">
      <label>Note for the log <input name="note" maxlength="200" /></label>
    </p>`,
  });
}

async function importPage(visit: Visit): ReturnType<Page['open']> {
  const account = await accountOf(visit);
  const path = pathOf(account);
  const state = visit.parts.imports.of(account.id);
  const isRunning = state !== null && state.endedAt === null;
  const body = html`${state !== null && progressOf(state)}
  ${
    !isRunning &&
    card(
      'Import a list',
      html`<p class="soft">
          CSV with a header row: <code>email</code>, and if you like
          <code>reason</code> (hard_bounce, complaint, unsubscribe, manual), <code>note</code>,
          <code>created_at</code>. Exports of other services are understood. Without a header the
          first column is the address. What is known already is not added twice.
        </p>
        ${form(visit, {
          to: `${path}/import`,
          fields: [
            {
              kind: 'file',
              name: 'file',
              label: 'File (up to 10 MB)',
              accept: '.csv,.txt,text/csv,text/plain',
            },
            { kind: 'area', name: 'csv', label: 'Or paste addresses', rows: 5 },
          ],
          submit: 'Import',
        })}`,
    )
  }`;
  return {
    kind: 'page',
    title: 'Import suppressions',
    account,
    body,
    up: { label: 'Suppressions', href: path },
    ...(isRunning && { liveSeconds: LIVE_SECONDS }),
  };
}

function progressOf(state: ImportState): Html | null {
  const { name, read, result, endedAt, problem } = state;
  const label = endedAt === null ? 'Importing' : problem === null ? 'Imported' : 'Ended early';
  return card(
    `${label}: ${name}`,
    html`<progress max="${state.bytes}" value="${read}" aria-label="Progress"></progress>
      ${problem !== null && html`<p class="notice bad" role="alert">${problem}</p>`}
      ${facts([
        ['Read', `${bytes(read)} of ${bytes(state.bytes)}`],
        ['Addresses', result.rows],
        ['Added', result.added],
        ['Known before', result.known],
        ['Not understood', result.bad > 0 && result.bad],
      ])}
      ${
        result.named.length > 0 &&
        table(
          [['Line', 'number'], 'Problem'],
          result.named.map(({ line, message }) => [line, message]),
          '',
        )
      }`,
  );
}
