/**
 * The queue: waiting recipients with their reason and next attempt; retry now, or mark as failed.
 *
 * The work is in flow/queue.
 */
import { ApiError } from '../../base/errors.ts';
import { explain, inWallTime } from '../../flow/queue/operator.ts';
import type { Recipient } from '../../store/rows.ts';
import { html, type Html } from '../frame/html.ts';
import { ROOT, accountPath, pager } from '../frame/navigation.ts';
import { table } from '../frame/table.ts';
import { badge, time } from '../frame/values.ts';
import { field, type Page, queryText } from '../frame/visit.ts';

const PATH = `${ROOT}/queue`;
const PAGE_SIZE = 50;

export const queuePages: readonly Page[] = [
  {
    method: 'GET',
    path: '/queue',
    async open(visit) {
      const { ctx, query } = visit;
      const domain = queryText(visit, 'domain');
      const filter = { domain, limit: PAGE_SIZE + 1, after: queryText(visit, 'after') };
      const found = await ctx.store.queue(filter);
      const rows = found.slice(0, PAGE_SIZE);
      const next = found.length > PAGE_SIZE ? (rows.at(-1)?.id ?? null) : null;
      const now = ctx.clock.now();
      const body = html`<form method="get" action="${PATH}">
          <label>Destination <input name="domain" value="${domain}" /></label>
          <button class="plain">Filter</button>
        </form>
        ${rows.length > 0 && retryForm(domain)}
        ${table(
          ['Recipient', 'Status', 'Attempts', 'Next attempt', 'Reason', ''],
          rows.map((row) => cells(inWallTime(ctx.clock, row), now)),
          'No recipients are waiting.',
        )}
        ${pager(PATH, query, next)}`;
      return { kind: 'page', title: 'Queue', account: null, body };
    },
  },
  {
    method: 'POST',
    path: '/queue/retry',
    async open(visit) {
      const [id, domain] = [field(visit, 'id') || null, field(visit, 'domain') || null];
      const count = await visit.parts.queue.retry({ id, domain });
      return { kind: 'redirect', to: PATH, done: 'retried', count };
    },
  },
  {
    method: 'POST',
    path: '/queue/fail',
    async open(visit) {
      const id = field(visit, 'id');
      if ((await visit.ctx.store.recipientById(id)) === null) {
        throw new ApiError('not_found', 'There is no such recipient.');
      }
      const count = await visit.parts.queue.fail(id);
      return { kind: 'redirect', to: PATH, done: 'failed', count };
    },
  },
];

function retryForm(domain: string | null): Html {
  const label = domain === null ? 'Retry all now' : `Retry ${domain} now`;
  return html`<form method="post" action="${PATH}/retry">
    <input type="hidden" name="domain" value="${domain}" /><button>${label}</button>
  </form>`;
}

function cells(row: Recipient, now: number): (Html | string | number | null)[] {
  return [
    html`<a href="${accountPath({ id: row.accountId })}/emails/${row.messageId}"
      >${row.address}</a
    >`,
    badge(row.status),
    row.attempts,
    time(row.nextAttemptAt),
    explain(row, now),
    html`${recipientAction(row, 'retry', 'Retry now')}
    ${recipientAction(row, 'fail', 'Mark as failed')}`,
  ];
}

function recipientAction(row: Recipient, verb: 'retry' | 'fail', label: string): Html {
  return html`<form class="inline" method="post" action="${PATH}/${verb}">
    <input type="hidden" name="id" value="${row.id}" />
    <button class="${verb === 'fail' ? 'danger' : 'plain'}">${label}</button>
  </form>`;
}
