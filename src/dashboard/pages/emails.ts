/**
 * Emails of an account: the list with its filters, live, and as CSV.
 *
 * One email is `email.ts`. The CSV is written as it is read, a page at a time, up to a bound that its last line states.
 */
import { csvRow } from '../../flow/suppressions/csv.ts';
import type { Context } from '../../flow/context.ts';
import type { Account, Message } from '../../store/rows.ts';
import { accountOf } from './accounts.ts';
import {
  emailFilters,
  emailQueryOf,
  findable,
  findEmails,
  isFiltered,
  type EmailQuery,
} from './email-filter.ts';
import { html, type Html } from '../frame/html.ts';
import { streamOf } from '../frame/stream.ts';
import { accountPath, pager } from '../frame/navigation.ts';
import { addressCell, empty, table } from '../frame/table.ts';
import { badge, time } from '../frame/values.ts';
import { type Page, queryText } from '../frame/visit.ts';
import { OFFERED } from './offered.ts';
import { shownKeys } from './shown-keys.ts';

const PAGE_SIZE = 50;
const LIVE_SECONDS = 5;
const CSV_STEP = 500;
const MOST_CSV_ROWS = 100_000;

const CSV_COLUMNS = [
  'id',
  'created_at',
  'status',
  'from',
  'to',
  'cc',
  'bcc',
  'subject',
  'tags',
  'failure_reason',
  'message_id',
];

export const emailsPages: readonly Page[] = [
  { method: 'GET', path: '/accounts/:account/emails', open: list },
  {
    method: 'GET',
    path: '/accounts/:account/emails.csv',
    async open(visit) {
      const account = await accountOf(visit);
      const wanted = await findable(visit.ctx.store, account.id, emailQueryOf(visit));
      const body = await streamOf(csvOf(visit.ctx, account, wanted), visit.ctx.log);
      const contentType = 'text/csv; charset=utf-8';
      return { kind: 'document', contentType, body, saveAs: `emails-${account.name}.csv` };
    },
  },
];

async function list(visit: Parameters<Page['open']>[0]): ReturnType<Page['open']> {
  const { ctx, query } = visit;
  const account = await accountOf(visit);
  const wanted = emailQueryOf(visit);
  const after = queryText(visit, 'after');
  const [found, domains, { keys }] = await Promise.all([
    findable(ctx.store, account.id, wanted).then((asked) =>
      findEmails(ctx, account.id, asked, after, PAGE_SIZE),
    ),
    ctx.store.domains(account.id, OFFERED),
    shownKeys(ctx.store, account.id, wanted.keyId),
  ]);
  const path = `${accountPath(account)}/emails`;
  const asked = query.toString();
  const isEmpty = found.rows.length === 0 && !isFiltered(wanted) && after === null;
  const body = html`${!isEmpty && emailFilters(path, wanted, { domains, keys })}
  ${isEmpty ? first(account) : rowsOf(path, found.rows)}
  ${
    found.searchedTo !== null &&
    html`<p class="soft">
      Searched back to ${time(found.searchedTo)}; older emails may match too.
    </p>`
  }
  ${pager(path, query, found.next)}`;
  return {
    kind: 'page',
    title: 'Emails',
    account,
    body,
    ...(!isEmpty && {
      tools: html`<a class="button plain" href="${path}.csv?${asked}">Download CSV</a>`,
    }),
    ...(after === null && { liveSeconds: LIVE_SECONDS }),
  };
}

function rowsOf(path: string, rows: readonly Message[]): Html {
  return table(
    [['Status', 'state'], 'To', ['Subject', 'title'], ['From', 'minor'], ['Time', 'time']],
    rows.map((message) => [
      html`${badge(message.status)}${message.isSandbox && html` ${badge('sandbox')}`}`,
      addressCell(recipientsOf(message)),
      html`<a href="${path}/${message.id}">${message.subject || '(no subject)'}</a>`,
      addressCell(addressIn(message.from), message.from),
      time(message.createdAt),
    ]),
    NOTHING_FOUND,
  );
}

const NOTHING_FOUND = empty('No email matches.', 'Leave out a filter, or write less of the text.');

/** The address of `Name <address>`. */
function addressIn(from: string): string {
  return /<([^<>]+)>$/.exec(from)?.[1] ?? from;
}

function recipientsOf({ to, cc, bcc }: Message): string {
  const all = [...to, ...cc, ...bcc];
  const more = all.length - 1;
  return more <= 0 ? (all[0] ?? '') : `${all[0] ?? ''} and ${more} more`;
}

function first(account: Account): Html {
  return empty(
    'No emails yet',
    html`What this account sends by API or SMTP stands here within a second. It needs a
      <a href="${accountPath(account)}/domains">verified domain</a> and an
      <a href="${accountPath(account)}/keys">API key</a>.`,
    html`<a class="button" href="/docs">How to send</a>`,
  );
}

async function* csvOf(
  ctx: Context,
  account: Account,
  query: EmailQuery | null,
): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  // With the first rows: until they are found a refusal can be told.
  let head = csvRow(CSV_COLUMNS);
  let after: string | null = null;
  for (let count = 0; count < MOST_CSV_ROWS;) {
    const found: Awaited<ReturnType<typeof findEmails>> = await findEmails(
      ctx,
      account.id,
      query,
      after,
      CSV_STEP,
    );
    yield encoder.encode(head + found.rows.map(csvLine).join(''));
    head = '';
    if (found.next === null) return;
    after = found.next;
    count += found.rows.length;
  }
  yield encoder.encode(
    csvRow([`Only the newest ${MOST_CSV_ROWS} rows; filter by date for the rest.`]),
  );
}

function csvLine(row: Message): string {
  return csvRow([
    row.id,
    new Date(row.createdAt).toISOString(),
    row.status,
    row.from,
    row.to.join(', '),
    row.cc.join(', '),
    row.bcc.join(', '),
    row.subject,
    row.tags.map(({ name, value }) => `${name}=${value}`).join(', '),
    row.failureReason,
    row.messageId,
  ]);
}
