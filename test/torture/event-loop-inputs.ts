/**
 * The worst inputs that are known to us, for each listener: what `event-loop.test.ts` sends. Made from the printed seed.
 */
import { seeded } from '../mail/random.ts';

export const SEED = Number(process.env['SEED'] ?? 14_001);
const BODY_BYTES = 14_600_000;
const MAIL_BYTES = 13_000_000;

const random = seeded(SEED);
const word = (): string =>
  `k${random.int(2 ** 31).toString(36)}${random.int(2 ** 31).toString(36)}`;

/** `piece` as often as fits into `bytes`. */
function filled(piece: string, bytes: number): string {
  return piece.repeat(Math.floor(bytes / piece.length));
}

function email(change: string): string {
  return `{"from":"a@example.org","subject":"x","text":"x",${change}}`;
}

/** A hundred emails that share the body. */
function batch(change: (bytes: number) => string): string {
  const each = BODY_BYTES / 100 - 60;
  return `[${Array.from({ length: 100 }, () => email(change(each))).join(',')}]`;
}

function members(count: number): string {
  return Array.from({ length: count }, () => `"${word()}":"1"`).join(',');
}

export const BODIES: [name: string, body: () => string][] = [
  ['a batch of ":::" as addresses', () => batch((size) => `"to":[${filled('":::",', size)}"a"]`)],
  [
    'a batch of empty objects as addresses',
    () => batch((size) => `"to":[${filled('{},', size)}{}]`),
  ],
  [
    'a batch of numbers as addresses',
    () => batch((size) => `"cc":[${filled('1,', size)}1],"to":"b@example.net"`),
  ],
  ['1,300,000 unknown keys', () => `{${members(700_000)}}`],
  ['1,100,000 headers', () => email(`"to":"b@example.net","headers":{${members(650_000)}}`)],
  [
    '5,000,000 numbers as a file',
    () =>
      `[${email(`"to":"b@example.net","attachments":[{"filename":"a","content":[${filled('1,', 9_999_000)}1]}]`)}]`,
  ],
  [
    '5,000,000 numbers as a file, the last too large',
    () =>
      `[${email(`"to":"b@example.net","attachments":[{"filename":"a","content":[${filled('1,', 9_999_000)}256]}]`)}]`,
  ],
  ['7,000,000 numbers', () => email(`"to":[${filled('1,', BODY_BYTES - 200)}1]`)],
  ['escaped quotation marks', () => email(`"to":"${filled('\\"', BODY_BYTES - 100)}"`)],
  [
    'base64 with a space in each group',
    () =>
      `[${email(`"to":"b@example.net","attachments":[{"filename":"a","content":"${filled('QUJ ', BODY_BYTES - 200)}"}]`)}]`,
  ],
  ['lists of lists', () => `[${filled('[],', BODY_BYTES)}[]]`],
  [
    'html of one angle bracket after the other',
    () => email(`"to":"b@example.net","html":"${filled('<', BODY_BYTES - 200)}"`),
  ],
];

const RECIPIENTS = Array.from({ length: 499 }, (_, n) => `r${n}@receiver.example`);

function delivery(fields: string): string {
  return `From: MAILER-DAEMON@x.example\r\nContent-Type: multipart/report; report-type=delivery-status; boundary="b"\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\n${RECIPIENTS.map((one) => `<${one}>: host x said: 550 no such user\r\n`).join('')}${'x'.repeat(70)}\r\n--b\r\nContent-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; x.example\r\n\r\n${fields}\r\n--b--`;
}

function recipientFields(diagnostic: string, count: number): string {
  return RECIPIENTS.slice(0, count)
    .map(
      (one) =>
        `Final-Recipient: rfc822; ${one}\r\nAction: failed\r\nStatus: 5.0.0\r\n${diagnostic}\r\n`,
    )
    .join('\r\n');
}

const folded = (text: string): string =>
  `Diagnostic-Code: smtp; ${text.replace(/.{900}/g, '$&\r\n ')}`;

export const REPORTS: [name: string, message: () => string][] = [
  ['a report of 499 recipients', () => delivery(recipientFields('X-Note: none', 499))],
  [
    '273 KB for the pattern of GMX',
    () => delivery(recipientFields(folded(filled('postmaster.error-messages', 4_000)), 65)),
  ],
  [
    'words that begin a pattern, for each recipient',
    () => delivery(recipientFields(folded(filled('fail', 4_000)), 250)),
  ],
  [
    'a plain bounce of introductions',
    () =>
      `From: MAILER-DAEMON@x.example\r\n\r\n${filled('Your message to ', 60_000).replace(/.{64}/g, '$&\r\n')}\r\nnot delivered 550 x`,
  ],
  [
    'a megabyte of tags',
    () =>
      `From: MAILER-DAEMON@x.example\r\nContent-Type: text/html\r\n\r\n${filled('<br ', 900_000).replace(/.{72}/g, '$&\r\n')}`,
  ],
  [
    'a megabyte of encoded words',
    () =>
      `From: MAILER-DAEMON@x.example\r\nSubject: ${filled('=?a?b?', 900_000).replace(/.{60}/g, '$&\r\n ')}\r\n\r\nx`,
  ],
];

const TO_ONE = 'From: a@example.org\r\nTo: b@example.net\r\n';

export const SUBMITTED: [name: string, message: () => string][] = [
  [
    'To of escaped quotation marks',
    () =>
      `From: a@example.org\r\nTo: ${filled('\\"', 150_000).replace(/.{70}/g, '$&\r\n ')} <b@example.org>\r\n\r\nx`,
  ],
  [
    'To of colons',
    () =>
      `From: a@example.org\r\nTo: a@${filled(':', 200_000).replace(/.{70}/g, '$&\r\n ')}\r\n\r\nx`,
  ],
  [
    'Subject of encoded words',
    () =>
      `${TO_ONE}Subject: ${filled('=?utf-8?q?=41?= ', 200_000).replace(/.{64}/g, '$&\r\n ')}\r\n\r\nx`,
  ],
  ['1,900 fields', () => `${TO_ONE}${filled('X-A: b\r\n', 15_000)}\r\nx`],
  ['13 MB of one line', () => `${TO_ONE}\r\n${filled('x', MAIL_BYTES)}`],
  [
    '1,000,000 boundaries',
    () =>
      `${TO_ONE}Content-Type: multipart/mixed; boundary=b\r\n\r\n${filled('--b\r\n', 5_000_000)}`,
  ],
  ['13 MB of one line beyond ASCII', () => `${TO_ONE}\r\n${filled('ü', MAIL_BYTES / 2)}`],
  [
    'four million escapes in one line',
    () =>
      `${TO_ONE}Content-Transfer-Encoding: quoted-printable\r\n\r\n${filled('=41', MAIL_BYTES)}`,
  ],
  [
    'NULs in 900 parts',
    () => multipart('--b\r\n\r\n\0\r\n'.repeat(900) + filled('\0\r\n', MAIL_BYTES - 20_000)),
  ],
  ['1,000,000 lines of a dot', () => `${TO_ONE}\r\n${filled('..\r\n', 4_000_000)}`],
  ['4,000,000 empty lines in a multipart', () => multipart(filled('\r\n', 8_000_000))],
  ['2,600,000 lines that are nearly delimiters', () => multipart(filled('--c\r\n', MAIL_BYTES))],
  ['2,600,000 fields of a part', () => multipart(`--b\r\n${filled('a:\r\n', MAIL_BYTES)}`)],
];

function multipart(body: string): string {
  return `${TO_ONE}Idempotency-Key: ${word()}\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n${body}`;
}
