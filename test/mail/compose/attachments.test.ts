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
  [`x/${'y'.repeat(127)}`, null],
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
