/**
 * How webhook endpoints are shown: the list, one with its attempts, one attempt with its payload and response.
 *
 * What an endpoint responded was written by others: it is shown as text, here alone (docs/decisions.md D256).
 */
import { wallTime, wallTimeOrNull } from '../../base/clock.ts';
import type { Clock } from '../../base/clock.ts';
import { WEBHOOK_EVENTS } from '../../base/status.ts';
import type { TestResult } from '../../flow/webhooks/dispatcher.ts';
import type { Account, CallAttempt, Endpoint } from '../../store/rows.ts';
import type { AttemptDetail, ListedAttempt } from '../../store/webhooks.ts';
import { action, actions, confirm, jumpTo } from '../frame/action.ts';
import { type FieldSpec, form } from '../frame/form.ts';
import { html, type Html, type HtmlValue } from '../frame/html.ts';
import { accountPath, pager, tabs } from '../frame/navigation.ts';
import { card, empty, facts, table } from '../frame/table.ts';
import { badge, copyable, count, time } from '../frame/values.ts';
import { type PageResponse, queryText, type Visit } from '../frame/visit.ts';

const PAGE_SIZE = 25;
const LIVE_SECONDS = 10;
/** May be subscribed to, and never happen: opens and clicks are not tracked (docs/contract.md C1.10). */
const NEVER_SENT: ReadonlySet<string> = new Set(['email.opened', 'email.clicked']);

/** Path of the page of an endpoint. */
export function endpointPath(account: Account, endpoint: Pick<Endpoint, 'id'>): string {
  return `${accountPath(account)}/webhooks/${endpoint.id}`;
}

export async function listView(visit: Visit, account: Account): Promise<PageResponse> {
  const endpoints = await visit.ctx.store.endpoints(account.id);
  const body = html`${table(
    [
      ['Endpoint', 'title'],
      ['Status', 'state'],
      'Events',
      ['Failures in a row', 'number'],
      ['Last failure', 'minor'],
    ],
    endpoints.map((endpoint) => [
      html`<a href="${endpointPath(account, endpoint)}">${endpoint.url}</a>`,
      badge(endpoint.status),
      eventsOf(endpoint),
      endpoint.failureCount,
      time(endpoint.lastFailureAt),
    ]),
    empty(
      'No endpoints yet',
      'An endpoint is a URL of yours that is told what becomes of each email: delivered, bounced, complained.',
    ),
  )}
  ${card(
    'Add an endpoint',
    form(visit, {
      to: `${accountPath(account)}/webhooks`,
      fields: endpointFields('', []),
      submit: 'Add endpoint',
    }),
  )}`;
  return { kind: 'page', title: 'Webhooks', account, body };
}

function endpointFields(url: string, events: readonly string[]): FieldSpec[] {
  return [
    {
      kind: 'text',
      type: 'url',
      name: 'endpoint',
      label: 'URL',
      value: url,
      placeholder: 'https://…',
      required: true,
      maxLength: 2048,
    },
    {
      kind: 'checks',
      name: 'events',
      label: 'Events',
      values: events,
      options: WEBHOOK_EVENTS.map((event) =>
        NEVER_SENT.has(event)
          ? [event, html`${event} <span class="soft">never sent: not tracked</span>`]
          : [event, event],
      ),
      hint: 'None chosen means all.',
    },
  ];
}

export async function endpointView(
  visit: Visit,
  account: Account,
  endpoint: Endpoint,
): Promise<PageResponse> {
  const path = endpointPath(account, endpoint);
  const isFailedOnly = queryText(visit, 'show') === 'failed';
  const page = { limit: PAGE_SIZE, after: queryText(visit, 'after'), before: null };
  const list = await visit.ctx.store.callAttempts(endpoint.id, page, isFailedOnly);
  const isNewest = page.after === null;
  const next = list.hasMore ? (list.rows.at(-1)?.id ?? null) : null;
  const body = html`${facts([
      ['Status', html`${badge(endpoint.status)} ${statusWords(endpoint)}`],
      ['Events', eventsOf(endpoint)],
      ['Failures in a row', endpoint.failureCount],
      ['Last failure', time(endpoint.lastFailureAt)],
      ['Added', time(endpoint.createdAt)],
      ['Old secret signs until', time(oldSecretUntil(endpoint, visit.ctx.clock))],
      ['Id', copyable(endpoint.id, 'Copy the id')],
    ])}
    ${changesOf(visit, path, endpoint)}
    <h2>Attempts</h2>
    ${tabs('Attempts', isFailedOnly ? 'failed' : 'all', [
      ['all', 'All', path],
      ['failed', 'Failed', `${path}?show=failed`],
    ])}
    ${attemptTable(visit, account, endpoint, list.rows, isFailedOnly)}
    ${pager(path, visit.query, next)}
    <div class="columns">
      <div id="replay">${replayCard(visit, path)}</div>
      <div id="edit">${editCard(visit, path, endpoint)}</div>
    </div>`;
  return {
    kind: 'page',
    title: endpoint.url,
    account,
    body,
    up: { label: 'Webhooks', href: `${accountPath(account)}/webhooks` },
    tools: action(visit, `${path}/test`, 'Send a test', 'primary'),
    ...(isNewest && { liveSeconds: LIVE_SECONDS }),
  };
}

function changesOf(visit: Visit, path: string, endpoint: Endpoint): Html | null {
  return actions([
    jumpTo(visit, `${path}/replay`, 'replay', 'Replay'),
    jumpTo(visit, `${path}/edit`, 'edit', 'Edit'),
    endpoint.status === 'disabled'
      ? action(visit, `${path}/enable`, 'Enable', 'primary')
      : confirm(visit, {
          to: `${path}/disable`,
          label: 'Disable',
          words: 'Calls wait until it is enabled again; what waits too long can be replayed.',
          sure: 'Disable this endpoint',
        }),
    confirm(visit, {
      to: `${path}/rotate-secret`,
      label: 'New secret',
      words: 'A new signing secret is made and shown once. For 24 hours the old one signs too.',
      sure: 'Make a new secret',
      kind: 'plain',
    }),
    confirm(visit, {
      to: `${path}/remove`,
      label: 'Remove',
      words: 'Nothing more is sent to it, waiting calls neither.',
      sure: 'Remove this endpoint',
    }),
  ]);
}

function statusWords({ status, failureCount }: Endpoint): string {
  if (status === 'active') return '';
  return failureCount > 0
    ? `${count(failureCount, 'call')} in a row failed. Repair it, then enable it: what is younger than three hours goes on by itself, older calls can be replayed.`
    : 'Calls wait until it is enabled.';
}

function oldSecretUntil({ previousUntil }: Endpoint, clock: Clock): number | null {
  const isOver = previousUntil === null || previousUntil <= clock.steady();
  return isOver ? null : wallTime(clock, previousUntil);
}

function attemptTable(
  visit: Visit,
  account: Account,
  endpoint: Endpoint,
  rows: readonly ListedAttempt[],
  isFailedOnly: boolean,
): Html {
  const path = endpointPath(account, endpoint);
  return table(
    [
      ['Time', 'time'],
      ['Event', 'title'],
      ['Attempt', 'number'],
      ['Result', 'state'],
      ['Reason', 'words'],
      '',
    ],
    rows.map((row) => [
      html`<a href="${path}/attempts/${row.id}">${time(row.createdAt)}</a>`,
      html`${row.eventType}
      ${row.messageId !== null && html`<a href="${emailPath(account, row.messageId)}">(email)</a>`}`,
      row.attempt,
      resultOf(row),
      row.error,
      row.eventId !== null && replayButton(visit, path, row.eventId),
    ]),
    isFailedOnly
      ? empty('No failed attempts', 'Everything that was sent here was acknowledged.')
      : empty('No attempts yet', 'Send a test, or an email: its events are sent here.'),
  );
}

function replayButton(visit: Visit, path: string, eventId: string): Html | null {
  return action(visit, `${path}/replay`, 'Replay', 'plain', { event_id: eventId });
}

function resultOf({ ok, statusCode, durationMs }: CallAttempt): Html {
  return html`<span class="nowrap"
    >${badge(ok ? 'ok' : 'failed')} ${statusCode}
    ${durationMs !== null && html`<span class="soft">${durationMs} ms</span>`}</span
  >`;
}

function emailPath(account: Account, messageId: string): string {
  return `${accountPath(account)}/emails/${messageId}`;
}

function replayCard(visit: Visit, path: string): Html | null {
  return card(
    'Replay',
    form(visit, {
      to: `${path}/replay`,
      id: 'replay',
      fields: [
        {
          kind: 'select',
          name: 'hours',
          label: 'Failed and missed events',
          options: [
            ['1', 'of the last hour'],
            ['24', 'of the last day'],
            ['168', 'of the last week'],
            ['720', 'of the last 30 days'],
          ],
        },
        { kind: 'text', type: 'datetime-local', name: 'since', label: 'Or since this time (UTC)' },
        {
          kind: 'text',
          name: 'event_id',
          label: 'Or one event',
          hint: 'By its webhook-id, also when it was acknowledged. Receivers see the same id again.',
          maxLength: 36,
        },
      ],
      submit: 'Replay',
    }),
  );
}

function editCard(visit: Visit, path: string, { url, events }: Endpoint): Html | null {
  return card(
    'Edit',
    form(visit, {
      to: `${path}/edit`,
      id: 'edit',
      fields: endpointFields(url, events),
      submit: 'Save',
    }),
  );
}

/** One attempt: what was posted, what came back, and the other attempts of the same call. */
export function attemptView(
  visit: Visit,
  account: Account,
  endpoint: Endpoint,
  { attempt, call, response, attempts }: AttemptDetail,
): PageResponse {
  const path = endpointPath(account, endpoint);
  const body = html`${facts([
      ['Result', resultOf(attempt)],
      ['Reason', attempt.error],
      ['Attempt', attempt.attempt],
      ['Time', time(attempt.createdAt)],
      ['webhook-id', call !== null && copyable(call.eventId, 'Copy the webhook-id')],
      [
        'Email',
        attempt.messageId !== null &&
          html`<a href="${emailPath(account, attempt.messageId)}">Show the email</a>`,
      ],
      [
        'Next attempt',
        call !== null &&
          call.status === 'open' &&
          time(wallTimeOrNull(visit.ctx.clock, call.nextAttemptAt)),
      ],
    ])}
    ${call !== null && actions([replayButton(visit, path, call.eventId)])}
    <h2>Response</h2>
    ${textOf(response, 'Nothing of the response is kept: it was empty, there was none, or its call is gone.')}
    <h2>Payload</h2>
    ${textOf(call === null ? null : indented(call.body), 'The payload is no longer kept.')}
    <h2>Attempts of this event</h2>
    ${table(
      [['Time', 'time'], ['Attempt', 'number'], ['Result', 'state'], 'Reason'],
      attempts.map((row) => [
        html`<a href="${path}/attempts/${row.id}">${time(row.createdAt)}</a>`,
        row.attempt,
        resultOf(row),
        row.error,
      ]),
      '',
    )}`;
  const up = { label: endpoint.url, href: path };
  return { kind: 'page', title: attempt.eventType, account, body, up };
}

function textOf(text: string | null, none: string): Html {
  if (text === null) return html`<p class="none">${none}</p>`;
  return html`<pre tabindex="0">${text}</pre>`;
}

/** JSON with line breaks. The bytes that were signed have none. */
function indented(body: string): string {
  return JSON.stringify(JSON.parse(body), null, 2);
}

export function testView(
  visit: Visit,
  account: Account,
  endpoint: Endpoint,
  result: TestResult,
): PageResponse {
  const path = endpointPath(account, endpoint);
  const body = html`${facts([
      ['Result', badge(result.ok ? 'ok' : 'failed')],
      ['Status', result.statusCode],
      ['Duration', `${result.durationMs} ms`],
      ['Reason', result.error],
      ['webhook-id', copyable(result.id, 'Copy the webhook-id')],
    ])}
    <h2>Response</h2>
    ${textOf(result.response, 'The response was empty, or there was none.')}
    ${actions([action(visit, `${path}/test`, 'Send another test', 'primary')])}`;
  const up = { label: endpoint.url, href: path };
  return { kind: 'page', title: 'Test call', account, body, up };
}

/** `words`: what has just happened. */
export function secretView(
  account: Account,
  endpoint: Endpoint,
  secret: string,
  words: HtmlValue,
): PageResponse {
  const body = html`<p class="notice good" role="status">
      ${words} Copy the signing secret now. It is shown only once.
    </p>
    <p>${copyable(secret, 'Copy the signing secret')}</p>
    <p>
      <a class="button plain" href="${endpointPath(account, endpoint)}">Go to the endpoint</a>
    </p>`;
  return { kind: 'page', title: endpoint.url, account, body };
}

function eventsOf({ events }: Endpoint): string {
  return events.length === 0 ? 'All' : events.join(', ');
}
