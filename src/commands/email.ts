/** `email`: the emails of an account, and one with everything that happened to it. */
import { emailSummary } from '../api/shapes/email-response.ts';
import { MESSAGE_STATUSES } from '../base/status.ts';
import type { ResultOf } from '../control/operations.ts';
import { ACCOUNT } from './account-option.ts';
import type { Call, Group } from './command.ts';
import { fields, paragraph, printable, table, when } from './layout.ts';
import { operate } from './operate.ts';
import { argument, choice, option } from './parameter.ts';
import { detailJson } from './queue-json.ts';

const ID = argument('ID', 'Id of the email');
const STATUS = choice(
  'status',
  'S',
  `Show only emails with this status: ${MESSAGE_STATUSES.join(', ')}`,
  MESSAGE_STATUSES,
);
const SEARCH = option('search', 'TEXT', 'Show only emails with this in subject, sender or to');
export const LIMIT = option('limit', 'N', 'How many, 1 to 100 (default: 50)');
export const AFTER = option('after', 'ID', 'Go on after this one, the last of the page before');

type Shown = ResultOf<'email.show'>;

async function list(call: Call): Promise<void> {
  const { emails, hasMore } = await operate(call, 'email.list', {
    account: call.get(ACCOUNT),
    status: call.get(STATUS),
    q: call.get(SEARCH),
    limit: call.get(LIMIT),
    after: call.get(AFTER),
  });
  const rows = emails.map((one) => [
    [one.to.join(', '), one.status, when(one.createdAt)],
    [one.id],
    [one.subject],
  ]);
  const headings = [['TO', 'STATUS', 'ACCEPTED (UTC)'], ['ID'], ['SUBJECT']];
  const last = emails.at(-1);
  const more = hasMore && last !== undefined ? `\n\nThere are more: --after ${last.id}` : '';
  const json = emails.map((one) => emailSummary({ ...one, eventHeaders: [] }));
  call.print(
    { data: json, has_more: hasMore },
    `${table(headings, rows, 'There are no emails.')}${more}`,
  );
}

async function show(call: Call): Promise<void> {
  const found = await operate(call, 'email.show', { id: call.get(ID) });
  const events = found.events.map(({ id, type, occurredAt, payload }) => ({
    id,
    type,
    occurred_at: new Date(occurredAt).toISOString(),
    payload: payload === null ? null : (JSON.parse(payload) as unknown),
  }));
  call.print({ ...detailJson(found), events }, shownEmail(found));
}

function shownEmail({ message, recipients, events }: Shown): string {
  const head = fields([
    ['email', message.id],
    ['from', message.from],
    ['to', message.to.join(', ')],
    ['subject', message.subject],
    ['Message-ID', message.messageId],
    ['status', message.status],
    ['accepted (UTC)', when(message.createdAt)],
  ]);
  const ends = recipients.map((one) => paragraph(printable(one.explanation))).join('\n');
  const rows = events.map(({ type, occurredAt, recipient, reason }) => [
    [when(occurredAt), type.replace('email.', '')],
    [recipient ?? ''],
    [reason ?? ''],
  ]);
  const headings = [['AT (UTC)', 'EVENT'], ['RECIPIENT'], ['REASON']];
  return `${head}\n\n${ends}\n\n${table(headings, rows, 'There are no events.')}`;
}

export const email: Group = {
  summary: 'List the emails of an account and show what happened to one',
  actions: {
    list: {
      summary: 'List the emails of an account, newest first',
      parameters: [STATUS, SEARCH, LIMIT, AFTER, ACCOUNT],
      run: list,
    },
    show: {
      summary: 'Show an email with its recipients and every event',
      details: 'For every attempt with its server and TLS: postrider queue show ID.',
      parameters: [ID],
      run: show,
    },
  },
};
