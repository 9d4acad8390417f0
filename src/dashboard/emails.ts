/** Sent messages of an account: the list with its search, and everything known of one. */
import { ApiError } from '../base/errors.ts';
import { isFinal, MESSAGE_STATUSES, type MessageStatus } from '../base/status.ts';
import { explain } from '../flow/queue-operator.ts';
import type { Attempt, Body, Message } from '../store/rows.ts';
import { accountOf } from './accounts.ts';
import { readParts, withInlineImages } from '../mail/message-parts.ts';
import { html, type Html } from './html.ts';
import { accountPath, badge, facts, pager, table, time } from './layout.ts';
import { retryMessage } from './queue.ts';
import { type Page, param, queryText, type Visit } from './visit.ts';

const PAGE_SIZE = 50;

export const emailPages: readonly Page[] = [
  { method: 'GET', path: '/accounts/:account/emails', open: list },
  { method: 'GET', path: '/accounts/:account/emails/:id', open: detail },
  {
    method: 'GET',
    path: '/accounts/:account/emails/:id/html',
    async open(visit) {
      const { content } = await bodyOf(visit);
      const body = content?.html ?? '';
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
    ['Time (UTC)', 'To', 'Subject', 'From', 'Status'],
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
    <label>Subject, to or from <input name="q" value="${q}" /></label>
    <label
      >Status
      <select name="status">
        <option value="">any</option>
        ${MESSAGE_STATUSES.map((word) =>
          word === status
            ? html`<option selected>${word}</option>`
            : html`<option>${word}</option>`,
        )}
      </select></label
    >
    <button class="plain">Show</button>
  </form>`;
}

async function messageOf(visit: Visit): Promise<Message> {
  const account = await accountOf(visit);
  const message = await visit.ctx.store.message(account.id, param(visit, 'id'));
  if (message === null) throw new ApiError('not_found', 'There is no such email.');
  return message;
}

/** Null: the content was not kept. */
async function bodyOf(visit: Visit): Promise<{
  message: Message;
  body: Body | null;
  content: { html: string | null; text: string | null } | null;
}> {
  const message = await messageOf(visit);
  const body = (await visit.ctx.store.body(message.accountId, message.id))?.body ?? null;
  if (body === null || body.raw === null) return { message, body, content: body };
  const parts = readParts(body.raw);
  const shown = parts.html === null ? null : withInlineImages(parts.html, parts.attachments);
  return { message, body, content: { html: shown, text: parts.text } };
}

async function detail(visit: Visit): ReturnType<Page['open']> {
  const { store, clock } = visit.ctx;
  const account = await accountOf(visit);
  const { message, body, content } = await bodyOf(visit);
  const [recipients, events, attempts] = await Promise.all([
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
          html`<a href="${accountPath(account)}/logs/${message.logId}">log</a>`,
      ],
    ])}
    <h2>Recipients</h2>
    ${table(
      ['Recipient', 'State', 'Attempts', 'Why'],
      recipients.map((row) => [row.address, badge(row.status), row.attempts, explain(row, now)]),
      'No recipients.',
    )}
    <h2>Events</h2>
    ${table(
      ['Time (UTC)', 'Event', 'Detail'],
      events.map(({ occurredAt, type, payload }) => [time(occurredAt), type, detailOf(payload)]),
      'No events.',
    )}
    <h2>Attempts</h2>
    ${attemptTable(attempts, addressOf)}
    <h2>Content</h2>
    ${contentOf(path, body, content)}`;
  return { kind: 'page', title: message.subject || '(no subject)', account, body: page };
}

function attemptTable(attempts: readonly Attempt[], addressOf: ReadonlyMap<string, string>): Html {
  return table(
    ['Began (UTC)', 'Took', 'Recipient', 'Outcome', 'Stage', 'Server', 'TLS', 'Reply'],
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
    'No attempt has ended yet.',
  );
}

function contentOf(
  path: string,
  body: Body | null,
  content: { html: string | null; text: string | null } | null,
): Html {
  if (body === null || content === null) {
    return html`<p class="none">The content is not kept any more.</p>`;
  }
  const names = body.attachments.map(
    ({ filename, contentType, content }) => `${filename} (${contentType}, ${content.length} bytes)`,
  );
  return html`${names.length > 0 && html`<p>Attachments: ${names.join(', ')}</p>`}
  ${
    content.html !== null &&
    html`<p class="soft">HTML, without scripts and remote images:</p>
      <iframe sandbox="" src="${path}/html" title="HTML content"></iframe>`
  }
  ${content.text !== null && html`<pre>${content.text}</pre>`}`;
}

/** `a: b, c: d` from the payload's JSON. */
function detailOf(payload: string | null): string {
  if (payload === null) return '';
  const value = JSON.parse(payload) as Record<string, unknown>;
  return Object.entries(value)
    .filter(([, item]) => item !== null)
    .map(([name, item]) => `${name}: ${typeof item === 'string' ? item : JSON.stringify(item)}`)
    .join(', ');
}
