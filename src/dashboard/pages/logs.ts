/**
 * API requests of an account: the list with its filters, and one request in full.
 *
 * Bodies are shown as the log keeps them: without secrets, and cut.
 */
import { ApiError } from '../../base/errors.ts';
import { requestBodyOf } from '../../flow/content/logged-request.ts';
import type { LogFilter } from '../../store/request-logs.ts';
import type { Key } from '../../store/rows.ts';
import { type FieldSpec, filters } from '../frame/form.ts';
import { html, type Html } from '../frame/html.ts';
import { accountPath, pager } from '../frame/navigation.ts';
import { empty, facts, table } from '../frame/table.ts';
import { copyable, startOfDay, time } from '../frame/values.ts';
import { type Page, param, queryText, type Visit } from '../frame/visit.ts';
import { accountOf } from './accounts.ts';
import { shownKeys } from './shown-keys.ts';

const PAGE_SIZE = 50;
const LIVE_SECONDS = 10;
const DAY_MS = 86_400_000;
const METHODS = ['GET', 'POST', 'PATCH', 'DELETE'];

export const logPages: readonly Page[] = [
  { method: 'GET', path: '/accounts/:account/logs', open: list },
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
        ['Request id', copyable(record.id, 'Copy the request id')],
        [
          'Email',
          record.messageId !== null &&
            html`<a href="${accountPath(account)}/emails/${record.messageId}">Show email</a>`,
        ],
      ])}
      ${bodyText('Request', await requestBodyOf(visit.ctx, record))}
      ${bodyText('Response', record.responseBody)}`;
      const up = { label: 'Logs', href: `${accountPath(account)}/logs` };
      return { kind: 'page', title: `${record.method} ${record.path}`, account, body, up };
    },
  },
];

async function list(visit: Visit): ReturnType<Page['open']> {
  const account = await accountOf(visit);
  const path = `${accountPath(account)}/logs`;
  const { keys } = await shownKeys(visit.ctx.store, account.id, queryText(visit, 'key'));
  const asked = askedOf(visit, keys);
  const after = queryText(visit, 'after');
  const page = { limit: PAGE_SIZE, after, before: null };
  const { rows, hasMore } = await visit.ctx.store.logs(account.id, { ...page, ...asked });
  const isFiltered = Object.values(asked).some((value) => value !== null);
  const isEmpty = rows.length === 0 && !isFiltered && after === null;
  const body = html`${!isEmpty && filters(path, filterFields(visit, asked, keys))}
  ${table(
    [
      ['Time', 'time'],
      ['Request', 'title'],
      ['Status', 'state'],
      ['Duration', 'number'],
      'Key',
      'Email',
    ],
    rows.map((row) => [
      time(row.createdAt),
      html`<a href="${path}/${row.id}">${row.method} ${row.path}</a>`,
      statusOf(row.status),
      row.durationMs !== null && `${row.durationMs} ms`,
      row.keyName,
      row.messageId !== null &&
        html`<a href="${accountPath(account)}/emails/${row.messageId}">email</a>`,
    ]),
    isEmpty
      ? empty(
          'No requests yet',
          'Every API request of this account is listed here, with what was asked and what was answered.',
          html`<a class="button" href="/docs">How to send</a>`,
        )
      : empty('No request matches.', 'Leave out a filter, or choose other days.'),
  )}
  ${pager(path, visit.query, hasMore ? (rows.at(-1)?.id ?? null) : null)}`;
  const isNewest = after === null && asked.until === null;
  return {
    kind: 'page',
    title: 'Logs',
    account,
    body,
    ...(isNewest && { liveSeconds: LIVE_SECONDS }),
  };
}

type Asked = Required<Pick<LogFilter, 'q' | 'method' | 'status' | 'keyId' | 'since' | 'until'>>;

/** The filters of the query; what is not understood filters nothing. */
function askedOf(visit: Visit, keys: readonly Key[]): Asked {
  const status = queryText(visit, 'status');
  const [from, to] = [dayOf(visit, 'from'), dayOf(visit, 'to')];
  return {
    q: queryText(visit, 'q'),
    method: METHODS.find((word) => word === queryText(visit, 'method')) ?? null,
    status: status !== null && /^([245]|[1-5]\d\d)$/.test(status) ? Number(status) : null,
    keyId: keys.find(({ id }) => id === queryText(visit, 'key'))?.id ?? null,
    since: from,
    until: to === null ? null : to + DAY_MS,
  };
}

/** The start of a UTC day of the query; null for no day. */
function dayOf(visit: Visit, name: string): number | null {
  const text = queryText(visit, name);
  return text === null ? null : startOfDay(text);
}

function filterFields(visit: Visit, asked: Asked, keys: readonly Key[]): FieldSpec[] {
  return [
    { kind: 'text', type: 'search', name: 'q', label: 'Path', value: asked.q },
    {
      kind: 'select',
      name: 'status',
      label: 'Status',
      value: asked.status === null ? '' : String(asked.status),
      options: [
        ['', 'any'],
        ['2', '2xx: done'],
        ['4', '4xx: refused'],
        ['5', '5xx: failed'],
        ...(asked.status !== null && asked.status > 9
          ? [[String(asked.status), String(asked.status)] as const]
          : []),
      ],
    },
    {
      kind: 'select',
      name: 'method',
      label: 'Method',
      value: asked.method ?? '',
      options: [['', 'any'], ...METHODS.map((word) => [word, word] as const)],
    },
    {
      kind: 'select',
      name: 'key',
      label: 'Key',
      value: asked.keyId ?? '',
      options: [['', 'any'], ...keys.map(({ id, name }) => [id, name] as const)],
    },
    {
      kind: 'text',
      type: 'date',
      name: 'from',
      label: 'From (UTC)',
      value: queryText(visit, 'from'),
    },
    { kind: 'text', type: 'date', name: 'to', label: 'To (UTC)', value: queryText(visit, 'to') },
  ];
}

function statusOf(status: number): Html {
  const tone = status < 400 ? 'good' : status < 500 ? 'fair' : 'bad';
  return html`<span class="badge ${tone}">${status}</span>`;
}

function bodyText(title: string, text: string | null): Html | null {
  if (text === null) return null;
  return html`<h2>${title}</h2>
    <pre tabindex="0">${indented(text)}</pre>`;
}

/** JSON with line breaks; text that is not JSON, or was cut, stays unchanged. */
function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
