/** Complaints: which kinds count, whom they name, and by which fields the message is found again. */
import { expect, test } from 'bun:test';

import { readReport } from '../../../src/mail/reports/read-report.ts';
import { parseArf, type ArfReport } from '../../../src/mail/reports/arf.ts';
import { InboundMessage } from '../../../src/mail/reports/inbound-message.ts';

/** A report of these feedback fields about a message of these. */
function read(feedback: readonly string[], original: readonly string[] = []): ArfReport | null {
  const lines = [
    'From: fbl@receiver.example',
    'Content-Type: multipart/report; boundary=b',
    '',
    '--b',
    'Content-Type: message/feedback-report',
    '',
    ...feedback,
    '',
    '--b',
    'Content-Type: message/rfc822',
    '',
    ...original,
    '',
    'hello',
    '--b--',
    '',
  ];
  return parseArf(new InboundMessage(Buffer.from(lines.join('\r\n'))));
}

test.each([
  ['abuse', true],
  ['fraud', true],
  ['virus', true],
  ['other', true],
  ['opt-out', true],
  ['opt-out-list', true],
  ['ABUSE', true],
  ['not-spam', false],
  ['auth-failure', false],
  ['dkim', false],
])('feedback of the type %s: a complaint? %j', (type, isComplaint) => {
  expect(read([`Feedback-Type: ${type}`])).toMatchObject({
    feedbackType: type.toLowerCase(),
    isComplaint,
  });
});

test('feedback without a type counts as a complaint of another kind', () => {
  expect(read(['User-Agent: x'])).toMatchObject({ feedbackType: 'other', isComplaint: true });
});

test.each([
  ['rfc822; ann@a.example', ['ann@a.example']],
  ['<ann@a.example>', ['ann@a.example']],
  ['redacted@a.example', []],
  ['Redacted-5f@a.example', []],
  ['hidden@a.example', []],
  ['removed@a.example', []],
  ['xxxx@a.example', []],
  ['xxx@a.example', ['xxx@a.example']],
  ['a**@a.example', []],
  ['a*@a.example', ['a*@a.example']],
  ['hiddenvalley@a.example', ['hiddenvalley@a.example']],
  ['overhidden@a.example', ['overhidden@a.example']],
  ['nobody', []],
])('a recipient stated as %j', (value, recipients) => {
  expect(read(['Feedback-Type: abuse', `Original-Rcpt-To: ${value}`])?.recipients).toEqual(
    recipients,
  );
});

test('each recipient is told, also those behind an empty line', () => {
  const report = read([
    'Feedback-Type: abuse',
    'Original-Rcpt-To: ann@a.example',
    'Original-Rcpt-To: bo@a.example',
    '',
    'Original-Rcpt-To: cy@a.example',
    'Reported-Domain: shop.example',
    'User-Agent: Loop/1',
  ]);
  expect(report).toMatchObject({
    recipients: ['ann@a.example', 'bo@a.example', 'cy@a.example'],
    reportedDomain: 'shop.example',
    userAgent: 'Loop/1',
  });
});

test("the message's own Return-Path comes before the reporter's Original-Mail-From", () => {
  const said = ['Feedback-Type: abuse', 'Original-Mail-From: <said@shop.example>'];
  const fields = ['Message-ID: <1@shop.example>', 'Feedback-ID: a:b:c:d'];
  expect(read(said, fields)).toMatchObject({
    messageId: '<1@shop.example>',
    feedbackId: 'a:b:c:d',
    returnPath: 'said@shop.example',
  });
  expect(read(said, ['Return-Path: <own@shop.example>', ...fields])?.returnPath).toBe(
    'own@shop.example',
  );
  expect(read(['Feedback-Type: abuse'], fields)).toMatchObject({
    returnPath: null,
    reportedDomain: null,
    userAgent: null,
    recipients: [],
  });
});

test.each(['message/feedback-report2', 'x-message/feedback-report', 'text/plain'])(
  'a part of the type %s is no feedback report',
  (type) => {
    const message = `Content-Type: ${type}\r\n\r\nFeedback-Type: abuse\r\n`;
    expect(parseArf(new InboundMessage(Buffer.from(message)))).toBeNull();
  },
);

/** A message attached by itself, as Outlook.com reports junk. */
function attached(original: readonly string[], type = 'message/rfc822'): ArfReport | null {
  const lines = [
    'From: staff@hotmail.com',
    'Content-Type: multipart/mixed; boundary=b',
    '',
    '--b',
    `Content-Type: ${type}`,
    '',
    ...original,
    '',
    'hello',
    '--b--',
  ];
  return parseArf(new InboundMessage(Buffer.from(lines.join('\r\n'))));
}

test('an attached message is a complaint only with the recipient field of Outlook.com', () => {
  const id = 'Message-ID: <1@shop.example>';
  expect(attached([id])).toBeNull();
  expect(attached([id, 'x-hmxmroriginalrecipient: ann@outlook.com'])).toMatchObject({
    messageId: '<1@shop.example>',
    feedbackType: 'abuse',
    isComplaint: true,
    recipients: ['ann@outlook.com'],
    userAgent: 'JMRP',
  });
  expect(attached([id, 'X-HmXmrOriginalRecipient: nobody'])?.recipients).toEqual([]);
  expect(attached([id, 'X-HmXmrOriginalRecipient:ann@outlook.com'])?.recipients).toEqual([
    'ann@outlook.com',
  ]);
  const long = (length: number): string => `${'a'.repeat(length - 12)}@outlook.com`;
  expect(
    [320, 321].map(
      (length) => attached([id, `X-HmXmrOriginalRecipient: ${long(length)}`])?.recipients,
    ),
  ).toEqual([[long(320)], []]);
  expect(attached([id, 'Not-X-HmXmrOriginalRecipient: ann@outlook.com'])).toBeNull();
  const said = [id, 'X-HmXmrOriginalRecipient: ann@outlook.com'];
  for (const type of ['message/rfc822x', 'x-message/rfc822']) {
    expect([type, attached(said, type)]).toEqual([type, null]);
  }
});

test("an original whose text quotes Outlook.com's field is no complaint", () => {
  const quoted = ['Message-ID: <1@shop.example>', '', 'X-HmXmrOriginalRecipient: ann@outlook.com'];
  expect(attached(quoted)).toBeNull();
  // Its lines may end in LF alone.
  expect(attached([quoted.join('\n')])).toBeNull();
  const bounce = [
    'Content-Type: multipart/report; report-type=delivery-status; boundary=b',
    '',
    '--b',
    'Content-Type: message/delivery-status',
    '',
    'Reporting-MTA: dns; mx.receiver.example',
    '',
    'Final-Recipient: rfc822; ann@receiver.example',
    'Action: failed',
    'Status: 5.1.1',
    '--b',
    'Content-Type: message/rfc822',
    '',
    ...quoted,
    '--b--',
  ];
  const message = new InboundMessage(Buffer.from(bounce.join('\r\n')));
  expect(readReport(message)?.kind).toBe('bounce');
});

test('a feedback report is read as a complaint', () => {
  const lines = ['Content-Type: message/feedback-report', '', 'Feedback-Type: abuse'];
  const message = new InboundMessage(Buffer.from(lines.join('\r\n')));
  const report = parseArf(message);
  expect(report?.feedbackType).toBe('abuse');
  expect(readReport(message) as unknown).toEqual({ kind: 'complaint', report });
});

test("Outlook.com's field is looked for in the first 65,536 bytes of the original", () => {
  const at = (end: number): string[] | undefined => {
    const last = 'X-HmXmrOriginalRecipient: ann@outlook.com';
    const line = `X: ${'y'.repeat(995)}`;
    const before = Array.from({ length: 64 }, () => line);
    const left = end - 64 * (line.length + 2) - last.length;
    return attached([...before, 'Z:'.padEnd(left - 2, 'z'), last])?.recipients;
  };
  expect(at(65_536)).toEqual(['ann@outlook.com']);
  expect(at(65_537)).toEqual(['ann@outlook.co']);
});

const PATH = 'b-0192f3a47c117b3e9f20c1d2e3f4a5b6-0123456789abcdef@send.example.com';

test('all that is read of a complaint, of one that says nothing, and of one of Outlook.com', () => {
  const original = [`Return-Path: <${PATH}>`, 'Message-ID: <1@shop.example>', 'Feedback-ID: a:b'];
  const said = [
    'Feedback-Type: Fraud',
    'Feedback-Type: abuse',
    'User-Agent: A/1',
    'User-Agent: B/2',
  ];
  const more = ['Reported-Domain: a.example', 'Original-Rcpt-To: <x@a.example>'];
  expect(read([...said, ...more], original)).toEqual({
    messageId: '<1@shop.example>',
    feedbackId: 'a:b',
    returnPath: PATH,
    feedbackType: 'fraud',
    isComplaint: true,
    recipients: ['x@a.example'],
    returnPaths: [PATH],
    reportedDomain: 'a.example',
    userAgent: 'A/1',
  });
  const nothing = { messageId: null, feedbackId: null, returnPath: null, returnPaths: [] };
  expect(read(['Version: 1'])).toEqual({
    ...nothing,
    feedbackType: 'other',
    isComplaint: true,
    recipients: [],
    reportedDomain: null,
    userAgent: null,
  });
  expect(attached([...original, 'X-HmXmrOriginalRecipient: <x@outlook.com>'])).toEqual({
    messageId: '<1@shop.example>',
    feedbackId: 'a:b',
    returnPath: PATH,
    feedbackType: 'abuse',
    isComplaint: true,
    recipients: ['x@outlook.com'],
    returnPaths: [PATH],
    reportedDomain: null,
    userAgent: 'JMRP',
  });
});

test('a header that stands before the message that was reported is not the one reported', () => {
  const lines = [
    'From: staff@hotmail.com',
    'Content-Type: multipart/mixed; boundary=b',
    '',
    '--b',
    'Content-Type: text/rfc822-headers',
    '',
    'Message-ID: <other@shop.example>',
    '--b',
    'Content-Type: message/rfc822',
    '',
    'Message-ID: <1@shop.example>',
    'X-HmXmrOriginalRecipient: ann@outlook.com',
    '--b--',
  ];
  expect(parseArf(new InboundMessage(Buffer.from(lines.join('\r\n'))))).toMatchObject({
    messageId: '<1@shop.example>',
    recipients: ['ann@outlook.com'],
  });
});
