/** Bounces in plain words, told from what people and their mailboxes answer by themselves. */
import { expect, test } from 'bun:test';

import { InboundMessage } from '../../../src/mail/reports/inbound-message.ts';
import { ReasonTable, readPlainBounce } from '../../../src/mail/reports/plain-bounce.ts';
import { ANN, DAEMON, read, TEXT, told } from './plain-bounces.ts';

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

/** One of each kind, as its system writes it. */
const INTRODUCTIONS = [
  'Hi. This is the qmail-send program at mx.receiver.example.',
  'This message was created automatically by mail delivery software.',
  'A message that you sent could not be delivered to all of its recipients.',
  'A message that you sent contained no recipient addresses.',
  'Your note did not reach some or all of the intended recipients.',
  'The following recipient(s) could not be reached:',
  'The following recipients cannot be reached:',
  // In two words, which the texts of this repository never write.
  'The following recipients CANNOT be reached:'.replace('NN', 'N N'),
  'Delivery has failed to these recipients or distribution lists:',
  "Your message to ann@receiver.example couldn't be delivered.",
  'Your message cannot be delivered.',
  'Delivery to the following recipient failed permanently:',
  'Delivery to the following recipients has been delayed.',
  "Your message wasn't delivered to ann@receiver.example",
  'We were unable to deliver your message to the following address(es).',
  'The following addresses had permanent fatal errors',
  'The original message was received; transient non-fatal errors',
  'This is the mail system at host mx.receiver.example.',
  'This is the Postfix program at host mx.receiver.example.',
  'Your e-mail was not delivered',
  'The mail to this person has been returned',
  'UNDELIVERABLE MAIL',
  'Undelivered Mail Returned to Sender',
  'Failed to deliver to',
  'This report relates to a message you sent',
  'This is an automatically generated Delivery Status Notification',
  'Mail delivery failed: returning message to sender',
  'Delivery failure',
  'THIS IS A WARNING MESSAGE ONLY.',
  'A message that you sent has not yet been delivered to one of its recipients.',
  'Your note did not reach the following recipient(s):',
  'The following recipient could not be reached:',
  "Your message couldn't be delivered.",
  "Your message can't be delivered.",
  'Delivery to the following recipient was delayed.',
  'Delivery to the following recipients delayed:',
  'The following message was deferred',
  'The following recipients failed',
  'The following address is undeliverable',
  'The original message was not delivered',
  'The following recipient has a delivery problem',
  'The mail could not be delivered',
  'The mail cannot be delivered',
  'The mail is undeliverable',
  'The mail has been rejected',
  'Your email to Ann\r\nwas not delivered',
  'Delivery failed',
];

test.each(INTRODUCTIONS)('%s', (introduction) => {
  const said = ['', 'ann@receiver.example:', '550 5.1.1 No such user'];
  expect(read([DAEMON], [introduction, ...said])).toContain(ANN[0]);
  expect(read([DAEMON], [introduction.toUpperCase(), ...said])).toContain(ANN[0]);
  expect(read([DAEMON], [introduction.toLowerCase(), ...said])).toContain(ANN[0]);
});

test.each([
  'Hello, this is Ann.',
  'Please deliver my thanks to the team.',
  'Was your message meant for me?',
  'The mail arrived, thank you.',
])('%s (no introduction)', (text) => {
  expect(read([DAEMON], [text, '', ...TEXT.slice(2)])).toBeNull();
});

test.each([
  '--- Below this line is a copy of the message.',
  '------ This is a copy of the message, including all the headers. ------',
  '-----Original message-----',
  '---- Returned message ----',
  '--Unsent message below--',
  '   ----- Message header follows -----',
  '----- The header of the original message is following. -----',
  '------ Forwarded message ------',
  '--- Your original message:',
  '---',
  '------ ',
  'Original message headers:',
])('behind %j stands our message, which is not searched for addresses', (marker) => {
  const original = ['Message-ID: <1@shop.example>', 'To: bo@receiver.example'];
  const lines = [...TEXT, '', marker, '', ...original];
  const bounce = told(lines);
  expect(read([DAEMON], lines)).toEqual(ANN);
  expect(bounce?.['original']).toStartWith('Message-ID: <1@shop.example>');
});

test('a marker is told in any case, and is a line of its own', () => {
  for (const marker of ['--- ORIGINAL MESSAGE ---', '-- forwarded message', 'received: from x']) {
    const bounce = told([...TEXT, marker, 'To: bo@receiver.example']);
    expect([marker, bounce?.['original']]).not.toEqual([marker, '']);
  }
  for (const line of ['see --- Original message', '- Original message', 'not Received: by x']) {
    const bounce = told([...TEXT, line, 'To: bo@receiver.example']);
    expect([line, bounce?.['original']]).toEqual([line, '']);
  }
  const traced = told([...TEXT, '', 'Received: by mx.a.example with SMTP', 'To: bo@b.example']);
  expect(traced?.['original']).toBe(
    'Received: by mx.a.example with SMTP\nTo: bo@b.example' as never,
  );
});

test('without a copy there is none', () => expect(told(TEXT)?.['original']).toBe(''));

test.each([
  'THIS IS A WARNING MESSAGE ONLY',
  'It has not yet been delivered.',
  'The message has been delayed.',
  'delivery is delayed',
  'We will keep trying.',
  'It will be retried for two days.',
  'The server will continue to try.',
  'The following addresses had transient non-fatal errors',
  'You do not need to resend your message.',
])('%s: the reporter goes on', (words) => {
  expect(told([...TEXT, words])?.['action']).toBe('delayed' as never);
  expect(told(TEXT)?.['action']).toBe('failed' as never);
});

test.each([
  'ann@receiver.example',
  '  <ann@receiver.example>',
  '> ann@receiver.example',
  '* ann@receiver.example:',
  "'ann@receiver.example'",
  'To: ann@receiver.example',
  'RCPT TO:<ann@receiver.example>',
  'Recipient: ann@receiver.example',
  'Recipient address: ann@receiver.example',
  'Address: ann@receiver.example',
  'Failed address: ann@receiver.example',
  'Failed to deliver to ann@receiver.example',
  'Your message to ann@receiver.example',
  'ann@receiver.example (expanded from bo)',
])('%s names whom it is about', (line) => {
  expect(read([DAEMON], [TEXT[0] ?? '', '', line, '550 5.1.1 No'])).toEqual(ANN);
});

test.each([
  ['550 5.1.1 No such user', '550 5.1.1 No such user', '5.1.1'],
  ['550 No such user', '550 No such user', null],
  ['host said: 452-4.2.2 full', '452-4.2.2 full', '4.2.2'],
  ['the mailbox is gone', 'ann@receiver.example: the mailbox is gone', null],
  ['sorry (#5.1.1)', 'ann@receiver.example: sorry (#5.1.1)', '5.1.1'],
])('%s: the reason is %s', (line, diagnostic, status) => {
  const bounce = told([TEXT[0] ?? '', '', 'ann@receiver.example:', line]);
  expect(bounce).toMatchObject({ diagnostic, status });
});

test('a reply before the only address is its reason', () => {
  const lines = [TEXT[0] ?? '', '550 5.2.2 Full', '', 'ann@receiver.example', 'Sorry.'];
  expect(told(lines)?.['status']).toBe('5.2.2' as never);
});

test('a reason has a thousand characters at most', () => {
  const line = `550 5.1.1 ${'x'.repeat(2_000)}`;
  const bounce = told([TEXT[0] ?? '', '', 'ann@receiver.example:', line]);
  expect(bounce?.['diagnostic']).toBe(line.slice(0, 1_000) as never);
});

test('of a long text 32,768 characters are read for addresses', () => {
  const filler = 'no address here\r\n'.repeat(1_800).slice(0, 30_000);
  const lines = (before: string) => [TEXT[0] ?? '', before, 'ann@receiver.example', '550 5.1.1 No'];
  expect(read([DAEMON], lines(filler))).toEqual(ANN);
  expect(read([DAEMON], lines(filler + filler))).toBeNull();
});

test('what a report says of an address is found in any case', () => {
  const bytes = Buffer.from([DAEMON, '', ...TEXT, '', 'bo@receiver.example', 'gone'].join('\r\n'));
  const reasons = new ReasonTable(new InboundMessage(bytes));
  expect(reasons.find('ANN@receiver.example')).toBe('550 5.1.1 No such user bo'.slice(0, 22));
  expect(reasons.find('bo@receiver.example')).toBe('bo@receiver.example gone');
  expect(reasons.find('cy@receiver.example')).toBe('');
  const far = [DAEMON, '', 'y'.repeat(32_767), 'bo@receiver.example'].join('\r\n');
  const none = new ReasonTable(new InboundMessage(Buffer.from(far)));
  expect(none.find('bo@receiver.example')).toBe('');
});

test.each([
  'MAILER-DAEMON@mx.example',
  'Mailer Daemon <mailerdaemon@mx.example>',
  'postmaster@mx.example',
  'Mail Delivery Subsystem <x@mx.example>',
  'MailDelivery <x@mx.example>',
  'MDaemon at mx.example <x@mx.example>',
  'Mail System <x@mx.example>',
  'System Administrator <x@mx.example>',
  'mailadmin@mx.example',
  'noreply-dmarc@mx.example',
  'bounces@mx.example',
  'Undeliverable <x@mx.example>',
  'Non-Delivery <x@mx.example>',
  'nondelivery@mx.example',
  '=?utf-8?q?Mail_Delivery?= <x@mx.example>',
])('%s is a mail system', (from) => expect(read([`From: ${from}`])).toEqual(ANN));

test.each([
  'Ann Lee <ann@mx.example>',
  'demons@mx.example',
  'Daemon Lee <daemon@mx.example>',
  'Mdaemona <a@mx.example>',
  'Amdaemon <a@mx.example>',
])('%s is a person', (from) => expect(read([`From: ${from}`])).toBeNull());

test.each([
  'Automatic reply: x',
  'Auto reply: x',
  'Auto-response to x',
  'autoreply',
  'Out of office',
  'Out of the office until Monday',
  'Abwesenheitsnotiz',
  'Absence du bureau',
  'Vacation reply',
])('the subject %s is that of a mailbox which answers by itself', (subject) => {
  expect(read([DAEMON, `Subject: ${subject}`])).toBeNull();
  expect(read([DAEMON, `Subject: Re: ${subject}`])).toEqual(ANN);
});

test.each(['Mailer-Daemon', 'postmaster', 'Mail Delivery'])(
  'an automatic answer of %s may be a bounce, one of the administrator is none',
  (name) => {
    const marked = 'AUTO-SUBMITTED: Auto-Replied; x';
    expect(read([`From: ${name} <x@mx.example>`, marked])).toEqual(ANN);
    expect(read(['From: System Administrator <x@mx.example>', marked])).toBeNull();
  },
);

test.each([
  'Return-Path',
  'Received',
  'DKIM-Signature',
  'From',
  'To',
  'Message-ID',
  'Date',
  'Subject',
  'MIME-Version',
])('the copy of our message begins at its first field, %s', (name) => {
  const copy = told([...TEXT, '--- Original message', '', 'note', `${name} : x`, 'Message-ID: y']);
  expect(copy?.['original']).toBe(`${name} : x\nMessage-ID: y` as never);
  const small = name.toLowerCase();
  const lines = [...TEXT, '--- Original message', `a ${name}: x`, `${small}: y`];
  expect(told(lines)?.['original']).toBe(`${small}: y` as never);
});

test('of the copy 32,768 characters are kept, and behind the marker as many looked at', () => {
  const copyOf = (...lines: string[]): unknown =>
    told([...TEXT, '--- Original message', ...lines])?.['original'];
  expect(copyOf('To: a', 'x'.repeat(40_000))).toBe(`To: a\n${'x'.repeat(32_762)}`);
  const marker = '--- Original message'.length;
  const near = 32_768 - marker - 2 - 'To:'.length;
  expect(copyOf('x'.repeat(near), 'To: a')).toBe('To: a');
  expect(copyOf('x'.repeat(near + 1), 'To: a')).toBe('');
});

test('a marker is looked for in the first 131,072 characters, an introduction in the first 8,000', () => {
  const lines = (fill: number): string[] => [
    ...TEXT,
    'z'.repeat(fill),
    'Original message headers:',
    'To: bo@receiver.example',
  ];
  const before = TEXT.join('\n').length + 2 + 'Original message headers'.length;
  expect(told(lines(131_072 - before))?.['original']).toBe('To: bo@receiver.example' as never);
  expect(told(lines(131_072 - before + 1))?.['original']).toBe('' as never);
  const late = (fill: number): unknown => read([DAEMON], ['y'.repeat(fill), ...TEXT]);
  expect(late(8_000 - 1 - (TEXT[0] ?? '').length + 1)).toEqual(ANN);
  expect(late(8_000)).toBeNull();
});

test('addresses that are told by a field count before those in the text, each with its own words', () => {
  const bytes = Buffer.from(
    [
      DAEMON,
      'X-Failed-Recipients: Bo@receiver.example, cy@receiver.example',
      '',
      ...TEXT,
      'bo@receiver.example',
      '  452 4.2.2 full',
    ].join('\r\n'),
  );
  const bounce = readPlainBounce(new InboundMessage(bytes));
  expect(bounce?.recipients).toEqual([
    {
      action: 'failed',
      finalRecipient: 'Bo@receiver.example',
      status: '4.2.2',
      diagnostic: '452 4.2.2 full',
    },
    {
      action: 'failed',
      finalRecipient: 'cy@receiver.example',
      status: '5.1.1',
      diagnostic: '550 5.1.1 No such user bo@receiver.example 452 4.2.2 full',
    },
  ]);
});
