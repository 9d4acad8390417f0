/**
 * The content of an email in tabs: HTML in phone and desktop width, text, source, headers, attachments to download.
 *
 * Promises the same content for a submitted message as for one from the API. HTML is shown only as a document of its
 * own, in a sandboxed frame; an attachment is only ever saved, never opened here.
 */
import { asBuffer } from '../../base/as-buffer.ts';
import { ApiError } from '../../base/errors.ts';
import { contentOf, listedContentOf } from '../../flow/content/content.ts';
import { sourceOf } from '../../flow/content/source.ts';
import type { Context } from '../../flow/context.ts';
import { decodeWords } from '../../mail/mime/text.ts';
import { HEADER_ONLY, splitMime, valueOf } from '../../mail/mime/tree.ts';
import type { ListedBody, Message } from '../../store/rows.ts';
import { html, type Html } from '../frame/html.ts';
import { tabs } from '../frame/navigation.ts';
import { table } from '../frame/table.ts';
import { bytes, cutBytes, cutText } from '../frame/values.ts';
import type { DocumentResponse } from '../frame/visit.ts';

/** Of the source and the text, what a page shows; the whole is one link away. */
const SHOWN_CHARACTERS = 32_768;

const TABS = ['html', 'text', 'source', 'headers', 'attachments'] as const;
type Tab = (typeof TABS)[number];
const TAB_LABELS: Readonly<Record<Tab, string>> = {
  html: 'HTML',
  text: 'Text',
  source: 'Source',
  headers: 'Headers',
  attachments: 'Attachments',
};

/**
 * The section below the story of an email. `path`: of its page; `query`: which tab is open. Where the memory budget has
 * too few bytes for the content it says so: the story needs none of them.
 */
export async function contentSection(
  ctx: Context,
  message: Message,
  path: string,
  query: URLSearchParams,
): Promise<Html> {
  try {
    return await openContent(ctx, message, path, query);
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'platform_halted') throw error;
    return html`<p class="none">
      The content is large, and too many large requests are being handled at the moment.
      <a href="${path}?${query.toString()}">Try again</a>
    </p>`;
  }
}

async function openContent(
  ctx: Context,
  message: Message,
  path: string,
  query: URLSearchParams,
): Promise<Html> {
  const content = await listedContentOf(ctx, message.accountId, message.id);
  if (content === null) {
    return html`<p class="none">The content is no longer kept. What happened to the email is.</p>`;
  }
  const offered = TABS.filter((tab) => has(content, tab));
  const open = offered.find((tab) => tab === query.get('tab')) ?? offered[0] ?? 'source';
  const list = offered.map((tab) => {
    const number = tab === 'attachments' ? ` (${content.attachments.length})` : '';
    return [tab, TAB_LABELS[tab] + number, `${path}?tab=${tab}`] as const;
  });
  return html`${tabs('Content', open, list)}
  ${await shown(ctx, message, path, content, open, query)}`;
}

function has(content: ListedBody, tab: Tab): boolean {
  if (tab === 'html') return content.html !== null;
  if (tab === 'text') return content.text !== null;
  return tab !== 'attachments' || content.attachments.length > 0;
}

async function shown(
  ctx: Context,
  message: Message,
  path: string,
  content: ListedBody,
  tab: Tab,
  query: URLSearchParams,
): Promise<Html> {
  switch (tab) {
    case 'html':
      return htmlTab(path, query.get('width') === 'phone');
    case 'text':
      return html`<pre tabindex="0">${cutText(content.text ?? '', SHOWN_CHARACTERS)}</pre>`;
    case 'source': {
      const source = await sourceOf(ctx, message);
      if (source === null) return html`<p class="none">It could never be written as a message.</p>`;
      return html`<p class="soft">
          ${bytes(source.length)}; the DKIM signature is added at delivery.
          <a href="${path}/source">Download it</a>
        </p>
        <pre tabindex="0">${cutBytes(source, SHOWN_CHARACTERS)}</pre>`;
    }
    case 'headers':
      return headersTab(await sourceOf(ctx, message));
    case 'attachments':
      return attachmentsTab(path, content);
  }
}

function htmlTab(path: string, isPhone: boolean): Html {
  const at = `${path}?tab=html`;
  const widths = [
    ['desktop', 'Desktop', at],
    ['phone', 'Phone', `${at}&width=phone`],
  ] as const;
  return html`${tabs('Width', isPhone ? 'phone' : 'desktop', widths, 'small')}
    <iframe
      class="${isPhone ? 'phone' : 'desktop'}"
      sandbox=""
      src="${path}/html"
      title="HTML content"
    ></iframe>
    <p class="soft">Scripts and remote images are blocked here.</p>`;
}

function headersTab(source: Buffer | null): Html {
  if (source === null) return html`<p class="none">It could never be written as a message.</p>`;
  const { fields } = splitMime(source, HEADER_ONLY);
  const rows = fields.map((field) => [
    Buffer.from(source.subarray(field.start, field.valueStart - 1))
      .toString('latin1')
      .trim(),
    decodeWords(valueOf(source, field)),
  ]);
  return table([['Field', 'title'], 'Value'], rows, 'No fields.');
}

function attachmentsTab(path: string, content: ListedBody): Html {
  return table(
    [['Name', 'title'], 'Type', ['Size', 'number'], ''],
    content.attachments.map(({ filename, contentType, size }, at) => [
      filename,
      contentType,
      bytes(size),
      html`<a class="button plain" href="${path}/attachments/${at + 1}">Download</a>`,
    ]),
    'No attachments.',
  );
}

/** The HTML with the images that it names by Content-ID; empty when there is none or it is no longer kept. */
export async function htmlDocument(ctx: Context, message: Message): Promise<DocumentResponse> {
  const content = await contentOf(ctx, message.accountId, message.id);
  const images = (content?.attachments ?? []).map(({ contentId, contentType, content }) => ({
    contentId,
    contentType,
    content,
  }));
  const body = await ctx.large.inline(content?.html ?? '', images);
  return { kind: 'document', contentType: 'text/html; charset=utf-8', body };
}

/** The source as a file. */
export async function sourceDocument(ctx: Context, message: Message): Promise<DocumentResponse> {
  const body = await sourceOf(ctx, message);
  if (body === null)
    throw new ApiError('not_found', 'The content of this email is no longer kept.');
  return { kind: 'document', contentType: 'message/rfc822', body, saveAs: `${message.id}.eml` };
}

/** One attachment as a file; `number` from 1. Its own type is never used: nothing of a mail is opened here. */
export async function attachmentDocument(
  ctx: Context,
  message: Message,
  number: string,
): Promise<DocumentResponse> {
  const content = await contentOf(ctx, message.accountId, message.id);
  const found = /^\d{1,4}$/.test(number) ? content?.attachments[Number(number) - 1] : undefined;
  if (found === undefined) throw new ApiError('not_found', 'There is no such attachment.');
  const body = asBuffer(found.content);
  return {
    kind: 'document',
    contentType: 'application/octet-stream',
    body,
    saveAs: found.filename,
  };
}
