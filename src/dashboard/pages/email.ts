/**
 * One email: what became of it in one sentence, its recipients, its story, its content; and sending it again.
 *
 * Each reason is said once, with those it concerns. Updates itself while a recipient is still being tried.
 */
import { ApiError } from '../../base/errors.ts';
import { wallTimeOrNull } from '../../base/clock.ts';
import { inWallTime } from '../../flow/queue/operator.ts';
import { sendAgain } from '../../flow/accept/send-again.ts';
import type { Account, Message, Recipient } from '../../store/rows.ts';
import { accountOf } from './accounts.ts';
import {
  attachmentDocument,
  contentSection,
  htmlDocument,
  sourceDocument,
} from './email-content.ts';
import { headlineOf, isWaiting } from './email-headline.ts';
import { timelineOf } from './email-timeline.ts';
import { action, confirm, together } from '../frame/action.ts';
import { html, type Html } from '../frame/html.ts';
import { accountPath, neighbours, ROOT } from '../frame/navigation.ts';
import { card, facts, table } from '../frame/table.ts';
import { badge, copyable, count, reasonWords, time } from '../frame/values.ts';
import { type Page, param, type Visit } from '../frame/visit.ts';

const PATH = '/accounts/:account/emails/:id';
const LIVE_SECONDS = 3;
/** Of a message to many, the recipients that its page lists. */
const MOST_RECIPIENTS = 100;

export const emailPages: readonly Page[] = [
  { method: 'GET', path: PATH, open: detail },
  {
    method: 'GET',
    path: `${PATH}/html`,
    open: async (visit) => htmlDocument(visit.ctx, await messageOf(visit)),
  },
  {
    method: 'GET',
    path: `${PATH}/source`,
    open: async (visit) => sourceDocument(visit.ctx, await messageOf(visit)),
  },
  {
    method: 'GET',
    path: `${PATH}/attachments/:number`,
    open: async (visit) =>
      attachmentDocument(visit.ctx, await messageOf(visit), param(visit, 'number')),
  },
  {
    method: 'POST',
    path: `${PATH}/send-again`,
    async open(visit) {
      const account = await accountOf(visit);
      const message = await messageOf(visit);
      const id = await sendAgain(visit.ctx, visit.parts.queue, account, message);
      return { kind: 'redirect', to: `${accountPath(account)}/emails/${id}`, done: 'sent' };
    },
  },
];

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
  const path = `${accountPath(account)}/emails/${message.id}`;
  const [waiting, events, attempts, open, key, content, beside] = await Promise.all([
    store.recipients(message.id),
    store.events(message.id),
    store.attempts(message.id),
    store.callsOfMessage(message.id),
    message.keyId === null ? null : store.key(message.keyId),
    contentSection(visit.ctx, message, path, visit.query),
    neighboursOf(visit, account, message),
  ]);
  const recipients = waiting.map((row) => inWallTime(clock, row));
  const calls = open.map((call) => ({
    ...call,
    nextAttemptAt: wallTimeOrNull(clock, call.nextAttemptAt),
  }));
  const reasons = reasonsOf(recipients);
  const keyName = key?.accountId === account.id ? key.name : null;
  const shownReasons = [...reasons.keys()];
  const story = timelineOf({
    message,
    recipients,
    attempts,
    events,
    calls,
    keyName,
    reasons: shownReasons,
  });
  const isLive = recipients.some(isWaiting);
  const body = html`${headline(message, recipients, reasons)}
    <div class="columns">
      ${card('What happened', story)}
      <div>
        ${card('Recipients', recipientTable(recipients))} ${card('Details', factsOf(message))}
      </div>
    </div>
    ${card('Content', content)}`;
  return {
    kind: 'page',
    title: message.subject || '(no subject)',
    account,
    body,
    up: { label: 'Emails', href: `${accountPath(account)}/emails` },
    tools: together([
      beside,
      isLive && action(visit, `${ROOT}/queue/retry`, 'Retry now', 'plain', { id: message.id }),
      againForm(visit, path, message, recipients),
    ]),
    ...(isLive && { liveSeconds: LIVE_SECONDS }),
  };
}

function headline(
  message: Message,
  recipients: readonly Recipient[],
  reasons: ReadonlyMap<string, readonly string[]>,
): Html {
  const { words, tone } = headlineOf(recipients);
  return html`<div class="notice ${tone} headline">
    <p><strong>${words}.</strong> ${message.isSandbox && badge('sandbox')}</p>
    ${Array.from(reasons, ([reason, addresses]) => {
      const whom = addresses.length === recipients.length ? null : whoOf(addresses);
      return html`<p>${whom !== null && html`${whom}: `}${reasonWords(reason)}</p>`;
    })}
  </div>`;
}

function whoOf(addresses: readonly string[]): string {
  const named = addresses.slice(0, 3).join(', ');
  const more = addresses.length - 3;
  return more <= 0 ? named : `${named} and ${more} more`;
}

/** Why recipients do not have it, each reason once with the recipients that it concerns. */
function reasonsOf(recipients: readonly Recipient[]): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const { status, lastReason, address } of recipients) {
    if (lastReason === null || status === 'delivered' || status === 'sent') continue;
    found.set(lastReason, [...(found.get(lastReason) ?? []), address]);
  }
  return found;
}

function recipientTable(recipients: readonly Recipient[]): Html {
  const left = recipients.length - MOST_RECIPIENTS;
  return html`${table(
    [['Recipient', 'title'], 'Status'],
    recipients
      .slice(0, MOST_RECIPIENTS)
      .map((row) => [
        html`${row.address} ${row.kind !== 'to' && html`<span class="soft">${row.kind}</span>`}`,
        html`<span>${badge(row.status)} <span class="line hint">${triedWords(row)}</span></span>`,
      ]),
    'No recipients.',
  )}
  ${left > 0 && html`<p class="soft">and ${count(left, 'more recipient')}</p>`}`;
}

function triedWords(row: Recipient): Html {
  const tried = row.attempts === 0 ? 'not tried yet' : `after ${count(row.attempts, 'attempt')}`;
  return html`${tried}${isWaiting(row) && html`, next ${time(row.nextAttemptAt)}`}`;
}

function factsOf(message: Message): Html {
  return facts([
    ['From', message.from],
    ['To', message.to.join(', ')],
    ['Cc', message.cc.join(', ')],
    ['Bcc', message.bcc.join(', ')],
    ['Reply-To', message.replyTo.join(', ')],
    ['Tags', message.tags.map(({ name, value }) => `${name}=${value}`).join(', ')],
    ['Id', copyable(message.id, 'Copy the id')],
    ['Message-ID', copyable(message.messageId, 'Copy the Message-ID')],
  ]);
}

function againForm(
  visit: Visit,
  path: string,
  message: Message,
  recipients: readonly Recipient[],
): Html | null {
  return confirm(visit, {
    to: `${path}/send-again`,
    label: 'Send again',
    kind: 'plain',
    words: html`<p>
      A new email with the same content goes to the same
      ${count(recipients.length, 'recipient')}${message.isSandbox && ', in the sandbox'}. Whoever
      has this one gets it twice.
    </p>`,
    sure: 'Send it again',
  });
}

/** The emails before and after this one in the account's list. */
async function neighboursOf(visit: Visit, account: Account, { id }: Message): Promise<Html> {
  const base = { limit: 1, q: null, status: null };
  const [newer, older] = await Promise.all([
    visit.ctx.store.emails(account.id, { ...base, before: id, after: null }),
    visit.ctx.store.emails(account.id, { ...base, after: id, before: null }),
  ]);
  const hrefOf = (list: { rows: Message[] }): string | null => {
    const [row] = list.rows;
    return row === undefined ? null : `${accountPath(account)}/emails/${row.id}`;
  };
  return neighbours(hrefOf(newer), hrefOf(older));
}
