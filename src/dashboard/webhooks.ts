/** Webhook endpoints of an account: their attempts, testing, enabling, replaying, new secrets. */
import { validationFailed } from '../base/errors.ts';
import { WEBHOOK_EVENTS } from '../base/status.ts';
import {
  addEndpoint,
  enableEndpoint,
  getEndpoint,
  removeEndpoint,
  rotateEndpointSecret,
} from '../flow/endpoints.ts';
import { replayCalls } from '../flow/webhooks.ts';
import type { Account, Endpoint } from '../store/rows.ts';
import { accountOf } from './accounts.ts';
import { html, type Html } from './html.ts';
import { accountPath, action, badge, facts, pager, table, time } from './layout.ts';
import { field, type Page, type PageAnswer, param, queryText, type Visit } from './visit.ts';

const PAGE_SIZE = 50;
const HOUR_MS = 3_600_000;

export const webhookPages: readonly Page[] = [
  { method: 'GET', path: '/accounts/:account/webhooks', open: list },
  {
    method: 'POST',
    path: '/accounts/:account/webhooks',
    async open(visit) {
      const account = await accountOf(visit);
      const input = { url: field(visit, 'url'), events: visit.form.getAll('events') };
      const { endpoint, secret } = await addEndpoint(visit.ctx, account.id, input);
      return secretPage(account, endpoint, secret, 'The endpoint was added.');
    },
  },
  { method: 'GET', path: '/accounts/:account/webhooks/:id', open: detail },
  {
    method: 'POST',
    path: '/accounts/:account/webhooks/:id/enable',
    async open(visit) {
      const { ctx, doors } = visit;
      const { account, endpoint } = await endpointOf(visit);
      await enableEndpoint(ctx, doors.webhooks, account.id, endpoint.id);
      return { kind: 'redirect', to: pathOf(account, endpoint), done: 'enabled' };
    },
  },
  {
    method: 'POST',
    path: '/accounts/:account/webhooks/:id/test',
    async open(visit) {
      const { account, endpoint } = await endpointOf(visit);
      const result = await visit.doors.webhooks.test(account.id, endpoint.id);
      const body = html`${facts([
          ['Result', badge(result.ok ? 'ok' : 'failed')],
          ['Status', result.statusCode],
          ['Took', `${result.durationMs} ms`],
          ['Why', result.error],
        ])}
        <p><a href="${pathOf(account, endpoint)}">Back to the endpoint</a></p>`;
      return { kind: 'page', title: `Test of ${endpoint.url}`, account, body };
    },
  },
  {
    method: 'POST',
    path: '/accounts/:account/webhooks/:id/replay',
    async open(visit) {
      const { ctx, doors } = visit;
      const { account, endpoint } = await endpointOf(visit);
      const what = whatToReplay(visit);
      const count = await replayCalls(ctx, doors.webhooks, account.id, endpoint.id, what);
      return { kind: 'redirect', to: pathOf(account, endpoint), done: 'replayed', count };
    },
  },
  {
    method: 'POST',
    path: '/accounts/:account/webhooks/:id/rotate-secret',
    async open(visit) {
      const { ctx, doors } = visit;
      const { account, endpoint } = await endpointOf(visit);
      const { secret } = await rotateEndpointSecret(ctx, doors.webhooks, account.id, endpoint.id);
      return secretPage(account, endpoint, secret, 'The old secret signs beside it for 24 hours.');
    },
  },
  {
    method: 'POST',
    path: '/accounts/:account/webhooks/:id/remove',
    async open(visit) {
      const { ctx, doors } = visit;
      const { account, endpoint } = await endpointOf(visit);
      await removeEndpoint(ctx, doors.webhooks, account.id, endpoint.id);
      return { kind: 'redirect', to: `${accountPath(account)}/webhooks`, done: 'removed' };
    },
  },
];

async function endpointOf(visit: Visit): Promise<{ account: Account; endpoint: Endpoint }> {
  const account = await accountOf(visit);
  return { account, endpoint: await getEndpoint(visit.ctx, account.id, param(visit, 'id')) };
}

function pathOf(account: Account, endpoint: Pick<Endpoint, 'id'>): string {
  return `${accountPath(account)}/webhooks/${endpoint.id}`;
}

async function list(visit: Visit): ReturnType<Page['open']> {
  const account = await accountOf(visit);
  const endpoints = await visit.ctx.store.endpoints(account.id);
  const body = html`${table(
      ['Endpoint', 'Status', 'Events', 'Failures in a row', 'Last failure (UTC)'],
      endpoints.map((endpoint) => [
        html`<a href="${pathOf(account, endpoint)}">${endpoint.url}</a>`,
        badge(endpoint.status),
        eventsOf(endpoint),
        endpoint.failureCount,
        time(endpoint.lastFailureAt),
      ]),
      'No endpoint yet.',
    )}
    <h2>New endpoint</h2>
    <form method="post" action="${accountPath(account)}/webhooks">
      <label>URL <input type="url" name="url" placeholder="https://…" size="40" required /></label>
      <label
        >Events, none for all
        <select name="events" multiple size="6">
          ${WEBHOOK_EVENTS.map((event) => html`<option>${event}</option>`)}
        </select></label
      >
      <button>Add endpoint</button>
    </form>`;
  return { kind: 'page', title: 'Webhooks', account, body };
}

async function detail(visit: Visit): ReturnType<Page['open']> {
  const { account, endpoint } = await endpointOf(visit);
  const page = { limit: PAGE_SIZE, after: queryText(visit, 'after'), before: null };
  const { rows, hasMore } = await visit.ctx.store.callAttempts(endpoint.id, page);
  const path = pathOf(account, endpoint);
  const body = html`${facts([
      ['Status', badge(endpoint.status)],
      ['Events', eventsOf(endpoint)],
      ['Failures in a row', endpoint.failureCount],
      ['Last failure', time(endpoint.lastFailureAt)],
      ['Added', time(endpoint.createdAt)],
      ['Id', html`<code>${endpoint.id}</code>`],
    ])}
    <p>
      ${endpoint.status === 'disabled' && action(`${path}/enable`, 'Enable')}
      ${action(`${path}/test`, 'Send a test')} ${action(`${path}/rotate-secret`, 'New secret')}
      ${action(`${path}/remove`, 'Remove', 'danger')}
    </p>
    ${replayForm(path)}
    <h2>Attempts</h2>
    ${table(
      ['Time (UTC)', 'Event', 'Email', 'Attempt', 'Result', 'Took', 'Why'],
      rows.map((row) => [
        time(row.createdAt),
        row.eventType,
        row.messageId !== null &&
          html`<a href="${accountPath(account)}/emails/${row.messageId}">email</a>`,
        row.attempt,
        html`${badge(row.ok ? 'ok' : 'failed')} ${row.statusCode}`,
        row.durationMs !== null && `${row.durationMs} ms`,
        row.error,
      ]),
      'No attempt yet.',
    )}
    ${pager(path, visit.query, hasMore ? (rows.at(-1)?.id ?? null) : null)}`;
  return { kind: 'page', title: endpoint.url, account, body };
}

function replayForm(path: string): Html {
  return html`<form method="post" action="${path}/replay">
    <label
      >Send again all that failed or was missed
      <select name="hours">
        <option value="1">in the last hour</option>
        <option value="24">in the last day</option>
        <option value="168">in the last week</option>
        <option value="720">in the last 30 days</option>
      </select></label
    >
    <label>or one event, by its webhook-id <input name="event_id" size="36" /></label>
    <button class="plain">Replay</button>
  </form>`;
}

function whatToReplay(visit: Visit): { eventId: string } | { failedSince: number } {
  const eventId = field(visit, 'event_id');
  if (eventId !== '') return { eventId };
  const hours = Number(field(visit, 'hours'));
  if (!(hours > 0)) {
    throw validationFailed([{ path: 'hours', message: 'Choose a time or name an event.' }]);
  }
  return { failedSince: visit.ctx.clock.now() - hours * HOUR_MS };
}

function secretPage(
  account: Account,
  endpoint: Endpoint,
  secret: string,
  words: string,
): PageAnswer {
  const body = html`<p class="notice" role="status">
      ${words} The signing secret is shown this once:
    </p>
    <p><code>${secret}</code></p>
    <p><a href="${pathOf(account, endpoint)}">To the endpoint</a></p>`;
  return { kind: 'page', title: endpoint.url, account, body };
}

function eventsOf({ events }: Endpoint): string {
  return events.length === 0 ? 'all' : events.join(', ');
}
