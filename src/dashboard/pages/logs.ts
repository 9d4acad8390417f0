/**
 * API requests of an account: the list with its filters, and one request in full.
 *
 * Bodies are shown as the log keeps them: without secrets, and cut.
 */
import { ApiError } from '../../base/errors.ts';
import { requestBodyOf } from '../../flow/content/logged-request.ts';
import { accountOf } from './accounts.ts';
import { html, type Html } from '../frame/html.ts';
import { accountPath, pager } from '../frame/navigation.ts';
import { facts, table } from '../frame/table.ts';
import { time } from '../frame/values.ts';
import { type Page, param, queryText } from '../frame/visit.ts';

const PAGE_SIZE = 50;
const METHODS = ['GET', 'POST', 'PATCH', 'DELETE'];

export const logPages: readonly Page[] = [
  {
    method: 'GET',
    path: '/accounts/:account/logs',
    async open(visit) {
      const account = await accountOf(visit);
      const path = `${accountPath(account)}/logs`;
      const q = queryText(visit, 'q');
      const method = METHODS.find((word) => word === queryText(visit, 'method')) ?? null;
      const statusText = queryText(visit, 'status');
      const isStatus = statusText !== null && /^([245]|[1-5]\d\d)$/.test(statusText);
      const { rows, hasMore } = await visit.ctx.store.logs(account.id, {
        limit: PAGE_SIZE,
        after: queryText(visit, 'after'),
        before: null,
        q,
        method,
        status: isStatus ? Number(statusText) : null,
      });
      const body = html`<form method="get" action="${path}">
          <label>Path <input name="q" value="${q}" /></label>
          <label
            >Status (404, or 4 for all 4xx) <input name="status" value="${statusText}" size="5"
          /></label>
          <button class="plain">Filter</button>
        </form>
        ${table(
          ['Time', 'Request', 'Status', 'Duration', 'Key', 'Email'],
          rows.map((row) => [
            time(row.createdAt),
            html`<a href="${path}/${row.id}">${row.method} ${row.path}</a>`,
            statusOf(row.status),
            row.durationMs !== null && `${row.durationMs} ms`,
            row.keyName,
            row.messageId !== null &&
              html`<a href="${accountPath(account)}/emails/${row.messageId}">email</a>`,
          ]),
          'No requests yet.',
        )}
        ${pager(path, visit.query, hasMore ? (rows.at(-1)?.id ?? null) : null)}`;
      return { kind: 'page', title: 'Logs', account, body };
    },
  },
  {
    method: 'GET',
    path: '/accounts/:account/logs/:id',
    async open(visit) {
      const account = await accountOf(visit);
      const record = await visit.ctx.store.log(account.id, param(visit, 'id'));
      if (record === null) throw new ApiError('not_found', 'This request is no longer in the log.');
      const body = html`${facts([
        ['Status', statusOf(record.status)],
        ['Time', time(record.createdAt)],
        ['Duration', record.durationMs !== null && `${record.durationMs} ms`],
        ['Key', record.keyName],
        ['Client address', record.ip],
        ['User agent', record.userAgent],
        ['Request id', html`<code>${record.id}</code>`],
        [
          'Email',
          record.messageId !== null &&
            html`<a href="${accountPath(account)}/emails/${record.messageId}">Show email</a>`,
        ],
      ])}
      ${bodyText('Request', await requestBodyOf(visit.ctx, record))}
      ${bodyText('Response', record.responseBody)}`;
      return { kind: 'page', title: `${record.method} ${record.path}`, account, body };
    },
  },
];

function statusOf(status: number): Html {
  const tone = status < 400 ? 'good' : status < 500 ? 'fair' : 'bad';
  return html`<span class="badge ${tone}">${status}</span>`;
}

function bodyText(title: string, text: string | null): Html | null {
  if (text === null) return null;
  return html`<h2>${title}</h2>
    <pre>${indented(text)}</pre>`;
}

/** JSON with line breaks; text that is not JSON, or was cut, stays unchanged. */
function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
