/**
 * Emails of an account: the list with its search, and one email with recipients, events, attempts and content.
 *
 * Promises the same content for a submitted message as for one from the API. Shows HTML only as a document of its own,
 * in a sandboxed frame.
 */
import { ApiError } from '../../base/errors.ts';
import { isFinal, MESSAGE_STATUSES, type MessageStatus } from '../../base/status.ts';
import { contentOf } from '../../flow/content/content.ts';
import { explain } from '../../flow/queue/operator.ts';
import type { Attempt, Body, Message } from '../../store/rows.ts';
import { accountOf } from './accounts.ts';
import { withInlineImages } from '../../mail/mime/message-parts.ts';
import { html, type Html } from '../frame/html.ts';
import { accountPath, pager } from '../frame/navigation.ts';
import { facts, table } from '../frame/table.ts';
import { badge, time } from '../frame/values.ts';
import { retryMessage } from './queue.ts';
import { type Page, param, queryText, type Visit } from '../frame/visit.ts';

const PAGE_SIZE = 50;

export const emailPages: readonly Page[] = [
  { method: 'GET', path: '/accounts/:account/emails', open: list },
  { method: 'GET', path: '/accounts/:account/emails/:id', open: detail },
  {
    method: 'GET',
    path: '/accounts/:account/emails/:id/html',
    async open(visit) {
      const { accountId, id } = await messageOf(visit);
      const body = htmlOf(await contentOf(visit.ctx, accountId, id));
      return { kind: 'document', contentType: 'text/html; charset=utf-8', body };
    },
  },
];

async function list(visit: Visit): ReturnType<Page['open']> {
  const { ctx, query } = visit;
  const account = await accountOf(visit);
  const wanted = queryText(visit, 'status');
  const status = MESSAGE_STATUSES.find((word) => word === wanted) ?? null;
  const q = queryText(visit, 'q');
  const filter = { limit: PAGE_SIZE, after: queryText(visit, 'after'), before: null, q, status };
  const { rows, hasMore } = await ctx.store.emails(account.id, filter);
  const path = `${accountPath(account)}/emails`;
  const body = html`${searchForm(path, q, status)}
  ${table(
    ['Time', 'To', 'Subject', 'From', 'Status'],
    rows.map((message) => [
      time(message.createdAt),
      message.to.join(', '),
      html`<a href="${path}/${message.id}">${message.subject || '(no subject)'}</a>`,
      message.from,
      html`${badge(message.status)} ${message.isSandbox && 'sandbox'}`,
    ]),
    'No messages.',
  )}
  ${pager(path, query, hasMore ? (rows.at(-1)?.id ?? null) : null)}`;
  return { kind: 'page', title: 'Emails', account, body };
}

function searchForm(path: string, q: string | null, status: MessageStatus | null): Html {
  return html`<form method="get" action="${path}">
    <label>Subject, sender or recipient <input name="q" value="${q}" /></label>
    <label
      >Status
      <select name="status">
        <option value="">Any</option>
        ${MESSAGE_STATUSES.map((word) =>
          word === status
            ? html`<option selected>${word}</option>`
            : html`<option>${word}</option>`,
        )}
      </select></label
    >
    <button class="plain">Filter</button>
  </form>`;
}

async function messageOf(visit: Visit): Promise<Message> {
  const account = await accountOf(visit);
  const message = await visit.ctx.store.message(account.id, param(visit, 'id'));
  if (message === null) throw new ApiError('not_found', 'There is no such email.');
  return message;
}

async function detail(visit: Visit): ReturnType<Page['open']> {
  const { store, clock } = visit.ctx;
  const account = await accountOf(visit);
  const message = await messageOf(visit);
  const [content, recipients, events, attempts] = await Promise.all([
    contentOf(visit.ctx, account.id, message.id),
    store.recipients(message.id),
    store.events(message.id),
    store.attempts(message.id),
  ]);
  const now = clock.now();
  const addressOf = new Map(recipients.map(({ id, address }) => [id, address]));
  const isOpen = recipients.some(
    ({ status, nextAttemptAt }) => !isFinal(status) && nextAttemptAt !== null,
  );
  const path = `${accountPath(account)}/emails/${message.id}`;
  const page = html`${facts([
      [
        'Status',
        html`${badge(message.status)} ${message.failureReason} ${isOpen && retryMessage(message.id)}`,
      ],
      ['From', message.from],
      ['To', message.to.join(', ')],
      ['Cc', message.cc.join(', ')],
      ['Bcc', message.bcc.join(', ')],
      ['Reply-To', message.replyTo.join(', ')],
      ['Accepted', time(message.createdAt)],
      ['Id', html`<code>${message.id}</code>`],
      ['Message-ID', html`<code>${message.messageId}</code>`],
      ['Tags', message.tags.map(({ name, value }) => `${name}=${value}`).join(', ')],
      [
        'Request',
        message.logId !== null &&
          html`<a href="${accountPath(account)}/logs/${message.logId}">Show in logs</a>`,
      ],
    ])}
    <h2>Recipients</h2>
    ${table(
      ['Recipient', 'Status', 'Attempts', 'Reason'],
      recipients.map((row) => [row.address, badge(row.status), row.attempts, explain(row, now)]),
      'No recipients.',
    )}
    <h2>Events</h2>
    ${table(
      ['Time', 'Event', 'Detail'],
      events.map(({ occurredAt, type, payload }) => [time(occurredAt), type, detailOf(payload)]),
      'No events.',
    )}
    <h2>Attempts</h2>
    ${attemptTable(attempts, addressOf)}
    <h2>Content</h2>
    ${contentSection(path, content)}`;
  return { kind: 'page', title: message.subject || '(no subject)', account, body: page };
}

function attemptTable(attempts: readonly Attempt[], addressOf: ReadonlyMap<string, string>): Html {
  return table(
    ['Started', 'Duration', 'Recipient', 'Outcome', 'Stage', 'Server', 'TLS', 'Reply'],
    attempts.map((row) => [
      time(row.beganAt),
      `${row.endedAt - row.beganAt} ms`,
      addressOf.get(row.recipientId),
      html`${badge(row.outcome)} ${row.class}`,
      row.stage,
      html`${row.host} ${row.address !== null && `[${row.address}]`}`,
      row.tls,
      html`<span class="long">${row.reply}</span>`,
    ]),
    'No attempts yet.',
  );
}

/** The HTML with the images it refers to by Content-ID; empty when there is none or it is no longer kept. */
function htmlOf(body: Body | null): string {
  const images = (body?.attachments ?? []).map(({ contentId, contentType, content }) => ({
    contentId,
    contentType,
    byteLength: content.length,
    content: () => Buffer.from(content),
  }));
  return withInlineImages(body?.html ?? '', images);
}

function contentSection(path: string, content: Body | null): Html {
  if (content === null) return html`<p class="none">The content is no longer kept.</p>`;
  const names = content.attachments.map(
    ({ filename, contentType, content: bytes }) =>
      `${filename} (${contentType}, ${bytes.length} ${bytes.length === 1 ? 'byte' : 'bytes'})`,
  );
  return html`${names.length > 0 && html`<p>Attachments: ${names.join(', ')}</p>`}
  ${
    content.html !== null &&
    html`<p class="soft">HTML (scripts and remote images are blocked):</p>
      <iframe sandbox="" src="${path}/html" title="HTML content"></iframe>`
  }
  ${content.text !== null && html`<pre>${content.text}</pre>`}`;
}

/** The fields of the JSON payload as `a: b, c: d`. */
function detailOf(payload: string | null): string {
  if (payload === null) return '';
  const value = JSON.parse(payload) as Record<string, unknown>;
  return Object.entries(value)
    .filter(([, item]) => item !== null)
    .map(([name, item]) => `${name}: ${typeof item === 'string' ? item : JSON.stringify(item)}`)
    .join(', ');
}
