/**
 * Webhook endpoints of an account: their delivery attempts, test, enable, replay, new secret, remove.
 *
 * Promises that a signing secret is shown once, in the response that creates it.
 */
import { validationFailed } from '../../base/errors.ts';
import { WEBHOOK_EVENTS } from '../../base/status.ts';
import {
  addEndpoint,
  enableEndpoint,
  getEndpoint,
  removeEndpoint,
  rotateEndpointSecret,
} from '../../flow/webhooks/endpoints.ts';
import { replayCalls } from '../../flow/webhooks/dispatcher.ts';
import type { Account, Endpoint } from '../../store/rows.ts';
import { accountOf } from './accounts.ts';
import { html, type Html } from '../frame/html.ts';
import { action } from '../frame/action.ts';
import { accountPath, pager } from '../frame/navigation.ts';
import { facts, table } from '../frame/table.ts';
import { badge, time } from '../frame/values.ts';
import {
  field,
  type Page,
  type PageResponse,
  param,
  queryText,
  type Visit,
} from '../frame/visit.ts';

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
      const { ctx, parts } = visit;
      const { account, endpoint } = await endpointOf(visit);
      await enableEndpoint(ctx, parts.webhooks, account.id, endpoint.id);
      return { kind: 'redirect', to: pathOf(account, endpoint), done: 'enabled' };
    },
  },
  {
    method: 'POST',
    path: '/accounts/:account/webhooks/:id/test',
    async open(visit) {
      const { account, endpoint } = await endpointOf(visit);
      const result = await visit.parts.webhooks.test(account.id, endpoint.id);
      const body = html`${facts([
          ['Result', badge(result.ok ? 'ok' : 'failed')],
          ['Status', result.statusCode],
          ['Duration', `${result.durationMs} ms`],
          ['Error', result.error],
        ])}
        <p><a href="${pathOf(account, endpoint)}">Back to the endpoint</a></p>`;
      return { kind: 'page', title: `Test of ${endpoint.url}`, account, body };
    },
  },
  {
    method: 'POST',
    path: '/accounts/:account/webhooks/:id/replay',
    async open(visit) {
      const { ctx, parts } = visit;
      const { account, endpoint } = await endpointOf(visit);
      const what = whatToReplay(visit);
      const count = await replayCalls(ctx, parts.webhooks, account.id, endpoint.id, what);
      return { kind: 'redirect', to: pathOf(account, endpoint), done: 'replayed', count };
    },
  },
  {
    method: 'POST',
    path: '/accounts/:account/webhooks/:id/rotate-secret',
    async open(visit) {
      const { ctx, parts } = visit;
      const { account, endpoint } = await endpointOf(visit);
      const { secret } = await rotateEndpointSecret(ctx, parts.webhooks, account.id, endpoint.id);
      return secretPage(
        account,
        endpoint,
        secret,
        'Calls also carry a signature of the old secret for 24 hours.',
      );
    },
  },
  {
    method: 'POST',
    path: '/accounts/:account/webhooks/:id/remove',
    async open(visit) {
      const { ctx, parts } = visit;
      const { account, endpoint } = await endpointOf(visit);
      await removeEndpoint(ctx, parts.webhooks, account.id, endpoint.id);
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
      ['Endpoint', 'Status', 'Events', 'Consecutive failures', 'Last failure'],
      endpoints.map((endpoint) => [
        html`<a href="${pathOf(account, endpoint)}">${endpoint.url}</a>`,
        badge(endpoint.status),
        eventsOf(endpoint),
        endpoint.failureCount,
        time(endpoint.lastFailureAt),
      ]),
      'No endpoints yet.',
    )}
    <h2>New endpoint</h2>
    <form method="post" action="${accountPath(account)}/webhooks">
      <label>URL <input type="url" name="url" placeholder="https://…" size="40" required /></label>
      <label
        >Events (none selected means all)
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
      ['Consecutive failures', endpoint.failureCount],
      ['Last failure', time(endpoint.lastFailureAt)],
      ['Added', time(endpoint.createdAt)],
      ['Id', html`<code>${endpoint.id}</code>`],
    ])}
    <p>
      ${endpoint.status === 'disabled' && action(`${path}/enable`, 'Enable')}
      ${action(`${path}/test`, 'Send a test')} ${action(`${path}/rotate-secret`, 'Rotate secret')}
      ${action(`${path}/remove`, 'Remove', 'danger')}
    </p>
    ${replayForm(path)}
    <h2>Attempts</h2>
    ${table(
      ['Time', 'Event', 'Email', 'Attempt', 'Result', 'Duration', 'Reason'],
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
      'No attempts yet.',
    )}
    ${pager(path, visit.query, hasMore ? (rows.at(-1)?.id ?? null) : null)}`;
  return { kind: 'page', title: endpoint.url, account, body };
}

function replayForm(path: string): Html {
  return html`<form method="post" action="${path}/replay">
    <label
      >Replay failed and missed events
      <select name="hours">
        <option value="1">of the last hour</option>
        <option value="24">of the last day</option>
        <option value="168">of the last week</option>
        <option value="720">of the last 30 days</option>
      </select></label
    >
    <label>Or one event, by its webhook-id <input name="event_id" size="36" /></label>
    <button class="plain">Replay</button>
  </form>`;
}

function whatToReplay(visit: Visit): { eventId: string } | { failedSince: number } {
  const eventId = field(visit, 'event_id');
  if (eventId !== '') return { eventId };
  const hours = Number(field(visit, 'hours'));
  if (!(hours > 0)) {
    throw validationFailed([
      { path: 'hours', message: 'Choose a period or enter the webhook-id of an event.' },
    ]);
  }
  return { failedSince: visit.ctx.clock.now() - hours * HOUR_MS };
}

function secretPage(
  account: Account,
  endpoint: Endpoint,
  secret: string,
  words: string,
): PageResponse {
  const body = html`<p class="notice" role="status">
      ${words} Copy the signing secret now. It is shown only once.
    </p>
    <p><code>${secret}</code></p>
    <p><a href="${pathOf(account, endpoint)}">Go to the endpoint</a></p>`;
  return { kind: 'page', title: endpoint.url, account, body };
}

function eventsOf({ events }: Endpoint): string {
  return events.length === 0 ? 'All' : events.join(', ');
}
