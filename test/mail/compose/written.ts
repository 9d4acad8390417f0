/** Messages from parts, and submitted ones, as they are written to the last byte; run by itself it writes written.txt. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { compose, type ComposeInput } from '../../../src/mail/compose/compose.ts';
import { repairSubmission } from '../../../src/mail/compose/repair.ts';
import { toSevenBit } from '../../../src/mail/compose/seven-bit.ts';

export const TRANSCRIPT_FILE = join(import.meta.dir, 'written.txt');

const PLAIN: ComposeInput = {
  from: 'Acme Shop <hello@acme.example>',
  to: ['ann@receiver.example'],
  cc: [],
  replyTo: [],
  subject: 'Hello',
  html: null,
  text: 'Hi Ann\n',
  headers: [],
  attachments: [],
  messageId: '<1@mail.example>',
  date: new Date('2026-11-21T01:02:03.999Z'),
  feedbackId: null,
};
const PICTURE = { filename: 'a.png', contentType: 'image/png', content: Buffer.from('png') };

const COMPOSED: Record<string, Partial<ComposeInput>> = {
  'text alone': {},
  'html alone, and nothing else': { text: null, html: '<p>Hi</p>' },
  'no part at all': { text: null },
  'an empty text': { text: '' },
  'text and html, every field': {
    to: ['Ann Ä <ann@receiver.example>', '"Ben, B." <ben@receiver.example>'],
    cc: ['cy@bücher.example'],
    replyTo: ['Help <help@acme.example>', 'two@acme.example'],
    subject: 'Grüße, und eine lange Zeile, die in einer Zeile keinen Platz mehr hat, ganz sicher',
    html: '<p>Grüße = a</p>\r\n',
    text: 'Grüße = a\r\nsecond\rthird\n\nfifth ',
    headers: [
      ['X-Order', '17'],
      ['Sender', 'Robot <robot@acme.example>'],
      ['List-Unsubscribe', '<https://acme.example/u/1>'],
    ],
    feedbackId: 'a:b:c:postrider',
  },
  'text in another alphabet': { text: 'Здравствуйте\n', subject: 'Привет' },
  'lines that begin with a dot or From, and long ones': {
    text: `.\n..a\nFrom b\n${'x'.repeat(77)}\n${'y '.repeat(500)}\n`,
  },
  'copies alone': { to: [], cc: ['cy@receiver.example'] },
  'nobody in the header': { to: [] },
  'a local part that only SMTPUTF8 can carry': { to: ['Jö <jö@receiver.example>'] },
  'the same where it cannot be used': {
    to: ['Jö <jö@receiver.example>', 'grün@receiver.example'],
    mayUseUtf8: false,
  },
  'a picture in the html, a file, and an attached message': {
    html: '<img src="cid:logo">',
    attachments: [
      { ...PICTURE, contentId: 'logo' },
      { ...PICTURE, filename: 'Grüße.pdf', contentType: 'application/pdf', contentId: 'other' },
      {
        filename: 'm.eml',
        contentType: 'message/rfc822',
        contentId: null,
        content: Buffer.from('Subject: a\n\nb\n'),
      },
    ],
  },
};

const MESSAGE =
  'From: Ann <ann@acme.example>\r\nTo: ben@receiver.example\r\nSubject: s\r\n\r\nbody\r\n';

const SUBMITTED: Record<string, string> = {
  'the least': 'From: ann@acme.example\r\n\r\nx',
  'LF for line ends': MESSAGE.replaceAll('\r\n', '\n'),
  'fields for the service': `X-Tag-Kind: welcome\r\nx-tag-B : two\r\nIdempotency-Key: k1\r\nResend-Idempotency-Key: k2\r\nX-Postrider-Unsubscribe: Yes\r\nReturn-Path: <r@acme.example>\r\nBcc: c@receiver.example\r\nResent-Bcc: d@receiver.example\r\n${MESSAGE}`,
  'doubled fields': `Subject: first\r\nDate: Sat, 21 Nov 2026 00:00:00 +0000\r\nDate: Sun, 22 Nov 2026 00:00:00 +0000\r\nTo: a@receiver.example\r\nCc: b@receiver.example\r\nCC: c@receiver.example\r\nReply-To: r@acme.example\r\nReply-To: s@acme.example\r\nReferences: <1@x>\r\nReferences: <2@x>\r\nReceived: a\r\nReceived: b\r\n${MESSAGE}`,
  'a date and a Message-ID that nobody can read': `Date: soon\r\nMessage-ID: none\r\n${MESSAGE}`,
  'raw eight bits in the header': `X-Note: Gr\xc3\xbc\xc3\x9fe\r\nCc: J\xc3\xb6 <j@receiver.example>\r\n${MESSAGE.replace('Ann', 'J\xc3\xb6')}`,
  'a Sender': `Sender: Robot <robot@acme.example>\r\n${MESSAGE}`,
  'two Senders in one': `Sender: a@acme.example, b@acme.example\r\n${MESSAGE}`,
  'no From': 'To: ben@receiver.example\r\n\r\nx\r\n',
  'two From': `From: other@acme.example\r\n${MESSAGE}`,
  'two addresses in From': MESSAGE.replace('Ann <ann@acme.example>', 'a@x.example, b@x.example'),
  'a control character': `X-A: a\x01b\r\n${MESSAGE}`,
  'a subject that turns the direction': MESSAGE.replace('s\r\n', '=?utf-8?q?a=E2=80=AEb?=\r\n'),
  'a blank before each colon': MESSAGE.replaceAll(': ', ' : '),
  'one part with a line that is too long': `Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n${MESSAGE.replace('body', `Gr\xc3\xbc${'x'.repeat(1_000)}`)}`,
  'parts, one of them with a NUL': `Content-Type: multipart/mixed; boundary=b\r\n${MESSAGE.replace('body', 'before\r\n--b\r\nContent-Type: application/pdf\r\n\r\na\0b\r\n--b\r\nContent-Type: text/plain\r\n\r\nc\xe4\r\n--b--\r\nafter')}`,
  'a word that is too long for a line': `X-Long: ${'x'.repeat(1_000)}\r\n${MESSAGE}`,
};

/** One line of bytes, readable: what is not printable ASCII as `\xNN`. */
function shown(bytes: Buffer): string {
  const lines = bytes.toString('latin1').split('\r\n');
  const escape = (c: string): string => `\\x${c.charCodeAt(0).toString(16).padStart(2, '0')}`;
  return lines.map((line) => `  |${line.replace(/[^ -~]/g, escape)}`).join('\n');
}

function submitted(text: string): string {
  const result = repairSubmission(Buffer.from(text, 'latin1'), {
    messageId: '<new@mail.example>',
    date: new Date('2026-11-21T01:02:03Z'),
    ownNames: ['mail.example'],
  });
  if ('error' in result) return `  refused: The message ${result.error}.`;
  const { bytes, ...facts } = result;
  const ascii = toSevenBit(bytes);
  const isSame = ascii?.equals(bytes) === true;
  const seven = ascii === null ? '  no form in ASCII' : `  in ASCII:\n${shown(ascii)}`;
  const read = Object.entries(facts).map(([name, value]) => `  ${name} ${JSON.stringify(value)}`);
  return [shown(bytes), ...read, ...(isSame ? [] : [seven])].join('\n');
}

export const CASES: [title: string, write: () => Promise<string>][] = [
  ...Object.entries(COMPOSED).map(([title, parts]): [string, () => Promise<string>] => [
    title,
    async () => shown(await compose({ ...PLAIN, ...parts })),
  ]),
  ...Object.entries(SUBMITTED).map(([title, text]): [string, () => Promise<string>] => [
    `submitted: ${title}`,
    async () => submitted(text),
  ]),
];

export async function blockOf([title, write]: (typeof CASES)[number]): Promise<string> {
  return `# ${title}\n${await write()}\n`;
}

if (import.meta.main) {
  const blocks: string[] = [];
  for (const one of CASES) blocks.push(await blockOf(one));
  writeFileSync(TRANSCRIPT_FILE, blocks.join('\n'));
}
