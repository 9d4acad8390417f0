/**
 * The inbox of capture mode: every message that would have left the machine, as a receiver got it.
 *
 * Kept in memory only: empty after a restart.
 */
import { ApiError } from '../../base/errors.ts';
import type { CapturedMessage } from '../../flow/upkeep/capture.ts';
import { readParts, withInlineImages } from '../../mail/mime/message-parts.ts';
import { html } from '../frame/html.ts';
import { ROOT } from '../frame/navigation.ts';
import { facts, table } from '../frame/table.ts';
import { time } from '../frame/values.ts';
import { type Page, param, type Visit } from '../frame/visit.ts';

const PATH = `${ROOT}/inbox`;
const LIVE_SECONDS = 5;

export const inboxPages: readonly Page[] = [
  {
    method: 'GET',
    path: '/inbox',
    async open({ parts }) {
      const title = 'Inbox';
      if (parts.capture === null) {
        const body = html`<p class="none">
          The inbox shows email in capture mode only. Set <code>mode = "capture"</code> under
          <code>[delivery]</code> to test sending without any email leaving the machine.
        </p>`;
        return { kind: 'page', title, account: null, body };
      }
      const rows = parts.capture.captured().map((message) => {
        const { subject, from } = readParts(message.raw);
        return [
          time(message.receivedAt),
          message.recipient,
          html`<a href="${PATH}/${message.number}">${subject || '(no subject)'}</a>`,
          from,
          `${message.raw.length} bytes`,
        ];
      });
      const none =
        'No email has been captured since the start. Send one to any address to see it here.';
      const headings = ['Time', 'Recipient', 'Subject', 'From', 'Size'];
      const body = table(headings, rows, none);
      return { kind: 'page', title, account: null, body, liveSeconds: LIVE_SECONDS };
    },
  },
  {
    method: 'GET',
    path: '/inbox/:number',
    async open(visit) {
      const message = messageOf(visit);
      const parts = readParts(message.raw);
      const path = `${PATH}/${message.number}`;
      const body = html`${facts([
          [
            'Envelope',
            html`<code>${message.returnPath}</code> → <code>${message.recipient}</code>`,
          ],
          ['From', parts.from],
          ['To', parts.to],
          ['Received', time(message.receivedAt)],
          [
            'Attachments',
            parts.attachments
              .map(({ filename, contentType }) => `${filename} (${contentType})`)
              .join(', '),
          ],
        ])}
        ${
          parts.html !== null &&
          html`<h2>HTML</h2>
            <p class="soft">Scripts and remote images are blocked.</p>
            <iframe sandbox="" src="${path}/html" title="HTML content"></iframe>`
        }
        ${
          parts.text !== null &&
          html`<h2>Text</h2>
            <pre tabindex="0">${parts.text}</pre>`
        }
        <h2>Source</h2>
        <p><a href="${path}/source">Show the whole message as received</a></p>
        <pre tabindex="0">${headOf(message.raw)}</pre>`;
      return { kind: 'page', title: parts.subject || '(no subject)', account: null, body };
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
];

function messageOf(visit: Visit): CapturedMessage {
  const number = Number(param(visit, 'number'));
  const message = visit.parts.capture?.captured().find((one) => one.number === number);
  if (message === undefined) {
    throw new ApiError('not_found', 'This message is no longer in the inbox.');
  }
  return message;
}

/** The header section of a message. */
function headOf(raw: Buffer): string {
  const end = raw.indexOf('\r\n\r\n');
  return raw.toString('utf8', 0, end < 0 ? Math.min(raw.length, 65_536) : end);
}
