/**
 * Every text field of a message against hostile values (CVE-2026-34752, nodemailer GHSA-vvjj-xcjg-gr5g
 * and similar): either refused, or the message has exactly the fields it should have.
 */
import { describe, expect, test } from 'bun:test';
import PostalMime from 'postal-mime';
import { compose, type ComposeInput } from '../../../src/mail/compose/compose.ts';
import { hasLongLine } from '../../../src/mail/mime/lines.ts';

const HOSTILE: [name: string, value: string][] = [
  ['CRLF and a field', 'x\r\nBcc: evil@example.net'],
  ['LF and a field', 'x\nBcc: evil@example.net'],
  ['CR and a field', 'x\rBcc: evil@example.net'],
  ['CRLF first', '\r\nBcc: evil@example.net'],
  ['CRLF last', 'x\r\n'],
  ['LF last', 'x\n'],
  ['end of header', 'x\r\n\r\nbody'],
  ['end of header, LF', 'x\n\nbody'],
  ['folded', 'x\r\n Bcc: evil@example.net'],
  ['folded, tab', 'x\r\n\tBcc: evil@example.net'],
  ['end of data', 'x\r\n.\r\nMAIL FROM:<evil@example.net>'],
  ['end of data, LF', 'x\n.\nMAIL FROM:<evil@example.net>'],
  ['end of data, mixed 1', 'x\n.\r\nDATA'],
  ['end of data, mixed 2', 'x\r\n.\nDATA'],
  ['end of data, CR', 'x\r.\rDATA'],
  ['end of data, mixed 3', 'x\r\n.\rDATA'],
  ['end of data, NUL', 'x\r\n\0.\r\nDATA'],
  ['NUL', 'x\0y'],
  ['NUL first', '\0x'],
  ['NUL and CRLF', 'x\0\r\nBcc: evil@example.net'],
  ['BEL', 'x\x07y'],
  ['VT', 'x\x0bBcc: evil@example.net'],
  ['FF', 'x\x0cBcc: evil@example.net'],
  ['ESC', 'x\x1b[2Jy'],
  ['DEL', 'x\x7fy'],
  ['NEL (C1)', 'x\x85Bcc: evil@example.net'],
  ['CSI (C1)', 'x\x9by'],
  ['U+2028', 'x\u2028Bcc: evil@example.net'],
  ['U+2029', 'x\u2029Bcc: evil@example.net'],
  ['high surrogate', 'x\ud800y'],
  ['low surrogate', 'x\udc00y'],
  ['surrogates the wrong way round', 'x\udc00\ud800y'],
  ['letters whose low byte is CR LF', 'x\u560d\u560aBcc: evil@example.net'],
  ['letters whose low byte is LF', 'x\u010aBcc: evil@example.net'],
  ['encoded word with CRLF, Q', '=?utf-8?Q?x=0D=0ABcc:_evil@example.net?='],
  ['encoded word with CRLF, B', '=?utf-8?B?eA0KQmNjOiBldmlsQGV4YW1wbGUubmV0?='],
  ['broken encoded word', '=?utf-8?Q?x'],
  ['half an encoded word', '?= =?utf-8?Q?'],
  ['percent-encoded CRLF', 'x%0d%0aBcc: evil@example.net'],
  ['escaped CRLF', 'x\\r\\nBcc: evil@example.net'],
  ['quotation mark', 'x"; Bcc: evil@example.net; y="'],
  ['backslash', 'x\\'],
  ['angle brackets', 'x> <evil@example.net>'],
  ['list', 'x, evil@example.net'],
  ['group', 'x: evil@example.net;'],
  ['comment', 'x (evil@example.net)'],
  ['parameter', 'x; boundary="y"'],
  ['__proto__', '__proto__'],
  ['constructor', 'constructor'],
  ['prototype', 'prototype'],
  ['64 KiB', 'x'.repeat(65_536)],
  ['64 KiB of spaces', `x${' '.repeat(65_536)}y`],
  ['64 KiB of quotation marks', '"'.repeat(65_536)],
  ['64 KiB of ü', 'ü'.repeat(32_768)],
  ['empty', ''],
  ['space', ' '],
  ['tab', 'x\ty'],
  ['colon', 'Bcc: evil@example.net'],
  ['right-to-left override', 'x\u202egnp.exe'],
];

const PLAIN: ComposeInput = {
  from: 'a@example.com',
  to: ['b@example.org'],
  cc: ['c@example.org'],
  replyTo: ['d@example.org'],
  subject: 'subject',
  html: '<p>html</p>',
  text: 'text',
  headers: [['X-Custom', 'custom']],
  attachments: [
    { filename: 'f.txt', contentType: 'text/plain', contentId: 'cid', content: Buffer.from('f') },
  ],
  messageId: '<1@mail.example.com>',
  date: new Date(0),
  feedbackId: 'a:b:c:d',
};
const file = PLAIN.attachments[0] as NonNullable<(typeof PLAIN.attachments)[number]>;

const FIELDS: Record<string, (value: string) => ComposeInput> = {
  from: (value) => ({ ...PLAIN, from: value }),
  'name in from': (value) => ({ ...PLAIN, from: `${value} <a@example.com>` }),
  'quoted name in from': (value) => ({
    ...PLAIN,
    from: `"${value.replace(/["\\]/g, '\\$&')}" <a@example.com>`,
  }),
  'local part': (value) => ({ ...PLAIN, to: [`${value}@example.org`] }),
  domain: (value) => ({ ...PLAIN, to: [`b@${value}`] }),
  to: (value) => ({ ...PLAIN, to: [value] }),
  cc: (value) => ({ ...PLAIN, cc: [value] }),
  replyTo: (value) => ({ ...PLAIN, replyTo: [value] }),
  subject: (value) => ({ ...PLAIN, subject: value }),
  html: (value) => ({ ...PLAIN, html: value }),
  text: (value) => ({ ...PLAIN, text: value }),
  'header name': (value) => ({ ...PLAIN, headers: [[value, 'custom']] }),
  'header value': (value) => ({ ...PLAIN, headers: [['X-Custom', value]] }),
  filename: (value) => ({ ...PLAIN, attachments: [{ ...file, filename: value }] }),
  contentType: (value) => ({ ...PLAIN, attachments: [{ ...file, contentType: value }] }),
  'content type parameter': (value) => ({
    ...PLAIN,
    attachments: [{ ...file, contentType: `text/plain; x=${value}` }],
  }),
  contentId: (value) => ({ ...PLAIN, attachments: [{ ...file, contentId: value }] }),
  messageId: (value) => ({ ...PLAIN, messageId: value }),
  feedbackId: (value) => ({ ...PLAIN, feedbackId: value }),
};

const NAMES = [
  'from',
  'to',
  'cc',
  'reply-to',
  'subject',
  'date',
  'message-id',
  'feedback-id',
  'mime-version',
  'content-type',
].sort();

/** Lower-case names of the header of these bytes, by the plainest reading there is. */
function headerNames(bytes: Buffer): string[] {
  const header = bytes.toString('latin1', 0, bytes.indexOf('\r\n\r\n'));
  return header
    .split(/\r\n|\r|\n/)
    .filter((line) => !/^[ \t]/.test(line))
    .map((line) => line.slice(0, line.indexOf(':')).toLowerCase());
}

describe.each(Object.entries(FIELDS))('%s', (field, build) => {
  test.each(HOSTILE)('%s', async (_, value) => {
    const input = build(value);
    let bytes: Buffer;
    try {
      bytes = await compose(input);
    } catch (refusal) {
      expect((refusal as Error).message).toMatch(/must|not a|has|is|does not/);
      return;
    }
    const expected = [...NAMES, field === 'header name' ? value.toLowerCase() : 'x-custom'].sort();
    expect(headerNames(bytes).sort()).toEqual(expected);
    expect(bytes.toString('latin1')).not.toMatch(/\r(?!\n)|(?<!\r)\n|\0/);
    expect(hasLongLine(bytes)).toBe(false);
    const email = await PostalMime.parse(bytes);
    expect(email.headers.map(({ key }) => key).sort()).toEqual(expected);
    expect(email.bcc ?? []).toEqual([]);
    expect(email.attachments.length).toBe(1);
  });
});

test('a value that is refused says why in words', async () => {
  const refused = (input: ComposeInput): Promise<string> =>
    compose(input).then(
      () => 'composed',
      (error: Error) => error.message,
    );
  expect(await refused({ ...PLAIN, subject: 'a\nb' })).toBe(
    'header Subject must not contain a line break',
  );
  expect(await refused({ ...PLAIN, headers: [['Subject', 'x']] })).toBe(
    'not a custom header: "Subject"',
  );
  expect(await refused({ ...PLAIN, headers: [['content-foo', 'x']] })).toContain(
    'not a custom header',
  );
  expect(await refused({ ...PLAIN, headers: [['X-A', 'a\0b']] })).toBe(
    'header X-A must not contain NUL',
  );
  expect(await refused({ ...PLAIN, to: ['a@b@c.example'] })).toContain('has more than one "@"');
});
