/**
 * Whole dialogues, command by command, on every listener: code, enhanced code (RFC 2034) and, where the words are ours,
 * the text. What an expectation leaves out after its last blank are words of smtp-server.
 */
import { afterEach, expect, test } from 'bun:test';

import { openSmtpFixture, type SmtpFixture } from './fixture.ts';
import { RawClient } from './raw-client.ts';

type Step = readonly [command: string, reply: string];

let fixture: SmtpFixture | null = null;
afterEach(async () => {
  await fixture?.close();
  fixture = null;
});

const TLS_FIRST = '530 5.7.0 Must issue a STARTTLS command first';
const NO_ADDRESS = '550 5.1.1 No such address here. This server does not relay mail.';
const UTF8 = '553 5.6.7 An address with non-ASCII characters requires SMTPUTF8.';
const WRONG_KEY = '535 5.7.8 The API key is invalid or has been revoked.';

/** What EHLO announces: RFC 1870, 2034, 2920, 3207, 6152, 6531. */
const announced = (bytes: number, ...more: string[]): string =>
  [
    '250-mail.appliance.example',
    ...['PIPELINING', '8BITMIME', 'SMTPUTF8', 'ENHANCEDSTATUSCODES', ...more].map(
      (word) => `250-${word}`,
    ),
    `250 SIZE ${bytes}`,
  ].join('\n');

/** Before anything else: what every listener answers. */
const ANYBODY: readonly Step[] = [
  ['NOOP', '250 2.0.0 OK'],
  ['MAIL FROM:<a@x.example>', '503 5.5.1 '],
  ['EHLO', '501 '],
  ['HELO client.example', '250 mail.appliance.example'],
  ['VRFY ann', '252 2.1.5 '],
  ['EXPN list', '500 5.5.2 '],
  ['FOO', '500 5.5.2 '],
  ['RSET', '250 2.0.0 '],
];

const login = (token: string): string => `AUTH PLAIN ${btoa(`\0any\0${token}`)}`;

const loggedIn = (token: string): readonly Step[] => [
  ['MAIL FROM:<a@x.example>', '530 5.7.0 '],
  ['RCPT TO:<x@y.example>', '530 5.7.0 '],
  ['DATA', '530 5.7.0 '],
  ['AUTH CRAM-MD5', '504 5.5.4 '],
  ['AUTH PLAIN !!', '501 5.5.4 '],
  [login('wrong'), WRONG_KEY],
  ['MAIL FROM:<a@x.example>', '530 5.7.0 '],
  [login(` ${token} `), '235 2.7.0 '],
  [login(token), '503 5.5.1 '],
  ['RCPT TO:<x@y.example>', '503 5.5.1 '],
  ['MAIL FROM:<a@x.example> SIZE=14680065', '552 5.3.4 '],
  ['MAIL FROM:a@x.example', '501 5.1.7 '],
  ['MAIL FROM:<ä@x.example>', UTF8],
  ['MAIL FROM:<a@x.example> SIZE=14680064', '250 2.1.0 '],
  ['RSET', '250 2.0.0 '],
  ['MAIL FROM:<a@x.example>', '250 2.1.0 '],
  ['MAIL FROM:<a@x.example>', '503 5.5.1 '],
  ['DATA', '503 5.5.1 '],
  ['RCPT TO:<nobody>', '501 5.1.3 '],
  ['RCPT TO:<ä@y.example>', UTF8],
  ['RCPT TO:<x@-y.example>', '553 5.1.3 The address '],
  ['RCPT TO:<x@y.example>', '250 2.1.5 '],
  ['RCPT TO:<y@y.example>', '250 2.1.5 '],
  ['RCPT TO:<z@y.example>', '452 4.5.3 '],
  ['RSET', '250 2.0.0 '],
  ['MAIL FROM:<ä@x.example> SMTPUTF8', '250 2.1.0 '],
  ['RCPT TO:<ä@y.example>', '250 2.1.5 '],
  ['RSET', '250 2.0.0 '],
  ['QUIT', '221 2.0.0 '],
];

async function run(client: RawClient, steps: readonly Step[]): Promise<void> {
  for (const [command, expected] of steps) {
    const reply = await client.command(command);
    if (expected.endsWith(' '))
      expect(`${command}: ${reply} `).toStartWith(`${command}: ${expected}`);
    else expect(`${command}: ${reply}`).toBe(`${command}: ${expected}`);
  }
}

test('submission with STARTTLS', async () => {
  fixture = await openSmtpFixture({ toml: '[limits]\nrecipients = 2\n' });
  const client = await RawClient.open(fixture.submission);
  expect(await client.reply()).toBe('220 mail.appliance.example ESMTP');
  await run(client, [
    ...ANYBODY,
    ['EHLO client.example', announced(14_680_064, 'STARTTLS')],
    [login(fixture.token), '538 5.7.0 '],
    ['MAIL FROM:<a@x.example>', TLS_FIRST],
    ['RCPT TO:<x@y.example>', TLS_FIRST],
    ['DATA', TLS_FIRST],
    ['STARTTLS', '220 2.0.0 '],
  ]);
  await client.upgrade();
  // RFC 3207 section 4.2: what was said before TLS is forgotten.
  await run(client, [
    ['MAIL FROM:<a@x.example>', '503 5.5.1 '],
    ['EHLO client.example', announced(14_680_064, 'AUTH PLAIN LOGIN')],
    ['STARTTLS', '503 5.5.1 '],
    ...loggedIn(fixture.token),
  ]);
  await client.closed;
});

test('submission with TLS from the start', async () => {
  fixture = await openSmtpFixture({ toml: '[limits]\nrecipients = 2\n' });
  const client = await RawClient.openTls(fixture.submissions);
  expect(await client.reply()).toBe('220 mail.appliance.example ESMTP');
  await run(client, [
    ...ANYBODY,
    ['EHLO client.example', announced(14_680_064, 'AUTH PLAIN LOGIN')],
    ['STARTTLS', '503 5.5.1 '],
    ...loggedIn(fixture.token),
  ]);
  await client.closed;
});

test('port 25', async () => {
  fixture = await openSmtpFixture();
  const client = await RawClient.open(fixture.inbound);
  expect(await client.reply()).toBe('220 mail.appliance.example ESMTP');
  await run(client, [
    ...ANYBODY,
    ['EHLO client.example', announced(33_554_432, 'STARTTLS')],
    [login(fixture.token), '500 5.5.2 '],
    ['RCPT TO:<postmaster>', '503 5.5.1 '],
    ['MAIL FROM:<a@x.example> SIZE=33554433', '552 5.3.4 '],
    ['MAIL FROM:<> SIZE=33554432', '250 2.1.0 '],
    ['RCPT TO:<x@y.example>', NO_ADDRESS],
    ['RCPT TO:<bounce@mail.appliance.example>', NO_ADDRESS],
    ['RCPT TO:<postmaster@y.example>', NO_ADDRESS],
    ['DATA', '503 5.5.1 '],
    ['RCPT TO:<postmaster>', '250 2.1.5 '],
    ['RCPT TO:<abuse@mail.appliance.example>', '250 2.1.5 '],
    ['DATA', '354 '],
    ['Subject: x\r\n\r\nhello\r\n.', '250 2.0.0 OK'],
    ['MAIL FROM:<>', '250 2.1.0 '],
    ['RCPT TO:<postmaster>', '250 2.1.5 '],
    ['DATA', '354 '],
    [
      'Subject: x\n\r\nhello\r\n.',
      '554 5.6.0 The message contains a bare CR or LF. Lines must end in CRLF (RFC 5321).',
    ],
    ['MAIL FROM:<>', '250 2.1.0 '],
    ['RCPT TO:<postmaster>', '250 2.1.5 '],
    ['DATA', '354 '],
    [
      `${'Received: x\r\n'.repeat(31)}\r\n.`,
      '554 5.4.6 Too many Received header fields: the message is in a mail loop.',
    ],
    ['QUIT', '221 2.0.0 '],
  ]);
  await client.closed;
});
