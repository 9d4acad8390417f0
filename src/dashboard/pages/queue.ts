/**
 * The queue: what waits, by destination, and within one by reason; retry now, or mark as failed.
 *
 * The work is in flow/queue. Every action says first what it will do.
 */
import { ApiError } from '../../base/errors.ts';
import type { Context } from '../../flow/context.ts';
import { inWallTime } from '../../flow/queue/operator.ts';
import { waitingReasons, type WaitingReason } from '../../flow/queue/waiting-reasons.ts';
import { destinationsIn, waitingIn } from '../../store/operator.ts';
import type { QueueCount } from '../../store/operator.ts';
import type { Recipient } from '../../store/rows.ts';
import { actions, confirm } from '../frame/action.ts';
import { filters } from '../frame/form.ts';
import { html, type Html, type HtmlValue } from '../frame/html.ts';
import { ROOT, accountPath, pager } from '../frame/navigation.ts';
import { card, empty, table } from '../frame/table.ts';
import { badge, count, reasonWords, time } from '../frame/values.ts';
import { field, type Page, type PageResponse, queryText, type Visit } from '../frame/visit.ts';
import { slowed } from './overview.ts';

const PATH = `${ROOT}/queue`;
const PAGE_SIZE = 50;
const LIVE_SECONDS = 5;
/** Destinations that the page lists; the filter finds the others. */
const MOST_DESTINATIONS = 80;
/** Recipients that are looked at for their reasons, and how many are read at once. */
const MOST_GROUPED = 2_000;
const STEP = 500;

export const queuePages: readonly Page[] = [
  {
    method: 'GET',
    path: '/queue',
    open(visit) {
      const domain = queryText(visit, 'domain');
      return domain === null ? destinations(visit) : destination(visit, domain.toLowerCase());
    },
  },
  {
    method: 'POST',
    path: '/queue/retry',
    async open(visit) {
      const [id, domain] = [field(visit, 'id') || null, field(visit, 'domain') || null];
      const count = await visit.parts.queue.retry({ id, domain });
      return { kind: 'redirect', to: await backTo(visit), done: 'retried', count };
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
      return { kind: 'redirect', to: await backTo(visit), done: 'failed', count };
    },
  },
];

/** The page that the form stood on: of a destination, of an email, or of them all. */
async function backTo(visit: Visit): Promise<string> {
  const at = field(visit, 'at');
  if (at !== '') return pathOf(at);
  const id = field(visit, 'id');
  const message = id === '' ? null : await visit.ctx.store.messageById(id);
  if (message === null) return PATH;
  return `${accountPath({ id: message.accountId })}/emails/${message.id}`;
}

function pathOf(domain: string): string {
  return `${PATH}?domain=${encodeURIComponent(domain)}`;
}

async function destinations(visit: Visit): Promise<PageResponse> {
  const { ctx } = visit;
  const { kinds, largest } = await ctx.store.queueCounts(null, MOST_DESTINATIONS);
  const [total, all] = [waitingIn(kinds), destinationsIn(kinds)];
  const search = filters(PATH, [
    { kind: 'text', type: 'search', name: 'domain', label: 'Destination' },
  ]);
  const body = html`${slowed(visit)} ${all > 0 && search}
  ${table(
    [
      ['Destination', 'title'],
      ['Recipients', 'number'],
      'Oldest',
      ['Why the oldest waits', 'words'],
      '',
    ],
    largest.map((row) => destinationCells(visit, row)),
    empty(
      'Nothing waits',
      'What is accepted is tried at once. What a receiver asks us to try later is listed here until it is delivered.',
    ),
  )}
  ${
    all > MOST_DESTINATIONS &&
    html`<p class="soft">The ${MOST_DESTINATIONS} largest of ${all} destinations.</p>`
  }`;
  const tools =
    total > 0
      ? retryAll(visit, 'Retry all now', `${count(total, 'recipient')} to any destination`)
      : null;
  return {
    kind: 'page',
    title: 'Queue',
    account: null,
    body,
    liveSeconds: LIVE_SECONDS,
    ...(tools !== null && { tools }),
  };
}

function destinationCells(
  visit: Visit,
  { domain, waiting, oldestCreatedAt, reason }: QueueCount,
): HtmlValue[] {
  return [
    html`<a href="${pathOf(domain)}">${domain}</a>`,
    waiting,
    time(oldestCreatedAt),
    reason === null ? html`<span class="soft">not tried yet</span>` : reasonWords(reason),
    retryAll(visit, 'Retry now', `${count(waiting, 'recipient')} at ${domain}`, { domain }),
  ];
}

function retryAll(
  visit: Visit,
  label: string,
  what: string,
  fields: Record<string, string> = {},
): Html | null {
  return confirm(visit, {
    to: `${PATH}/retry`,
    label,
    words: `${what}: tried at once, without waiting for the next attempt. A receiver that asked us to slow down may be annoyed.`,
    sure: label,
    fields,
    kind: 'plain',
  });
}

async function destination(visit: Visit, domain: string): Promise<PageResponse> {
  const { ctx, query } = visit;
  const filter = { domain, limit: PAGE_SIZE + 1, after: queryText(visit, 'after') };
  const found = await ctx.store.queue(filter);
  const rows = found.slice(0, PAGE_SIZE);
  const next = found.length > PAGE_SIZE ? (rows.at(-1)?.id ?? null) : null;
  const { groups, seen, isMore } = await groupsOf(ctx, domain);
  // One reason stands above; it is not said again in each row.
  const isOneReason = groups.length === 1 && seen > 1;
  const body = html`${seen > 1 && reasonsCard(groups, seen, isMore)}
  ${table(
    [
      ['Recipient', 'title'],
      ['Status', 'minor'],
      ['Attempts', 'number'],
      'Next attempt',
      ['Given up at', 'minor'],
      '',
    ],
    rows.map((row) => cells(visit, inWallTime(ctx.clock, row), isOneReason)),
    empty('Nothing waits', `No recipients are waiting for ${domain}.`),
  )}
  ${pager(PATH, query, next)}`;
  return {
    kind: 'page',
    title: `Queue for ${domain}`,
    account: null,
    body,
    up: { label: 'Queue', href: PATH },
    ...(rows.length > 0 && {
      tools: retryAll(visit, `Retry ${domain} now`, 'All that waits for it', {
        domain,
        at: domain,
      }),
    }),
    ...(filter.after === null && { liveSeconds: LIVE_SECONDS }),
  };
}

/** The reasons for which recipients of one destination wait, and of how many. */
async function groupsOf(
  ctx: Context,
  domain: string,
): Promise<{ groups: WaitingReason[]; seen: number; isMore: boolean }> {
  const rows: Recipient[] = [];
  let isMore = true;
  while (isMore && rows.length < MOST_GROUPED) {
    const after = rows.at(-1)?.id ?? null;
    const step = await ctx.store.queue({ domain, limit: STEP, after });
    rows.push(...step);
    isMore = step.length === STEP;
    // Between two reads the event loop is given back.
    await new Promise((resolve) => setImmediate(resolve));
  }
  const groups = waitingReasons(rows.map((row) => inWallTime(ctx.clock, row)));
  return { groups, seen: rows.length, isMore };
}

function reasonsCard(groups: readonly WaitingReason[], seen: number, isMore: boolean): Html | null {
  return card(
    isMore ? `Reasons of the first ${count(seen, 'recipient')}` : 'Reasons',
    table(
      [['Reason', 'title'], ['Recipients', 'number'], 'Next attempt'],
      groups.map(({ reason, count: waiting, nextAttemptAt }) => [
        reason === null ? 'Not tried yet.' : reasonWords(reason),
        waiting,
        time(nextAttemptAt),
      ]),
      '',
    ),
  );
}

function cells(visit: Visit, row: Recipient, isOneReason: boolean): HtmlValue[] {
  const email = `${accountPath({ id: row.accountId })}/emails/${row.messageId}`;
  const fields = { id: row.id, at: row.domain };
  return [
    html`<a href="${email}">${row.address}</a> ${
        !isOneReason &&
        html`<p class="hint">
          ${row.lastReason === null ? 'not tried yet' : reasonWords(row.lastReason)}
        </p>`
      }`,
    badge(row.status),
    row.attempts,
    time(row.nextAttemptAt),
    time(row.expiresAt),
    actions([
      confirm(visit, {
        to: `${PATH}/retry`,
        label: 'Retry now',
        words: `${row.address} is tried at once.`,
        sure: 'Retry now',
        fields,
        kind: 'plain',
      }),
      confirm(visit, {
        to: `${PATH}/fail`,
        label: 'Mark as failed',
        words: `${row.address} is not tried again, and webhooks are told that it failed. This cannot be undone.`,
        sure: 'Mark as failed',
        fields,
      }),
    ]),
  ];
}
