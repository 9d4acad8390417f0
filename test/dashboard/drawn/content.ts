/** What was in an email: its tabs, its documents, and how much of it a page shows. */
import { createHash } from 'node:crypto';

import {
  attachmentDocument,
  contentSection,
  htmlDocument,
  sourceDocument,
} from '../../../src/dashboard/pages/email-content.ts';
import type { DocumentResponse, Visit } from '../../../src/dashboard/frame/visit.ts';
import { messageView } from '../../../src/dashboard/pages/inbox-view.ts';
import type { CapturedMessage } from '../../../src/flow/upkeep/capture.ts';
import { perform } from '../../../src/mail/large/large-tasks.ts';
import type { ImageFile } from '../../../src/mail/large/large-tasks.ts';
import type { Body } from '../../../src/store/rows.ts';
import { newMessage } from '../../store/samples.ts';
import { type Drawing, markup, NOW, visitOf } from './page.ts';

const { message } = newMessage('acc', { id: 'mail' });

const EMPTY: Body = { html: null, text: null, headers: [], attachments: [], raw: null };
const file = (filename: string, contentType: string, bytes: number, contentId: string | null) => ({
  filename,
  contentType,
  contentId,
  content: Buffer.alloc(bytes, 'x'),
});

/** A context that keeps this content and nothing else. */
function holding(body: Body | null): Visit['ctx'] {
  const parts = { html: '<b>of raw</b>', text: 'of raw', attachments: [] };
  const listed = body?.attachments.map(({ content, ...rest }) => ({
    ...rest,
    size: content.length,
  }));
  return {
    store: {
      contentSizes: () => Promise.resolve(null),
      body: () => Promise.resolve(body && { body }),
      listedBody: () => Promise.resolve(body && { body: { ...body, attachments: listed } }),
    },
    large: {
      read: () => Promise.resolve(parts),
      inline: async (html: string, images: ImageFile[]) =>
        (await perform('inline', { html, images })).html,
    },
  } as unknown as Visit['ctx'];
}

const section = async (body: Partial<Body> | null, query = ''): Promise<string> =>
  shortened(
    markup(
      await contentSection(
        holding(body && { ...EMPTY, ...body }),
        message,
        '/mail',
        new URLSearchParams(query),
      ),
    ),
  );

/** Without the middle of what is long: its length and its sum instead. */
function shortened(text: string): string {
  return text.replaceAll(/[x€A-Za-z0-9+/=]{200,}/g, (long) => {
    const sum = createHash('sha256').update(long).digest('hex').slice(0, 12);
    return `(${long.length} characters, ${sum})`;
  });
}

async function document(made: Promise<DocumentResponse>): Promise<string> {
  const said = await made.catch((error: unknown) => String(error));
  if (typeof said === 'string') return said;
  const body = said.body instanceof ReadableStream ? 'a stream' : said.body.toString();
  return shortened(JSON.stringify({ ...said, body }));
}

const RAW = Buffer.from(
  'Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\nX-Folded: one\r\n two\r\nFrom : a@x.example\r\n\r\nBody <b>\r\n',
);
const ALL: Partial<Body> = {
  html: '<p>Hi</p>',
  text: 'Hi <b>',
  attachments: [file('a <1>.txt', 'text/plain', 1, null), file('b.png', 'image/png', 1_234, 'b')],
};
const IMAGES = '<img src="cid:one"><img src="cid:two"><img src="cid:none">';
const images = (...sizes: number[]): Body => ({
  ...EMPTY,
  html: IMAGES,
  attachments: sizes.map((size, at) =>
    file('a.png', 'image/png', size, ['one', 'two'][at] ?? null),
  ),
});

/** A message of the inbox, whole as it was captured. */
function captured(raw: string, tab: string): Promise<string> {
  const bytes = Buffer.from(raw);
  const one: CapturedMessage = {
    number: 7,
    receivedAt: NOW,
    returnPath: 'bounce@x.example',
    from: 'shop@x.example',
    recipient: 'ann@x.example',
    subject: 'Hello',
    raw: bytes,
  };
  const visit = visitOf({ query: `tab=${tab}`, parts: { spamChecks: { check: () => null } } });
  const near = { newer: '/8', older: null };
  return Promise.resolve(messageView(visit, one, '/inbox/7', near)).then((page) =>
    shortened(markup(page.kind === 'page' ? page.body : '')),
  );
}
const HEAD = 'Subject: Hello\r\n\r\n';

export const CONTENT: readonly Drawing[] = [
  ['no longer kept', () => section(null)],
  ['without any', () => section({ raw: RAW, html: null })],
  ['all of it', () => section(ALL)],
  ['on a phone', () => section(ALL, 'tab=html&width=phone')],
  ['text', () => section(ALL, 'tab=text')],
  ['text where there is none', () => section({ html: '<p>' }, 'tab=text')],
  ['attachments', () => section(ALL, 'tab=attachments')],
  ['source', () => section({ raw: RAW }, 'tab=source')],
  ['headers', () => section({ raw: RAW }, 'tab=headers')],
  ['a text as long as a page shows', () => section({ text: 'x'.repeat(32_768) }, 'tab=text')],
  ['a longer text', () => section({ text: 'x'.repeat(32_769) }, 'tab=text')],
  [
    'a source as long as a page shows',
    () => section({ raw: Buffer.alloc(32_768, 'x') }, 'tab=source'),
  ],
  ['a longer source', () => section({ raw: Buffer.alloc(32_769, 'x') }, 'tab=source')],
  [
    'a source as long as that in another script',
    () => section({ raw: Buffer.from('€'.repeat(32_768)) }, 'tab=source'),
  ],
  [
    'a longer source in another script',
    () => section({ raw: Buffer.from('€'.repeat(32_769)) }, 'tab=source'),
  ],
  ['HTML', () => document(htmlDocument(holding(images(3, 4)), message))],
  [
    'HTML with images that just fit',
    () => document(htmlDocument(holding(images(1, 7_999_999)), message)),
  ],
  [
    'HTML with images that do not fit',
    () => document(htmlDocument(holding(images(2, 7_999_999)), message)),
  ],
  ['HTML that is gone', () => document(htmlDocument(holding(null), message))],
  ['HTML where there is none', () => document(htmlDocument(holding(EMPTY), message))],
  [
    'the source as a file',
    () => document(sourceDocument(holding({ ...EMPTY, raw: RAW }), message)),
  ],
  ['the source of what is gone', () => document(sourceDocument(holding(null), message))],
  ...['0', '1', '2', '3', '01', '00001', 'x', ''].map((number): Drawing => [
    `attachment ${number}`,
    () => document(attachmentDocument(holding({ ...EMPTY, ...ALL }), message, number)),
  ]),
  [
    'an attachment of what is gone',
    () => document(attachmentDocument(holding(null), message, '1')),
  ],
  ['captured text as long as a page shows', () => captured(HEAD + 'x'.repeat(65_536), 'text')],
  ['captured text that is longer', () => captured(HEAD + 'x'.repeat(65_537), 'text')],
  ['captured source', () => captured('x'.repeat(65_536), 'source')],
  ['captured source that is longer', () => captured('x'.repeat(65_537), 'source')],
  ['captured source in another script', () => captured('€'.repeat(65_536), 'source')],
  ['captured source in it that is longer', () => captured('€'.repeat(65_537), 'source')],
];
