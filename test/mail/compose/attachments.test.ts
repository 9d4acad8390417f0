/** Names, types and ids of attachments: which are refused, and that nothing refused is ever written. */
import { expect, test } from 'bun:test';

import {
  checkContentId,
  checkContentType,
  checkFilename,
  mimeAttachments,
  type ComposeAttachment,
} from '../../../src/mail/compose/attachments.ts';

const FILE: ComposeAttachment = {
  filename: 'a.pdf',
  contentType: 'application/pdf',
  contentId: null,
  content: Buffer.from('x'),
};

const LINE_BREAK = 'must not contain a line break';

test.each([
  ['invoice 1.pdf', null],
  ['Grüße.txt', null],
  ['x'.repeat(255), null],
  ['x'.repeat(256), 'must not be longer than 255 characters'],
  ['', 'must not be empty'],
  ['a\r\nX-Own: b', LINE_BREAK],
  ['a\0b', 'must not contain NUL'],
  ['a\tb', 'must not contain the control character U+0009'],
])('a name %j', (filename, reason) => {
  expect(checkFilename(filename)).toBe(reason);
  const write = () => mimeAttachments([{ ...FILE, filename }], '');
  if (reason === null) expect(write()).toMatchObject([{ filename }]);
  else expect(write).toThrow(reason);
});

test.each([
  ['application/pdf', null],
  ['text/calendar; method=REQUEST; charset="utf-8"', null],
  ['image/svg+xml', null],
  ['text/plain  ;  charset=utf-8;x=y', null],
  ['text/plain; charset = utf-8', 'must be a media type such as application/pdf'],
  ['text/plain\t', 'must not contain the control character U+0009'],
  ['multipart/report; report-type=x', 'must not be a multipart type'],
  ['multipart/x-own', 'must not be a multipart type'],
  ['multiparted/x', null],
  [`x/${'y'.repeat(127)}`, null],
  [`${'x'.repeat(127)}/y`, null],
  [`${'x'.repeat(128)}/y`, 'must be a media type such as application/pdf'],
  ['<a/b', 'must be a media type such as application/pdf'],
  ['a/b;c=""', null],
  ['a/b;c=', 'must be a media type such as application/pdf'],
  ['a/b;=d', 'must be a media type such as application/pdf'],
  [`x/${'y'.repeat(128)}`, 'must be a media type such as application/pdf'],
  [`a/b; c="${'d'.repeat(250)}"`, 'must be a media type such as application/pdf'],
  ['pdf', 'must be a media type such as application/pdf'],
  ['text/plain; a="b"c"', 'must be a media type such as application/pdf'],
  ['', 'must be a media type such as application/pdf'],
  ['text/plain\r\nX-Own: b', LINE_BREAK],
  ['Multipart/Mixed; boundary=b', 'must not be a multipart type'],
])('a type %j', (contentType, reason) => {
  expect(checkContentType(contentType)).toBe(reason);
  const write = () => mimeAttachments([{ ...FILE, contentType }], '');
  if (reason === null) expect(write()).toMatchObject([{ contentType }]);
  else expect(write).toThrow(reason);
});

const ID_WORDS = 'must be 1 to 250 visible ASCII characters without angle brackets';

test.each([
  ['logo@shop.example', null],
  ['x'.repeat(250), null],
  ['x'.repeat(251), ID_WORDS],
  ['', ID_WORDS],
  ['a b', ID_WORDS],
  ['a\tb', 'must not contain the control character U+0009'],
  ['<logo>', ID_WORDS],
  ['größe', ID_WORDS],
  ['a\r\nX-Own: b', LINE_BREAK],
])('an id %j', (contentId, reason) => {
  expect(checkContentId(contentId)).toBe(reason);
  const write = () => mimeAttachments([{ ...FILE, contentId }], '');
  if (reason === null) {
    expect(write()).toMatchObject([{ headers: { 'Content-Id': `<${contentId}>` } }]);
  } else expect(write).toThrow(reason);
});

const BASE64 = { contentTransferEncoding: 'base64' };

test.each<[string, Partial<ComposeAttachment>, string, object]>([
  ['a file', {}, '', { contentType: 'application/pdf', content: Buffer.from('x'), ...BASE64 }],
  [
    'a picture that the html shows',
    { contentId: 'logo' },
    '<img src="cid:logo">',
    { cid: 'logo', contentType: 'application/pdf', content: Buffer.from('x'), ...BASE64 },
  ],
  [
    'one that it does not show',
    { contentId: 'logo' },
    '<img src="cid:Logo">',
    {
      headers: { 'Content-Id': '<logo>' },
      contentType: 'application/pdf',
      content: Buffer.from('x'),
      ...BASE64,
    },
  ],
  [
    'a message, its lines made clean',
    { contentType: 'Message/RFC822', content: Buffer.from('A: b\n\nc\n') },
    '',
    {
      contentType: 'Message/RFC822',
      content: Buffer.from('A: b\r\n\r\nc\r\n'),
      contentTransferEncoding: '7bit',
    },
  ],
  ...[
    ['with eight bits', 'A: ü\n'],
    ['with a NUL', 'A: \0\n'],
    ['with a line of 999 bytes', `A: ${'x'.repeat(996)}\n`],
  ].map(([what = '', text = '']): [string, Partial<ComposeAttachment>, string, object] => [
    `a message ${what}, as a file and untouched`,
    { contentType: 'message/rfc822', content: Buffer.from(text) },
    '',
    { contentType: 'application/octet-stream', content: Buffer.from(text), ...BASE64 },
  ]),
  [
    'a message with a line of 998 bytes',
    { contentType: 'message/rfc822', content: Buffer.from(`A: ${'x'.repeat(995)}`) },
    '',
    {
      contentType: 'message/rfc822',
      content: Buffer.from(`A: ${'x'.repeat(995)}`),
      contentTransferEncoding: '7bit',
    },
  ],
])('%s, as the composer takes it', (_, change, html, written) => {
  expect(mimeAttachments([{ ...FILE, ...change }], html)).toEqual([
    { filename: 'a.pdf', ...written },
  ]);
});

test('the name stands in the reason, whatever is wrong', () => {
  const refused = (change: Partial<ComposeAttachment>) => () =>
    mimeAttachments([FILE, { ...FILE, filename: 'b".x', ...change }], '');
  expect(refused({ contentType: 'x' })).toThrow(
    'attachment "b\\".x" must be a media type such as application/pdf',
  );
  expect(refused({ contentId: '' })).toThrow(`attachment "b\\".x" ${ID_WORDS}`);
  expect(refused({ filename: '' })).toThrow('attachment "" must not be empty');
});

test('a type may have 255 characters, its parameters included', () => {
  const sized = (length: number): string => 'a/b; c='.padEnd(length, 'd');
  expect(checkContentType(sized(255))).toBeNull();
  expect(checkContentType(sized(256))).toBe('must be a media type such as application/pdf');
});

test('a file without a Content-ID is never shown inside the HTML', () => {
  expect(mimeAttachments([FILE], '<img src="cid:null">')).toEqual([
    {
      filename: 'a.pdf',
      contentType: 'application/pdf',
      content: Buffer.from('x'),
      contentTransferEncoding: 'base64',
    },
  ]);
});

test.each(['message/global', 'message/delivery-status', 'MESSAGE/http'])(
  'what is of the type %s is not encoded, like any message',
  (contentType) => {
    const file = { ...FILE, contentType, content: Buffer.from('a: b\n') };
    expect(mimeAttachments([file], '')).toMatchObject([
      { contentType, content: Buffer.from('a: b\r\n'), contentTransferEncoding: '7bit' },
    ]);
  },
);

test('a type that only ends like one of messages is encoded like any other', () => {
  const file = { ...FILE, contentType: 'x-message/a' };
  expect(mimeAttachments([file], '')).toMatchObject([
    { contentType: 'x-message/a', contentTransferEncoding: 'base64' },
  ]);
});
