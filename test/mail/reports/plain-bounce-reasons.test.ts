/** What a bounce in plain words says of each address, and whether it says that the reporter goes on. */
import { expect, test } from 'bun:test';

import { InboundMessage } from '../../../src/mail/reports/inbound-message.ts';
import { readPlainBounce } from '../../../src/mail/reports/plain-bounce.ts';
import { DAEMON, read, TEXT, told } from './plain-bounces.ts';

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
