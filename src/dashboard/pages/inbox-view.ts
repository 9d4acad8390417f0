/**
 * How a captured message is shown: its HTML in three widths, text, links, a check of the HTML, a spam
 * score (`inbox-spam.ts`), source, attachments.
 *
 * HTML is shown only as a document of its own, in a sandboxed frame without network.
 */
import type { CapturedMessage } from '../../flow/upkeep/capture.ts';
import { checkHtml, linksOf, type Support, type UsedFeature } from '../../mail/mime/html-check.ts';
import { SUPPORT_DATE } from '../../mail/mime/html-support.ts';
import { type MessageParts, readParts } from '../../mail/mime/message-parts.ts';
import { action } from '../frame/action.ts';
import { html, type Html } from '../frame/html.ts';
import { neighbours, ROOT, tabs } from '../frame/navigation.ts';
import { facts, type Heading, table } from '../frame/table.ts';
import { badge, bytes, cutBytes, cutText, time, type Tone } from '../frame/values.ts';
import type { PageResponse, Visit } from '../frame/visit.ts';
import { spamTab } from './inbox-spam.ts';

/** Of the source and the text, what a page shows; the whole is one link away. */
const SHOWN_CHARACTERS = 65_536;

type Tab = 'html' | 'text' | 'links' | 'check' | 'spam' | 'source' | 'attachments';
const WIDTHS = [
  ['desktop', 'Desktop'],
  ['tablet', 'Tablet'],
  ['phone', 'Phone'],
] as const;

/** `path`: of its page. */
export async function messageView(
  visit: Visit,
  message: CapturedMessage,
  path: string,
  near: { newer: string | null; older: string | null },
): Promise<PageResponse> {
  const { query } = visit;
  const parts = readParts(message.raw);
  const offered = tabsOf(parts);
  const open =
    offered.find(([tab]) => tab === query.get('tab'))?.[0] ?? offered[0]?.[0] ?? 'source';
  const list = offered.map(([tab, label]) => [tab, label, `${path}?tab=${tab}`] as const);
  const body = html`${facts([
    ['From', parts.from],
    ['To', parts.to],
    ['Received', time(message.receivedAt)],
    ['Size', bytes(message.raw.length)],
    ['Envelope', html`<code>${message.returnPath}</code> → <code>${message.recipient}</code>`],
  ])}
  ${tabs('Content', open, list)}
  ${
    open === 'spam'
      ? spamTab(visit, await visit.parts.spamChecks.check(message))
      : shown(open, message, parts, path, query)
  }`;
  return {
    kind: 'page',
    title: message.subject || '(no subject)',
    account: null,
    body,
    up: { label: 'Inbox', href: `${ROOT}/inbox` },
    tools: html`${neighbours(near.newer, near.older)}
    ${action(visit, `${path}/remove`, 'Delete', 'danger')}`,
  };
}

function tabsOf(parts: MessageParts): [tab: Tab, label: string][] {
  const list: [Tab, string][] = [];
  if (parts.html !== null) list.push(['html', 'HTML']);
  if (parts.text !== null) list.push(['text', 'Text']);
  if (parts.html !== null) list.push(['check', 'HTML check'], ['links', 'Links']);
  list.push(['spam', 'Spam']);
  if (parts.attachments.length > 0) {
    list.push(['attachments', `Attachments (${parts.attachments.length})`]);
  }
  list.push(['source', 'Source']);
  return list;
}

function shown(
  tab: Exclude<Tab, 'spam'>,
  message: CapturedMessage,
  parts: MessageParts,
  path: string,
  query: URLSearchParams,
): Html {
  switch (tab) {
    case 'html':
      return htmlTab(path, query.get('width'));
    case 'text':
      return html`<pre tabindex="0">${cutText(parts.text ?? '', SHOWN_CHARACTERS)}</pre>`;
    case 'check':
      return checkTab(parts);
    case 'links':
      return linksTab(parts.html ?? '');
    case 'attachments':
      return attachmentsTab(path, parts);
    case 'source':
      return html`<p><a href="${path}/source">Show the whole message as received</a></p>
        <pre tabindex="0">${cutBytes(message.raw, SHOWN_CHARACTERS)}</pre>`;
  }
}

function htmlTab(path: string, asked: string | null): Html {
  const width = WIDTHS.find(([key]) => key === asked)?.[0] ?? 'desktop';
  return html`${tabs(
      'Width',
      width,
      WIDTHS.map(([key, label]) => [key, label, `${path}?tab=html&width=${key}`] as const),
      'small',
    )}
    <iframe class="${width}" sandbox="" src="${path}/html" title="HTML content"></iframe>
    <p class="soft">Scripts and remote images are blocked here.</p>`;
}

const TONES: Record<Support, Tone> = { yes: 'good', partly: 'fair', no: 'bad' };

/** The programs of the check, by their names in it. */
const PROGRAMS = [
  ['gmail', 'Gmail'],
  ['outlook', 'Outlook on Windows'],
  ['apple', 'Apple Mail'],
  ['yahoo', 'Yahoo'],
] as const;

function checkTab(parts: MessageParts): Html {
  const { features, problems, isCut } = checkHtml(parts.html ?? '', parts.text);
  return html`${
      problems.length === 0
        ? html`<p>${badge('ok')} Nothing is wrong for every reader.</p>`
        : html`<ul>
            ${problems.map((words) => html`<li>${words}</li>`)}
          </ul>`
    }
    ${table(
      [['Used', 'title'], ...PROGRAMS.map(([, label]): Heading => [label, 'short'])],
      features.map((row) => [
        usedCell(row),
        ...PROGRAMS.map(([name]) => badge(row[name].support, TONES[row[name].support])),
      ]),
      'It uses nothing that one of these mail programs is known to leave out.',
    )}
    <p class="soft">
      After the data of caniemail.com of ${SUPPORT_DATE}. "no" means that the program leaves it out;
      see that the email can be read without it.
      ${isCut && 'Only the first 262,144 characters were checked.'}
    </p>`;
}

/** What is used, and below it what is missing where a program supports it in part. */
function usedCell(row: UsedFeature): Html {
  const notes = PROGRAMS.flatMap(([name, label]) => {
    const { note } = row[name];
    return note === null ? [] : [html`<span class="line hint">${label}: ${note}</span>`];
  });
  return html`<a href="${row.url}" rel="noreferrer"><code>${row.feature}</code></a> ${notes}`;
}

function linksTab(content: string): Html {
  return table(
    ['Kind', ['Address', 'title'], ['Finding', 'state']],
    linksOf(content).map(({ kind, url, problem }) => [
      kind,
      html`<code>${url}</code>`,
      problem === null ? badge('ok') : html`<span>${badge('warning')} ${problem}</span>`,
    ]),
    'The HTML has no links and no images.',
  );
}

function attachmentsTab(path: string, { attachments }: MessageParts): Html {
  return table(
    [['Name', 'title'], 'Type', ['Size as sent', 'number'], ''],
    attachments.map(({ filename, contentType, byteLength }, at) => [
      filename,
      contentType,
      bytes(byteLength),
      html`<a class="button plain" href="${path}/attachments/${at + 1}">Download</a>`,
    ]),
    'No attachments.',
  );
}
