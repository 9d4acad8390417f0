/** Each field of a composed message by itself: who is written how without SMTPUTF8, what is refused, how long lines are. */
import { expect, test } from 'bun:test';
import PostalMime from 'postal-mime';

import { compose, type ComposeInput } from '../../../src/mail/compose/compose.ts';

const PLAIN: ComposeInput = {
  from: 'Ann <ann@example.com>',
  to: ['bob@example.org'],
  cc: [],
  replyTo: [],
  subject: 'Hello',
  html: null,
  text: 'Hi Bob\n',
  headers: [],
  attachments: [],
  messageId: '<1@mail.example.com>',
  date: new Date('2026-11-21T01:02:03Z'),
  feedbackId: null,
};
const FILE = {
  filename: 'a.bin',
  contentType: 'application/pdf',
  contentId: null,
  content: Uint8Array.of(0, 255, 10, 13),
};

async function headerOf(change: Partial<ComposeInput>): Promise<string[]> {
  const text = (await compose({ ...PLAIN, ...change })).toString();
  return (text.split('\r\n\r\n')[0] ?? '').split('\r\n');
}

const EVERYBODY: Partial<ComposeInput> = {
  from: 'Änn <änn@example.com>',
  to: ['tö@example.org', 'Zoë <zoe@example.org>'],
  cc: ['Cÿ <cÿ@example.org>', 'plain@example.org'],
  replyTo: ['rê@example.com'],
  headers: [['Sender', 'sënder@example.com']],
};

test('without SMTPUTF8 every recipient and reply address that needs it is a group, and none of the others', async () => {
  const lines = await headerOf({ ...EVERYBODY, mayUseUtf8: false });
  expect(lines.slice(0, 4)).toEqual([
    'From: =?UTF-8?Q?=C3=84nn?= <änn@example.com>',
    'To: =?UTF-8?B?dMO2QGV4YW1wbGUub3Jn?= :;, =?UTF-8?Q?Zo=C3=AB?=',
    ' <zoe@example.org>',
    'Cc: =?UTF-8?B?Q8O/IDxjw79AZXhhbXBsZS5vcmc+?= :;, plain@example.org',
  ]);
  expect(lines[4]).toBe('Reply-To: =?UTF-8?B?csOqQGV4YW1wbGUuY29t?= :;');
  // Who sent it cannot be left out.
  expect(lines.at(-4)).toBe('Sender: sënder@example.com');
});

test.each([true, undefined])('with SMTPUTF8 (%p) all are addresses', async (mayUseUtf8) => {
  const lines = await headerOf({ ...EVERYBODY, ...(mayUseUtf8 && { mayUseUtf8 }) });
  expect(lines.filter((line) => /^(?:To|Cc|Reply-To):/.test(line))).toEqual([
    'To: tö@example.org, =?UTF-8?Q?Zo=C3=AB?= <zoe@example.org>',
    'Cc: =?UTF-8?B?Q8O/?= <cÿ@example.org>, plain@example.org',
    'Reply-To: rê@example.com',
  ]);
});

test('beside an attachment too the header is in UTF-8', async () => {
  const lines = await headerOf({ to: ['zoë@example.org'], attachments: [FILE] });
  expect(lines[1]).toBe('To: zoë@example.org');
});

test.each<[words: string, change: Partial<ComposeInput>]>([
  ['header Subject must not contain a line break', { subject: 'a\r\nBcc: x@example.org' }],
  ['header Subject must not contain NUL', { subject: 'ü\0' }],
  ['header Subject must not contain an unpaired surrogate', { subject: '\ud800' }],
  ['header X-A must not contain a line break', { headers: [['X-A', 'a\nb']] }],
  ['header Feedback-ID must not contain a line break', { feedbackId: 'a\nb' }],
  ['not a custom header: "X A"', { headers: [['X A', 'b']] }],
  ['address "nobody" must be of the form', { from: 'nobody' }],
  ['address "nobody" must be of the form', { to: ['nobody'] }],
  ['address "nobody" must be of the form', { cc: ['nobody'] }],
  ['address "nobody" must be of the form', { replyTo: ['nobody'] }],
  ['not a Message-ID', { messageId: '1@mail.example.com' }],
  ['not a Message-ID', { messageId: '<1>' }],
  ['not a Message-ID', { messageId: '<@b>' }],
  ['not a Message-ID', { messageId: '<a@>' }],
  ['not a Message-ID', { messageId: '<1@mail.example.com>\r\nBcc: x' }],
  ['not a Message-ID', { messageId: '<a b@mail.example.com>' }],
  ['not a Message-ID', { messageId: '<a@b>c@d>' }],
  ['not a Message-ID', { messageId: 'x<a@b>' }],
  [
    'the message has a line of more than 998 bytes',
    { messageId: `<${'x'.repeat(1_000)}@mail.example.com>` },
  ],
  [
    'the message has a line of more than 998 bytes',
    { messageId: `<${'x'.repeat(1_000)}@mail.example.com>`, attachments: [FILE] },
  ],
])('%s: it is never written', async (words, change) => {
  expect(await compose({ ...PLAIN, ...change }).catch(String)).toContain(words);
});

test('a TAB may stand in a subject and in a custom field', async () => {
  const lines = await headerOf({ subject: 'a\tb', headers: [['X-A', 'c\td']] });
  expect(lines).toContain('Subject: a\tb');
  expect(lines).toContain('X-A: c\td');
});

test('an empty Feedback-ID is written as it is, without one there is none', async () => {
  expect(await headerOf({ feedbackId: '' })).toContain('Feedback-ID:');
});

test('the first line of an encoded value has its name too and is no longer than 75 characters', async () => {
  let longest = 0;
  for (let length = 1; length <= 30; length += 1) {
    const name = 'X'.repeat(length);
    for (const character of ['ü', '漢']) {
      const value = character.repeat(60);
      const lines = await headerOf({ subject: value, headers: [[name, value]] });
      const first = lines.find((line) => line.startsWith(`${name}: `)) ?? '';
      expect([length, character, first.length <= 75]).toEqual([length, character, true]);
      longest = Math.max(longest, first.length);
      const subject = lines.find((line) => line.startsWith('Subject: ')) ?? '';
      expect(subject.length).toBeLessThanOrEqual(75);
    }
  }
  expect(longest).toBe(75);
});

test('attachments alone, one or two, are read as they were given', async () => {
  const shown = { ...FILE, filename: 'b.bin', contentId: 'b' };
  for (const attachments of [[FILE], [FILE, shown], [shown]]) {
    const email = await PostalMime.parse(await compose({ ...PLAIN, text: null, attachments }));
    expect([email.text ?? '', email.html ?? '']).toEqual(['', '']);
    expect(
      email.attachments.map(({ filename, mimeType, content }) => [
        filename,
        mimeType,
        [...new Uint8Array(content as ArrayBuffer)],
      ]),
    ).toEqual(attachments.map(({ filename }) => [filename, 'application/pdf', [0, 255, 10, 13]]));
  }
});

test.each(['\n', '\r', '\r\n'])(
  'line ends of text and html, %j, are line ends of the message',
  async (end) => {
    const content = ['ü, and some more words in ASCII', '', '  two ', 'three'].join(end);
    const written = ['', '=C3=BC, and some more words in ASCII', '', '  two=20', 'three'].join(
      '\r\n',
    );
    for (const change of [
      { text: content },
      { text: null, html: content },
      { text: content, html: content },
      { text: content, html: content, attachments: [FILE] },
    ]) {
      const message = (await compose({ ...PLAIN, ...change })).toString();
      const times = (change.text ? 1 : 0) + (change.html ? 1 : 0);
      expect([message.split(`\r\n${written}\r\n`).length - 1, message.includes('=0')]).toEqual([
        times,
        false,
      ]);
    }
  },
);

test('an attachment is written from its own bytes, wherever they lie', async () => {
  const around = Uint8Array.of(9, 9, 0, 255, 10, 13, 9);
  const email = await PostalMime.parse(
    await compose({ ...PLAIN, attachments: [{ ...FILE, content: around.subarray(2, 6) }] }),
  );
  expect([...new Uint8Array(email.attachments[0]?.content as ArrayBuffer)]).toEqual([
    0, 255, 10, 13,
  ]);
});
