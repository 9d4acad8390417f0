/** Delivery reports: what is read of each recipient's fields, in which order of trust, and how it is classified. */
import { expect, test } from 'bun:test';

import { parseDsn, type DsnReport } from '../../../src/mail/reports/dsn.ts';
import { InboundMessage } from '../../../src/mail/reports/inbound-message.ts';

function parse(lines: readonly string[]): DsnReport | null {
  return parseDsn(new InboundMessage(Buffer.from(lines.join('\r\n'))));
}

/** The one recipient of a report with these fields. */
function one(...fields: string[]): NonNullable<DsnReport['recipients'][0]> {
  const report = parse([
    'Content-Type: message/delivery-status',
    '',
    'Reporting-MTA: dns; mx.a.example',
    '',
    ...fields,
  ]);
  if (report?.recipients.length !== 1 || report.recipients[0] === undefined) {
    throw new Error('not one recipient');
  }
  return report.recipients[0];
}

const FINAL = 'Final-Recipient: rfc822; ann@a.example';

test.each(['message/delivery-status', 'message/global-delivery-status', 'MESSAGE/Delivery-Status'])(
  'a part of the type %s is a report of the standard',
  (type) => {
    const report = parse([`Content-Type: ${type}`, '', 'Original-Envelope-ID: e1', '', FINAL]);
    expect(report).toMatchObject({ isStandard: true, envelopeId: 'e1' });
    expect(report?.recipients).toHaveLength(1);
  },
);

test.each([FINAL, 'Action: failed', 'Status: 5.1.1'])('%s alone makes a recipient', (field) => {
  expect(one(field).action).toBe('failed');
});

test.each([
  ['failed', '5.0.0', 'failed'],
  ['delayed', '5.0.0', 'delayed'],
  ['delivered', '5.0.0', 'delivered'],
  ['relayed', '5.0.0', 'relayed'],
  ['expanded', '5.0.0', 'expanded'],
  [' Failed (by rule)', '2.0.0', 'failed'],
  ['failure', '4.1.1', 'delayed'],
  ['exploded', '2.1.5', 'delivered'],
  ['', '5.1.1', 'failed'],
  ['', '4.2.2', 'delayed'],
  ['', '5.2.4', 'failed'],
] as const)('the action %j with the status %s is read as %s', (said, status, action) => {
  expect(one(FINAL, `Action: ${said}`, `Status: ${status}`).action).toBe(action);
});

test('addresses, host and words are taken without their types', () => {
  expect(
    one(
      FINAL,
      'Original-Recipient: RFC822;<bo@b.example>',
      'X-Actual-Recipient: rfc822; cy@c.example',
      'Remote-MTA: dns; mx.b.example',
      'Diagnostic-Code: X-Postfix; host said: 550 5.7.1 no',
    ),
  ).toMatchObject({
    finalRecipient: 'ann@a.example',
    originalRecipient: 'bo@b.example',
    remoteMta: 'mx.b.example',
    diagnostic: 'host said: 550 5.7.1 no',
  });
  expect(one(FINAL, 'X-Actual-Recipient: rfc822; cy@c.example').originalRecipient).toBe(
    'cy@c.example',
  );
  expect(one('Action: failed')).toMatchObject({
    finalRecipient: null,
    originalRecipient: null,
    remoteMta: null,
    status: null,
    diagnostic: '',
  });
});

test.each([
  ['smtp;550 no', '550 no'],
  ['550 no such user; bye', '550 no such user; bye'],
  [`${'t'.repeat(20)}; 550 no`, '550 no'],
  [`${'t'.repeat(21)}; 550 no`, `${'t'.repeat(21)}; 550 no`],
])('of the words %j, or of a host, a type in front is left out', (said, words) => {
  const { diagnostic, remoteMta } = one(FINAL, `Diagnostic-Code: ${said}`, `Remote-MTA: ${said}`);
  expect([diagnostic, remoteMta]).toEqual([words, words]);
});

test.each(['message/delivery-status2', 'x-message/delivery-status', 'text/delivery-status'])(
  'a part of the type %s is no report',
  (type) => expect(parse([`Content-Type: ${type}`, '', FINAL, 'Action: failed'])).toBeNull(),
);

test.each([
  ['5.1.1', '5.1.1'],
  ['5.1.1 (bad destination mailbox address)', '5.1.1'],
  ['5.999.999', '5.999.999'],
  ['3.1.1', null],
  ['5.1234.1', null],
  ['5.1.1234', null],
  ['15.1.1', null],
  ['4.5.1.1', null],
  ['5.1.1.', '5.1.1'],
  ['5.1', null],
])('the status %j is %j', (said, status) => {
  expect(one(FINAL, `Status: ${said}`).status).toBe(status);
});

test.each([
  // A generic status: the enhanced code in the remote server's words counts.
  ['5.0.0', 'smtp; 550 5.2.2 over', 'mailbox_full'],
  ['4.0.0', 'smtp; 452 4.2.2 over', 'mailbox_full'],
  ['5.0.0', 'smtp; 550 5.2.2 so', 'mailbox_full'],
  ['none', 'smtp; 550 5.2.2 so', 'mailbox_full'],
  // A status that tells counts before the words.
  ['5.2.2', 'smtp; 550 5.1.1 see above', 'mailbox_full'],
  ['5.1.1', 'smtp; 550 see above', 'recipient'],
  // Words about the mailbox without any code: the reporter has given up.
  ['none', 'smtp; no such user', 'recipient'],
] as const)('the status %s with the words %j is of the class %s', (status, words, kind) => {
  const { classification } = one(FINAL, `Status: ${status}`, `Diagnostic-Code: ${words}`);
  expect(classification.class).toBe(kind);
});

test.each([
  // An address that cannot be read does not hide the other one.
  ['Original-Recipient: rfc822; nobody', 'cy@c.example'],
  ['Original-Recipient:', 'cy@c.example'],
  ['Original-Recipient: rfc822; bo@b.example', 'bo@b.example'],
])('%s counts before X-Actual-Recipient: %s', (field, address) => {
  const actual = 'X-Actual-Recipient: rfc822; cy@c.example';
  expect(one(FINAL, field, actual).originalRecipient).toBe(address);
});

test.each([
  // No more is known than that it failed, or is late.
  ['5.0.0', 'smtp; sorry', 'Permanent', 'unknown', false],
  ['4.0.0', 'smtp; sorry', 'Transient', 'unknown', false],
  ['none', 'smtp; sorry', 'Undetermined', 'unknown', false],
  // A server that may take it later says nothing of the address for good.
  ['none', 'smtp; 450 no such user', 'Transient', 'recipient', false],
  ['4.1.1', 'smtp; no such user', 'Transient', 'recipient', false],
  ['none', 'smtp; 550 no such user', 'Permanent', 'recipient', true],
  ['5.1.1', 'smtp; no such user', 'Permanent', 'recipient', true],
] as const)('the status %s with %j is %s, %s', (status, words, bounceType, kind, isSuppressing) => {
  const { classification } = one(FINAL, `Status: ${status}`, `Diagnostic-Code: ${words}`);
  expect(classification).toMatchObject({ bounceType, class: kind, isSuppressing });
});

test('words about the mailbox without any code make a permanent bounce', () => {
  expect(one(FINAL, 'Diagnostic-Code: smtp; no such user').classification.bounceType).toBe(
    'Permanent',
  );
});

test('numbers that are no reply code do not classify', () => {
  const type = (words: string): string =>
    one(FINAL, `Diagnostic-Code: smtp; ${words}`).classification.bounceType;
  expect(type('550-first line')).toBe('Permanent');
  expect(type('host said: 550')).toBe('Permanent');
  expect(type('451: later')).toBe('Transient');
  expect(type('waited 1550 seconds')).toBe('Undetermined');
  expect(type('from 10.0.0.550 port 25')).toBe('Undetermined');
  expect(type('took 550ms')).toBe('Undetermined');
});

test('the original of a plain bounce is the attached one, else the copy in its text', () => {
  const bounce = (type: string, ...rest: string[]): DsnReport | null =>
    parse([
      'From: MAILER-DAEMON@mx.a.example',
      `Content-Type: ${type}`,
      '',
      ...(type.startsWith('multipart') ? ['--b', 'Content-Type: text/plain', ''] : []),
      'Your message could not be delivered.',
      '',
      'ann@a.example: 550 5.1.1 no such user',
      '',
      '--- Original message follows',
      '',
      'Return-Path: <in-text@shop.example>',
      'Message-ID: <text@shop.example>',
      '',
      ...rest,
    ]);
  expect(bounce('text/plain')).toMatchObject({
    isStandard: false,
    messageId: '<text@shop.example>',
    returnPath: 'in-text@shop.example',
    envelopeId: null,
    recipients: [
      {
        action: 'failed',
        finalRecipient: 'ann@a.example',
        originalRecipient: null,
        status: '5.1.1',
        remoteMta: null,
        classification: { class: 'recipient', bounceType: 'Permanent' },
      },
    ],
  });
  const part = ['--b', 'Content-Type: message/rfc822', '', 'Message-ID: <att@shop.example>', ''];
  expect(bounce('multipart/mixed; boundary=b', ...part, '--b--')?.messageId).toBe(
    '<att@shop.example>',
  );
});

test('all that is read of a report: each recipient in its order, with its own words', () => {
  const path = 'b-0192f3a47c117b3e9f20c1d2e3f4a5b6-0123456789abcdef@send.example.com';
  const report = parse([
    'Content-Type: multipart/report; boundary=b',
    '',
    '--b',
    'Content-Type: text/plain',
    '',
    'bo@b.example: 452 4.2.2 full',
    '--b',
    'Content-Type: message/delivery-status',
    '',
    'Original-Envelope-ID: e1',
    'Original-Envelope-ID: e2',
    '',
    FINAL,
    'Original-Recipient: rfc822; cy@c.example',
    'Action: failed',
    'Status: 5.1.1',
    'Remote-MTA: dns; mx.a.example',
    'Diagnostic-Code: smtp; 550 5.1.1 no such user',
    '',
    'Arrival-Date: x',
    '',
    'Final-Recipient: rfc822; bo@b.example',
    'Action: delayed',
    '--b',
    'Content-Type: text/rfc822-headers',
    '',
    `Return-Path: <${path}>`,
    'Message-ID: <1@shop.example>',
    'Feedback-ID: a:b',
    '--b--',
  ]);
  const classification = { subType: 'NoEmail', hint: null, provider: null } as const;
  expect(report).toEqual({
    messageId: '<1@shop.example>',
    feedbackId: 'a:b',
    returnPath: path,
    isStandard: true,
    recipients: [
      {
        action: 'failed',
        finalRecipient: 'ann@a.example',
        originalRecipient: 'cy@c.example',
        status: '5.1.1',
        diagnostic: '550 5.1.1 no such user',
        remoteMta: 'mx.a.example',
        classification: {
          ...classification,
          class: 'recipient',
          isPermanent: true,
          bounceType: 'Permanent',
          isSuppressing: true,
        },
      },
      {
        action: 'delayed',
        finalRecipient: 'bo@b.example',
        originalRecipient: null,
        status: null,
        diagnostic: '452 4.2.2 full',
        remoteMta: null,
        classification: {
          ...classification,
          class: 'mailbox_full',
          subType: 'MailboxFull',
          isPermanent: false,
          bounceType: 'Transient',
          isSuppressing: false,
        },
      },
    ],
    returnPaths: [path],
    envelopeId: 'e1',
  });
});

test('a report that names nobody is none', () => {
  expect(parse(['Content-Type: message/delivery-status', '', 'Reporting-MTA: dns; a'])).toBeNull();
  expect(parse(['Content-Type: message/delivery-status', '', ''])).toBeNull();
});

test('a report that names nobody is none, whatever its text says', () => {
  const lines = [
    'From: MAILER-DAEMON@mx.a.example',
    'Content-Type: multipart/report; boundary=b',
    '',
    '--b',
    '',
    'Your message could not be delivered.',
    '',
    'ann@a.example: 550 5.1.1 no such user',
    '--b',
    'Content-Type: message/delivery-status',
    '',
    'Reporting-MTA: dns; mx.a.example',
    '--b--',
  ];
  expect(parse(lines)).toBeNull();
});

test('an envelope id is the one of the report, not one of a recipient', () => {
  const lines = ['Content-Type: message/delivery-status', '', 'Reporting-MTA: dns; mx', ''];
  const report = parse([...lines, FINAL, 'Original-Envelope-ID: e2']);
  expect([report?.envelopeId, report?.recipients.length]).toEqual([null, 1]);
});
