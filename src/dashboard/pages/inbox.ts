/**
 * The inbox of capture mode: every message that would have left the machine, as a receiver got it.
 *
 * Kept in memory only: empty after a restart. How one message is shown is in `inbox-view.ts`.
 */
import { ApiError } from '../../base/errors.ts';
import type { CapturedMessage } from '../../flow/upkeep/capture.ts';
import { readParts, withInlineImages } from '../../mail/mime/message-parts.ts';
import { confirm } from '../frame/action.ts';
import { type FieldSpec, filters } from '../frame/form.ts';
import { html, type Html } from '../frame/html.ts';
import { ROOT } from '../frame/navigation.ts';
import { addressCell, empty, table } from '../frame/table.ts';
import { bytes, count, time } from '../frame/values.ts';
import { type Page, param, queryText, type Visit } from '../frame/visit.ts';
import { messageView } from './inbox-view.ts';

const PATH = `${ROOT}/inbox`;
const LIVE_SECONDS = 3;

export const inboxPages: readonly Page[] = [
  { method: 'GET', path: '/inbox', open: list },
  {
    method: 'POST',
    path: '/inbox/clear',
    async open({ parts }) {
      return {
        kind: 'redirect',
        to: PATH,
        done: 'inbox_cleared',
        count: parts.capture?.clear() ?? 0,
      };
    },
  },
  {
    method: 'GET',
    path: '/inbox/:number',
    async open(visit) {
      const message = messageOf(visit);
      const all = visit.parts.capture?.captured() ?? [];
      const at = all.indexOf(message);
      const near = (other: CapturedMessage | undefined): string | null =>
        other === undefined ? null : `${PATH}/${other.number}`;
      return messageView(visit, message, `${PATH}/${message.number}`, {
        newer: near(all[at - 1]),
        older: near(all[at + 1]),
      });
    },
  },
  {
    method: 'POST',
    path: '/inbox/:number/remove',
    async open(visit) {
      if (visit.parts.capture?.remove(messageOf(visit).number) !== true) throw gone();
      return { kind: 'redirect', to: PATH, done: 'removed' };
    },
  },
  {
    method: 'GET',
    path: '/inbox/:number/html',
    async open(visit) {
      const { html, attachments } = readParts(messageOf(visit).raw);
      const body = withInlineImages(html ?? '', attachments);
      return { kind: 'document', contentType: 'text/html; charset=utf-8', body };
    },
  },
  {
    method: 'GET',
    path: '/inbox/:number/source',
    async open(visit) {
      const body = messageOf(visit).raw;
      return { kind: 'document', contentType: 'text/plain; charset=utf-8', body };
    },
  },
  {
    method: 'GET',
    path: '/inbox/:number/attachments/:at',
    async open(visit) {
      const { attachments } = readParts(messageOf(visit).raw);
      const at = param(visit, 'at');
      const found = /^\d{1,4}$/.test(at) ? attachments[Number(at) - 1] : undefined;
      if (found === undefined) throw new ApiError('not_found', 'There is no such attachment.');
      return {
        kind: 'document',
        // Its own type is never used: nothing of a mail is opened here.
        contentType: 'application/octet-stream',
        body: found.content(),
        saveAs: found.filename,
      };
    },
  },
];

async function list(visit: Visit): ReturnType<Page['open']> {
  const { capture } = visit.parts;
  const title = 'Inbox';
  if (capture === null) {
    const body = empty(
      'The inbox is for capture mode',
      html`Set <code>mode = "capture"</code> under <code>[delivery]</code> to test sending: every
        email is shown here, and none leaves the machine.`,
    );
    return { kind: 'page', title, account: null, body };
  }
  const all = capture.captured();
  const asked = queryText(visit, 'q');
  const search: FieldSpec = {
    kind: 'text',
    type: 'search',
    name: 'q',
    label: 'Subject, sender or recipient',
    value: asked,
  };
  const body = html`${all.length > 0 && filters(PATH, [search])} ${messageTable(all, asked)}`;
  const tools = confirm(visit, {
    to: `${PATH}/clear`,
    label: 'Delete all',
    words: `${count(all.length, 'message is', 'messages are')} deleted from the inbox. The emails of the accounts stay.`,
    sure: 'Delete all messages',
  });
  return {
    kind: 'page',
    title,
    account: null,
    body,
    liveSeconds: LIVE_SECONDS,
    ...(all.length > 0 && { tools }),
  };
}

function messageTable(all: readonly CapturedMessage[], asked: string | null): Html {
  const q = (asked ?? '').toLowerCase();
  const found = all.filter(({ subject, from, recipient }) =>
    [subject, from, recipient].some((text) => text.toLowerCase().includes(q)),
  );
  return table(
    [['Time', 'time'], 'Recipient', ['Subject', 'title'], ['From', 'minor'], ['Size', 'number']],
    found.map((message) => [
      time(message.receivedAt),
      addressCell(message.recipient),
      html`<a href="${PATH}/${message.number}">${message.subject || '(no subject)'}</a>`,
      addressCell(message.from),
      bytes(message.raw.length),
    ]),
    asked === null
      ? empty(
          'Nothing was captured since the start',
          'Send an email to any address: it is shown here as its receiver would get it, and goes nowhere.',
        )
      : empty('No message matches.', 'Subject, sender and recipient are searched.'),
  );
}

function messageOf(visit: Visit): CapturedMessage {
  const number = Number(param(visit, 'number'));
  const message = visit.parts.capture?.captured().find((one) => one.number === number);
  if (message === undefined) throw gone();
  return message;
}

function gone(): ApiError {
  return new ApiError('not_found', 'This message is no longer in the inbox.');
}
