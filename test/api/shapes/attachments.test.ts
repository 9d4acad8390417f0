/** Attachments in every spelling of client libraries: their bytes, names, types and ids, and what is refused. */
import { expect, test } from 'bun:test';
import { typeOfFile } from '../../../src/api/shapes/media-types.ts';
import { readEmail } from '../../../src/api/shapes/read-email.ts';

const EMAIL = { from: 'a@example.com', to: 'b@example.com', subject: 'x', text: 'x' };

/** The attachment as read; path, message and whether it lacks, of each fault. */
function read(attachment: unknown, mayLink = false) {
  const rules = { kind: 'full', at: '', mayLink, needsContent: true } as const;
  const result = readEmail({ ...EMAIL, attachments: [attachment] }, rules);
  if (Array.isArray(result)) return result.map((one) => [one.path, one.message, one.isMissing]);
  const [first] = result.draft.attachments;
  return { ...first, content: Buffer.from(first?.content ?? []).toString('latin1') };
}

const file = (content: unknown, more: object = {}) => ({ filename: 'a.txt', content, ...more });

test.each([
  ['YQ==', 'a'],
  ['YWI=', 'ab'],
  ['YWJj', 'abc'],
  ['YWI', 'ab'],
  ['YQ', 'a'],
  ['', ''],
  ['YW\r\nJj\r\n', 'abc'],
  [' Y\tQ = = ', 'a'],
  ['\ufeffYW\u00a0Jj\u2028', 'abc'],
  [' \n', ''],
  ['-_-_', '\xfb\xff\xbf'],
  ['+/+/', '\xfb\xff\xbf'],
  ['BEGIN:VCALENDAR\r\nEND:VCALENDAR', 'BEGIN:VCALENDAR\r\nEND:VCALENDAR'],
  // Its text is sent in UTF-8 (RFC 5545 section 3.1.4).
  ['BEGIN:VCALENDAR\nSUMMARY:ü €', 'BEGIN:VCALENDAR\nSUMMARY:\xc3\xbc \xe2\x82\xac'],
])('content %j is %j', (content, bytes) => {
  expect(read(file(content))).toMatchObject({ filename: 'a.txt', content: bytes });
});

const NO_BASE64 =
  'Y YWJjZ Y=== YQ==YQ== Y*== data:text/plain;base64,YQ== begin: xBEGIN:VCALENDAR'.split(' ');
const SPACED = ['Y \n', 'YW\nJj Z', 'YW\u2028Jj Z', 'Y = = =', 'YQ\0', 'YWI===', 'YW I==='];

test.each([...NO_BASE64, ...SPACED])('content %j is no base64', (content) => {
  const words = 'attachments[0].content must be base64.';
  expect(read(file(content))).toEqual([['attachments[0].content', words, false]]);
});

test('type and id have three spellings, of which the first counts', () => {
  for (const [more, found] of [
    [{}, { contentType: 'text/plain', contentId: null }],
    [{ content_type: 'image/png' }, { contentType: 'image/png' }],
    [{ contentType: 'image/gif' }, { contentType: 'image/gif' }],
    [{ content_type: 'image/png', contentType: 'image/gif' }, { contentType: 'image/png' }],
    [{ content_id: 'one' }, { contentId: 'one' }],
    [{ contentId: 'two' }, { contentId: 'two' }],
    [{ inline_content_id: 'three' }, { contentId: 'three' }],
    [{ contentId: 'two', inline_content_id: 'three' }, { contentId: 'two' }],
    [{ content_id: 'one', contentId: 'two', inline_content_id: 'three' }, { contentId: 'one' }],
  ] as const) {
    expect(read(file('YQ==', more))).toMatchObject(found);
  }
});

test('what is null was not set, beside a text and beside a list of numbers', () => {
  const nothing = {
    path: null,
    content_type: null,
    contentType: null,
    content_id: null,
    contentId: null,
    inline_content_id: null,
  };
  for (const content of ['YQ==', [97], { type: 'Buffer', data: [97] }]) {
    expect(read(file(content, nothing))).toEqual({
      filename: 'a.txt',
      contentType: 'text/plain',
      contentId: null,
      content: 'a',
    });
  }
  const missing = ['filename', 'content'].map((field) => [
    `attachments[0].${field}`,
    `Missing \`attachments[0].${field}\` field.`,
    true,
  ]);
  expect(read({ filename: null, content: null })).toEqual(missing.toReversed());
});

test('each of several files that are lists of numbers has its own bytes', () => {
  const attachments = [[1, 2], { type: 'Buffer', data: [3] }, [], [255]].map((content) => ({
    filename: 'same',
    content,
  }));
  const rules = { kind: 'full', at: '', mayLink: false, needsContent: true } as const;
  const result = readEmail({ ...EMAIL, attachments }, rules);
  expect(
    Array.isArray(result) ? result : result.draft.attachments.map(({ content }) => [...content]),
  ).toEqual([[1, 2], [3], [], [255]]);
});

test('what lacks or is not valid is named with its path', () => {
  const at = 'attachments[0]';
  for (const [attachment, path, message, isMissing] of [
    [{ filename: 'a' }, 'content', `Missing \`${at}.content\` field.`, true],
    [{ content: 'YQ==' }, 'filename', `Missing \`${at}.filename\` field.`, true],
    [file('YQ==', { filename: '' }), 'filename', `${at}.filename must not be empty.`, false],
    [file('YQ==', { filename: 'a\nb' }), 'filename', `${at}.filename must`, false],
    [file('YQ==', { content_type: 'png' }), 'content_type', `${at}.content_type must`, false],
    [file('YQ==', { content_id: 'a b' }), 'content_id', `${at}.content_id must`, false],
    [file('YQ==', { other: 1 }), 'other', `${at}.other is not a field of this request.`, false],
    [
      { filename: 'a', path: 'https://x.example/a' },
      'path',
      `${at}.path is not supported on this route; send content instead.`,
      false,
    ],
  ] as const) {
    const message_ = expect.stringContaining(message);
    expect(read(attachment)).toEqual([[`${at}.${path}`, message_, isMissing]]);
  }
  const longest = read(file('YQ==', { filename: 'n'.repeat(255) }));
  expect(longest).toMatchObject({ filename: 'n'.repeat(255) });
  expect(read(file('YQ==', { filename: 'n'.repeat(256) }))).toBeArray();
});

test('a link brings no content beside it, and needs a name where its path has none', () => {
  const path = 'https://x.example/a';
  const both = 'attachments[0].path and content cannot be combined; send one of them.';
  expect(read({ path, content: 'YQ==' }, true)).toEqual([['attachments[0].path', both, false]]);
  const missing = ['attachments[0].filename', 'Missing `attachments[0].filename` field.', true];
  expect(read({ path: 'https://x.example/' }, true)).toEqual([missing]);
  expect(read({ path: 'https://x.example/', filename: 'b' }, true)).toMatchObject({
    filename: 'b',
  });
  // Where no link is allowed, none brings a name.
  const refused = ['attachments[0].path', expect.stringContaining('is not supported'), false];
  expect(read({ path })).toEqual([refused, missing]);
  const noUrl = ['attachments[0].path', expect.stringContaining('public https URL'), false];
  expect(read({ path: 'no url' }, true)).toEqual([noUrl, missing]);
  // An escape that is none stays as it is.
  expect(read({ path: 'https://x.example/a%zz' }, true)).toMatchObject({ filename: 'a%zz' });
});

test.each([
  ['https://x.example/a', true],
  ['HTTPS://x.example:8443/a?b=c#d', true],
  [`https://x.example/${'a'.repeat(2_048 - 'https://x.example/'.length)}`, true],
  [`https://x.example/${'a'.repeat(2_049 - 'https://x.example/'.length)}`, false],
  ['http://x.example/a', false],
  ['ftp://x.example/a', false],
  ['https://user@x.example/a', false],
  ['https://:password@x.example/a', false],
  ['https://x.example/a\nb', false],
  ['https://x.example/\u0000', false],
  ['x.example/a', false],
  ['', false],
])('a link to %j may be fetched: %p', (path, isFine) => {
  const rules = { kind: 'full', at: 'x', mayLink: true, needsContent: true } as const;
  const email = { ...EMAIL, attachments: [{ filename: 'a', path }] };
  const result = readEmail(email, rules);
  if (isFine) {
    expect(Array.isArray(result) ? null : result.links).toEqual([
      { at: 0, url: path, path: 'x.attachments[0].path' },
    ]);
    return;
  }
  const at = 'x.attachments[0].path';
  expect(result).toEqual([
    { path: at, message: `${at} must be a public https URL.`, isMissing: false },
  ]);
});

test('the name of a file that a link brings is that of its path, and tells its type', () => {
  const named = (path: string) => read({ path }, true);
  expect(named('https://x.example/b/Gr%C3%BC%C3%9Fe.pdf?q=1')).toMatchObject({
    filename: 'Grüße.pdf',
    contentType: 'application/pdf',
    content: '',
  });
});

test.each(['text', 5, true, { filename: 'a', content: 'YQ==' }])(
  '%j instead of the list is refused by its type',
  (attachments) => {
    const rules = { kind: 'full', at: '', mayLink: false, needsContent: true } as const;
    expect(readEmail({ ...EMAIL, attachments }, rules)).toEqual([
      { path: 'attachments', message: 'attachments must be an array.', isMissing: false },
    ]);
  },
);

test.each([
  ['a.pdf', 'application/pdf'],
  ['A.PDF', 'application/pdf'],
  ['a.tar.gz', 'application/gzip'],
  ['photo.jpeg', 'image/jpeg'],
  ['photo.jpg', 'image/jpeg'],
  ['x.png', 'image/png'],
  ['x.svg', 'image/svg+xml'],
  ['x.csv', 'text/csv'],
  ['x.htm', 'text/html'],
  ['x.txt', 'text/plain'],
  ['x.ics', 'text/calendar'],
  ['x.json', 'application/json'],
  ['x.eml', 'message/rfc822'],
  ['x.zip', 'application/zip'],
  ['x.docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
  ['x.xlsx', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
  ['pdf', 'application/octet-stream'],
  ['a.unknown', 'application/octet-stream'],
  ['a.constructor', 'application/octet-stream'],
  ['a.pdf.', 'application/octet-stream'],
  ['', 'application/octet-stream'],
])('a file named %j is %s', (name, type) => {
  expect(typeOfFile(name)).toBe(type);
});

test('the JSON of a Buffer holds a list, nothing that only has a length', () => {
  for (const data of ['', {}, { length: 0 }, null]) {
    expect(read(file({ type: 'Buffer', data }))).toEqual([
      [
        'attachments[0].content.data',
        'attachments[0].content.data must be a list of whole numbers from 0 to 255.',
        false,
      ],
    ]);
  }
});
