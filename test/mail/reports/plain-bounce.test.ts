/** Bounces in plain words, told from what people and their mailboxes answer by themselves. */
import { expect, test } from 'bun:test';

import { InboundMessage } from '../../../src/mail/reports/inbound-message.ts';
import { readPlainBounce } from '../../../src/mail/reports/plain-bounce.ts';

const TEXT = [
  'Your message could not be delivered.',
  '',
  'ann@receiver.example:',
  '550 5.1.1 No such user',
];

/** The addresses of the bounce that a message with these header fields is; null when it is none. */
function read(fields: readonly string[], lines: readonly string[] = TEXT): unknown {
  const bytes = Buffer.from([...fields, '', ...lines].join('\r\n'));
  return (
    readPlainBounce(new InboundMessage(bytes))?.recipients.map((one) => one.finalRecipient) ?? null
  );
}

const ANN = ['ann@receiver.example'];
const DAEMON = 'From: MAILER-DAEMON@mx.receiver.example';
const PERSON = 'From: Ann Lee <ann@receiver.example>';

test.each([
  ['from the mail system', [DAEMON], ANN],
  ['with an empty return path', [PERSON, 'Return-Path: <>'], ANN],
  [
    'that names whom it could not reach',
    [PERSON, 'X-Failed-Recipients: bo@b.example'],
    ['bo@b.example'],
  ],
  // Some mail systems mark their bounces so.
  ['marked as a reply, from the mail system', [DAEMON, 'Auto-Submitted: auto-replied'], ANN],
  ['marked as generated', [DAEMON, 'Auto-Submitted: auto-generated'], ANN],
])('a bounce %s', (_, fields, addresses) => expect(read(fields)).toEqual(addresses));

test.each([
  ['of a person', [PERSON]],
  ['of a mailbox', [PERSON, 'Return-Path: <>', 'Auto-Submitted: auto-replied (vacation)']],
  ['of an older mailbox', [PERSON, 'Return-Path: <>', 'X-Autoreply: yes']],
  ['that says so in its subject', [PERSON, 'Return-Path: <>', 'Subject: Out of office: back soon']],
  ['in an encoded subject', [DAEMON, 'Subject: =?UTF-8?B?QXV0b21hdGljIHJlcGx5?=']],
])('an answer %s is none', (_, fields) => expect(read(fields)).toBeNull());

test('without an introduction that bounces have, or without address and reply, it is none', () => {
  expect(read([DAEMON], ['Hello', '', ...TEXT.slice(2)])).toBeNull();
  expect(read([DAEMON], ['Your message could not be delivered.', '', 'Sorry.'])).toBeNull();
  expect(read([DAEMON], ['Your message could not be delivered.', '', '550 5.1.1 No'])).toEqual([
    null,
  ]);
});

test('of a bounce fifty addresses are read', () => {
  const many = Array.from({ length: 60 }, (_, at) => `user${at}@receiver.example: no such user`);
  const addresses = read([DAEMON], [...TEXT.slice(0, 2), ...many]);
  expect(addresses).toHaveLength(50);
  const fields = [
    DAEMON,
    `X-Failed-Recipients: ${many.map((line) => line.split(':')[0]).join(', ')}`,
  ];
  expect(read(fields)).toHaveLength(50);
});
