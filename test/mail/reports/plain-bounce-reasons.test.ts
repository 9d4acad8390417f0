/** What a bounce in plain words says of each address, and whether it says that the reporter goes on. */
import { expect, test } from 'bun:test';

import { InboundMessage } from '../../../src/mail/reports/inbound-message.ts';
import { ReasonTable, readPlainBounce } from '../../../src/mail/reports/plain-bounce.ts';
import { ANN, DAEMON, read, TEXT, told } from './plain-bounces.ts';

test.each([
  ['550 no', true],
  ['said (451-later)', true],
  ['said:554:no', true],
  ['status 5.123.456', true],
  ['#4.2.2', true],
  ['1550 seconds', false],
  ['10.0.0.550 port 25', false],
  ['at @550 x', false],
  ['550ms', false],
  ['15.1.1', false],
  ['5.1.1234', false],
  ['5.1234.1', false],
  ['250 ok', false],
])('%s in a bounce that names no address is a reply: %p', (words, isReply) => {
  const lines = ['Your message could not be delivered.', '', words];
  expect(read([DAEMON], lines)).toEqual(isReply ? [null] : null);
});

test('the subject, and the first 8,000 characters of the text, tell that the reporter goes on', () => {
  expect(told(TEXT, 'Message delayed')?.['action']).toBe('delayed' as never);
  const words = 'do not need to resend';
  const late = (end: number): unknown => {
    const before = TEXT.join('\n').length + 2;
    return told([...TEXT, 'y'.repeat(end - before - words.length), `${words}.`])?.['action'];
  };
  expect([late(8_000), late(8_001)]).toEqual(['delayed', 'failed']);
});

/** What the bounce says of each address. */
function reasons(...lines: string[]): unknown {
  const bytes = Buffer.from([DAEMON, '', TEXT[0], '', ...lines].join('\r\n'));
  return readPlainBounce(new InboundMessage(bytes))?.recipients.map((one) => [
    one.finalRecipient,
    one.diagnostic,
    one.status,
  ]);
}

test('of two addresses the one without a reply keeps its own words', () => {
  expect(reasons('bo@b.example: gone', 'ann@a.example:', '550 5.1.1 No')).toEqual([
    ['bo@b.example', 'bo@b.example: gone', null],
    ['ann@a.example', '550 5.1.1 No', '5.1.1'],
  ]);
});

test('an address that is named twice, in whatever case, counts once and keeps what stood first', () => {
  expect(reasons('Ann@a.example: 550 5.1.1 No', 'bo@b.example: gone', 'ann@a.example: x')).toEqual([
    ['ann@a.example', '550 5.1.1 No', '5.1.1'],
    ['bo@b.example', 'bo@b.example: gone ann@a.example: x', null],
  ]);
});

test('of words longer than a thousand characters without a reply those from the status on are kept', () => {
  const name = 'ann@a.example: ';
  const said = (length: number): string =>
    `${name}${'y'.repeat(length - name.length - ' #5.1.1 gone'.length)} #5.1.1 gone`;
  expect(reasons(said(1_000))).toEqual([['ann@a.example', said(1_000), '5.1.1']]);
  expect(reasons(said(1_001))).toEqual([['ann@a.example', '#5.1.1 gone', '5.1.1']]);
  const bare = `${name}${'y'.repeat(1_000)} 15.1.1 5.1234.1 5.123.456`;
  expect(reasons(bare)).toEqual([['ann@a.example', '5.123.456', '5.123.456']]);
});

test('an address that is told twice by a field is one recipient', () => {
  const twice = 'X-Failed-Recipients: ann@receiver.example, bo@b.example, ann@receiver.example';
  expect(read([DAEMON, twice])).toEqual(['ann@receiver.example', 'bo@b.example']);
});

test.each([
  ['auto-generated', ANN],
  ['no', ANN],
  ['auto-notified', ANN],
  ['auto-replied', null],
])('with Auto-Submitted: %s and the empty return path', (word, addresses) => {
  const fields = ['From: Ann Lee <ann@x.example>', 'Return-Path: <>', `Auto-Submitted: ${word}`];
  expect(read(fields)).toEqual(addresses);
});

test('of a line 400 characters are searched for an address', () => {
  const lines = (before: number): string[] => [
    TEXT[0] ?? '',
    `${' '.repeat(before)}ann@receiver.example`,
    '550 5.1.1 No',
  ];
  const most = 400 - 'ann@receiver.example'.length;
  expect(read([DAEMON], lines(most))).toEqual(ANN);
  expect(read([DAEMON], lines(400))).toEqual([null]);
});

const reasonsOf = (lines: readonly string[]): ReasonTable =>
  new ReasonTable(new InboundMessage(Buffer.from([DAEMON, '', ...lines].join('\r\n'))));

test('what is said of an address behind the fiftieth is no reason of its own', () => {
  const many = Array.from({ length: 51 }, (_, at) => `u${at}@b.example: gone ${at}`);
  const reasons = reasonsOf(many);
  expect([0, 49, 50].map((at) => reasons.find(`u${at}@b.example`))).toEqual([
    'u0@b.example: gone 0',
    // The text up to the next address that is read.
    'u49@b.example: gone 49 u50@b.example: gone 50',
    '',
  ]);
});

test('a reply counts for the address above it as long as that is within 4,000 characters', () => {
  const block = (filler: number): string => {
    const lines = Array.from({ length: filler }, () => 'x'.repeat(99));
    const reasons = reasonsOf(['ann@b.example', ...lines, '550 5.1.1 No such user']);
    return reasons.find('ann@b.example');
  };
  expect(block(39)).toBe('550 5.1.1 No such user');
  expect(block(40)).toStartWith('ann@b.example xxx');
});

test('the text of a report is searched once, whoever asks', () => {
  let looks = 0;
  const message = new (class extends InboundMessage {
    override get readableText(): string {
      looks += 1;
      return super.readableText;
    }
  })(Buffer.from([DAEMON, '', 'ann@b.example: gone', 'bo@b.example: full'].join('\r\n')));
  const reasons = new ReasonTable(message);
  expect(looks).toBe(0);
  const asked = ['ann@b.example', 'bo@b.example', 'ANN@b.example', 'cy@b.example'];
  expect(asked.map((address) => reasons.find(address))).toEqual([
    'ann@b.example: gone',
    'bo@b.example: full',
    'ann@b.example: gone',
    '',
  ]);
  expect(looks).toBe(1);
});

test.each([
  'Your message has been returned to you',
  'The message is undeliverable',
  'Your message to Ann has been rejected',
  `The message ${'x'.repeat(198)} has been returned`,
  `The following address ${'x'.repeat(58)} deferred`,
])('%s is an introduction', (words) => {
  expect(read([DAEMON], [words, '', ...TEXT.slice(2)])).toEqual(ANN);
});

test.each([
  `The message ${'x'.repeat(199)} has been returned`,
  `The following address ${'x'.repeat(59)} deferred`,
])('%s is none', (words) => {
  expect(read([DAEMON], [words, '', ...TEXT.slice(2)])).toBeNull();
});

test.each([
  ['\t--- Original message', true],
  [`--${'-'.repeat(20)}Original message${'-'.repeat(80)}`, true],
  [`-- ${'x'.repeat(19)}Original message`, true],
  [`-- ${'x'.repeat(20)}Original message`, false],
  [`--- Original message${'x'.repeat(80)}`, true],
  [`--- Original message${'x'.repeat(81)}`, false],
  ['---', true],
  ['--- ', true],
  // What stands above a signature, and a line that is only set off.
  ['--', false],
  ['-- ', false],
  ['--- and so on', false],
  ['---  ', false],
  [`Received: from ${'x'.repeat(200)}`, true],
  [`Received: from ${'x'.repeat(201)}`, false],
  ['Received: for x', false],
  ['Original message headers', true],
  ['Original message headers: x', false],
])('%j begins the copy of our message: %p', (marker, isMarker) => {
  const copy = told([...TEXT, marker, 'To: bo@receiver.example'])?.['original'];
  expect(copy !== '').toBe(isMarker);
});

test.each([
  ['Delivery to the following recipient has been delayed.', 'delayed'],
  ['delivery to the following recipients has been delayed', 'delayed'],
  ['The delivery was delayed', 'delayed'],
  ['The message is delayed', 'delayed'],
  ['It will keep being retried', 'delayed'],
  ['We will not deliver it', 'failed'],
  ['It was delayed on the way and then refused', 'failed'],
])('%s: %s', (words, action) => {
  expect(told([...TEXT, words])?.['action']).toBe(action as never);
});

test('a text may begin with the reply', () => {
  expect(read([DAEMON], ['550 no', 'Your message could not be delivered.'])).toEqual([null]);
});

test.each(['waited 1550 seconds', 'from 10.0.0.550 port 25', 'for bo@550 x', 'took 550ms'])(
  'numbers in %j are no reply that a reason begins with',
  (words) => {
    const line = `ann@a.example: ${words}`;
    expect(reasons(line)).toEqual([['ann@a.example', line, null]]);
  },
);
