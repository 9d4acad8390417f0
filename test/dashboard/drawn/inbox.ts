/** The inbox of capture mode: its list, and one captured message in each of its tabs. */
import { inboxPages } from '../../../src/dashboard/pages/inbox.ts';
import type { CapturedMessage } from '../../../src/flow/upkeep/capture.ts';
import { type Drawing, handedOver, NOW, opened, type Parts, visitOf } from './page.ts';

const captured = (
  number: number,
  head: string,
  body = 'Hi',
  subject = 'Hello',
): CapturedMessage => ({
  number,
  receivedAt: NOW + number,
  returnPath: 'bounce@x.example',
  from: `shop${number}@x.example`,
  recipient: `ann${number}@x.example`,
  subject,
  raw: Buffer.from(
    `From: Shop <shop@x.example>\r\nTo: Ann <ann@x.example>\r\n${head}\r\n${body}\r\n`,
  ),
});

const HTML = 'MIME-Version: 1.0\r\nContent-Type: text/html; charset=utf-8\r\n';
const both = (html: string, text = 'Hi', more = ''): [head: string, body: string] => [
  'MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n',
  [
    '--b',
    'Content-Type: text/plain',
    '',
    text,
    '--b',
    'Content-Type: text/html',
    '',
    html,
    more,
    '--b--',
  ].join('\r\n'),
];
const FILES = [
  '--b',
  'Content-Type: text/csv; name="a <1>.csv"',
  'Content-Disposition: attachment; filename="a <1>.csv"',
  '',
  'a,b',
  '--b',
  'Content-Type: image/png',
  'Content-Disposition: attachment; filename="b.png"',
  'Content-Transfer-Encoding: base64',
  '',
  'AAAA',
].join('\r\n');
const LINKS = [
  '<a href="https://x.example/?a=1&amp;b=<2>">x</a><a href="http://x.example/">y</a><a href="#">z</a>',
  '<a href="/here">h</a><a href="mailto:a@x.example">m</a><img alt="" src="https://x.example/i.png">',
].join('');
const WRONG =
  '<body><style>p{display:grid;color:red}</style><script>x</script><img src="a.webp"><video></video>';

interface Shown extends Parts {
  messages: readonly CapturedMessage[] | null;
}

function partsOf(messages: readonly CapturedMessage[] | null): object {
  return {
    capture: messages && { captured: () => messages },
    spamChecks: { check: () => Promise.resolve({ kind: 'busy' }) },
  };
}
const list = ({ messages, ...more }: Shown) =>
  opened(inboxPages, 'GET', '/inbox', visitOf({ parts: partsOf(messages), ...more }));
const one = (
  messages: readonly CapturedMessage[],
  query = '',
  more: Parts = {},
  number = '2',
): Promise<string> =>
  opened(
    inboxPages,
    'GET',
    '/inbox/:number',
    visitOf({ parts: partsOf(messages), query, params: { number }, ...more }),
  );
const tab = (name: string, html: string, text?: string, more?: string): Promise<string> =>
  one([captured(2, ...both(html, text, more))], `tab=${name}`);

/** A document of the second message. */
const handed = (part: string, one: CapturedMessage, params: Record<string, string> = {}) =>
  handedOver(
    inboxPages,
    `/inbox/:number/${part}`,
    visitOf({ parts: partsOf([one]), params: { number: '2', ...params } }),
  );
const IMAGE = [
  '--b',
  'Content-Type: image/png',
  'Content-Id: <logo>',
  'Content-Transfer-Encoding: base64',
  '',
  'AAAA',
].join('\r\n');

const THREE = [captured(3, ''), captured(2, ''), captured(1, '', 'Hi', '')];
export const INBOX: readonly Drawing[] = [
  ['no capture mode', () => list({ messages: null })],
  ['nothing captured', () => list({ messages: [] })],
  ['nothing captured, and searched for', () => list({ messages: [], query: 'q=x' })],
  ['three messages', () => list({ messages: THREE })],
  ['one message', () => list({ messages: THREE.slice(0, 1) })],
  ['messages for a reader', () => list({ messages: THREE.slice(2), mayChange: false })],
  ['found by its recipient', () => list({ messages: THREE, query: 'q=+ANN2@+' })],
  ['found by its sender', () => list({ messages: THREE, query: 'q=Shop1' })],
  ['none found', () => list({ messages: THREE, query: 'q=%3Cnone%3E' })],
  ['the middle one, of text alone', () => one(THREE)],
  ['the newest one', () => one(THREE, '', {}, '3')],
  ['the oldest one, without a subject', () => one(THREE, 'tab=html', {}, '1')],
  ['one that is gone', () => one(THREE, '', {}, '4')],
  ['for a reader', () => one(THREE.slice(1, 2), 'tab=none', { mayChange: false })],
  ['HTML alone', () => one([captured(2, HTML, '<p>Hi</p>')])],
  ['HTML on a tablet', () => one([captured(2, HTML, '<p>Hi</p>')], 'tab=html&width=tablet')],
  ['HTML as wide as nothing', () => one([captured(2, HTML, '<p>')], 'tab=html&width=wide')],
  ['text beside HTML', () => tab('text', '<p>Hi</p>', 'Hi <b>')],
  ['a check that finds nothing', () => tab('check', '<p>Hi</p>')],
  ['a check that finds a lot', () => one([captured(2, HTML, WRONG)], 'tab=check')],
  [
    'a check of as much as is looked at',
    () => tab('check', `<p>${' '.repeat(262_139)}`).then((text) => text.slice(-400)),
  ],
  [
    'a check of more',
    () => tab('check', `<p>${' '.repeat(262_140)}`).then((text) => text.slice(-400)),
  ],
  ['links', () => tab('links', LINKS)],
  ['no links', () => tab('links', '<p>')],
  ['the spam tab', () => tab('spam', '<p>')],
  ['attachments', () => tab('attachments', '<p>', 'Hi', FILES)],
  ['the source', () => tab('source', '<p>')],
  [
    'the HTML with its image',
    () => handed('html', captured(2, ...both('<img src="cid:logo"><b>ü', 'Hi', IMAGE))),
  ],
  ['the HTML of text alone', () => handed('html', captured(2, ''))],
  ['the whole source', () => handed('source', captured(2, 'Subject: <s>\r\n'))],
  ['the source of what is gone', () => handed('source', captured(3, ''))],
  ...['0', '1', '2', '3', '02', '0002', '00002', '-1', 'x', '1.0', ''].map((at): Drawing => [
    `attachment ${at}`,
    () => handed('attachments/:at', captured(2, ...both('<p>', 'Hi', FILES)), { at }),
  ]),
];
