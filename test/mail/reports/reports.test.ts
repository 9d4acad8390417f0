/** A corpus of reports after the RFCs and the vendors' documentation: each is read as its manifest says. */
import { expect, test } from 'bun:test';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArf } from '../../../src/mail/reports/arf.ts';
import { parseDsn } from '../../../src/mail/reports/dsn.ts';
import { InboundMessage } from '../../../src/mail/reports/inbound-message.ts';

const FOLDER = join(import.meta.dir, 'samples');
const RETURN_PATH = 'b-0192f3a47c117b3e9f20c1d2e3f4a5b6-0123456789abcdef@send.example.com';
const MESSAGE_ID = '<0192f3a4-7c11-7b3e-9f20-000000000001@mail.example.com>';
const FEEDBACK_ID = 'acct:domain:mail:postrider';

const MANIFEST = readFileSync(join(FOLDER, 'manifest.tsv'), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => line.split('\t') as [file: string, expected: string, source: string]);

function read(file: string): InboundMessage {
  return new InboundMessage(readFileSync(join(FOLDER, `${file}.eml`)));
}

/** What was read, in the manifest's words. */
function summary(message: InboundMessage): string {
  const complaint = parseArf(message);
  if (complaint !== null) {
    const kind = complaint.isComplaint ? 'complaint' : 'other';
    return `arf ${complaint.feedbackType} ${kind} ${complaint.recipients[0] ?? '-'}`;
  }
  const report = parseDsn(message);
  const first = report?.recipients[0];
  if (report === null || first === undefined) return 'none';
  const { classification, action } = first;
  const isBounce = action === 'failed' || action === 'delayed';
  return [
    report.isStandard ? 'dsn' : 'plain',
    action,
    isBounce ? classification.class : '-',
    isBounce ? classification.subType : '-',
    isBounce && classification.isSuppressing ? 'suppresses' : 'keeps',
    first.finalRecipient ?? '-',
  ].join(' ');
}

test.each(MANIFEST)('%s: %s', (file, expected) => {
  expect(summary(read(file))).toBe(expected);
});

test('every file stands in the manifest with its source', () => {
  const files = readdirSync(FOLDER).filter((name) => name.endsWith('.eml'));
  expect(MANIFEST.map(([file]) => `${file}.eml`).toSorted()).toEqual(files.toSorted());
  expect(MANIFEST.length).toBeGreaterThanOrEqual(60);
  for (const [, , source] of MANIFEST) expect(source.length).toBeGreaterThan(8);
});

test.each(MANIFEST.filter(([, expected]) => !expected.startsWith('none')))(
  'the message behind %s is found',
  (file) => {
    const message = read(file);
    const report = parseArf(message) ?? parseDsn(message);
    const text = Buffer.from(message.bytes).toString('latin1');
    expect(report).not.toBeNull();
    if (text.includes(RETURN_PATH)) expect(report?.returnPaths).toEqual([RETURN_PATH]);
    if (/^Return-Path: <b-/m.test(text)) expect(report?.returnPath).toBe(RETURN_PATH);
    if (text.includes(`\nMessage-ID: ${MESSAGE_ID}`)) expect(report?.messageId).toBe(MESSAGE_ID);
    if (text.includes('\nFeedback-ID:')) expect(report?.feedbackId).toBe(FEEDBACK_ID);
    expect(
      report?.returnPaths.length === 0 && report.messageId === null && !file.startsWith('arf-'),
    ).toBe(false);
  },
);

test('a report of several recipients tells each', () => {
  const report = parseDsn(read('postfix-mixed'));
  expect(
    report?.recipients.map(({ finalRecipient, action, classification }) => [
      finalRecipient,
      action,
      classification.class,
      action === 'failed' && classification.isSuppressing,
    ]),
  ).toEqual([
    ['ann@receiver.example', 'failed', 'recipient', true],
    ['bob@receiver.example', 'failed', 'mailbox_full', false],
    ['cid@receiver.example', 'delayed', 'network', false],
    ['dot@receiver.example', 'delivered', expect.any(String), false],
  ]);
});

test('of a report at most 50 recipients are read', () => {
  const groups = Array.from(
    { length: 499 },
    (_, n) => `Final-Recipient: rfc822; r${n}@receiver.example\r\nAction: failed\r\n`,
  );
  const text = `Content-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; x\r\n\r\n${groups.join('\r\n')}`;
  const report = parseDsn(new InboundMessage(Buffer.from(text)));
  expect(report?.recipients).toHaveLength(50);
  expect(report?.recipients[49]?.finalRecipient).toBe('r49@receiver.example');
});

test("the receiver's words are kept", () => {
  const report = parseDsn(read('postfix-unknown-user'));
  expect(report?.recipients[0]).toMatchObject({
    originalRecipient: 'ann@receiver.example',
    status: '5.1.1',
    remoteMta: 'mx2.receiver.example',
    diagnostic:
      '550 5.1.1 <ann@receiver.example>: Recipient address rejected: User unknown in virtual mailbox table',
  });
  expect(parseDsn(read('qmail-remote-reply'))?.recipients[0]?.diagnostic).toContain(
    '550 5.1.1 <ann@receiver.example>',
  );
  expect(parseDsn(read('icloud-over-quota'))?.envelopeId).toBe('0MN1234567');
});

test('a recipient without an action is read by its status', () => {
  const text = [
    'Content-Type: message/delivery-status',
    '',
    ...['5.1.1', '4.4.1', '2.0.0', 'none'].flatMap((status) => [
      `Final-Recipient: rfc822; a@example.com`,
      `Status: ${status}`,
      '',
    ]),
  ].join('\r\n');
  const report = parseDsn(new InboundMessage(Buffer.from(text)));
  expect(report?.recipients.map(({ action }) => action)).toEqual([
    'failed',
    'delayed',
    'delivered',
    'failed',
  ]);
});

test('an expired message is a transient bounce, not a permanent one', () => {
  for (const file of ['postfix-expired', 'exchange-online-expired', 'rfc3464-example']) {
    const first = parseDsn(read(file))?.recipients[0];
    expect([file, first?.action, first?.classification.bounceType]).toEqual([
      file,
      'failed',
      'Transient',
    ]);
  }
});

test('a bounce in plain words tells of a delay in its subject or in its text', () => {
  const action = (subject: string, said: string): string | undefined => {
    const text = [
      'From: Mail Delivery System <mailer-daemon@receiver.example>',
      `Subject: ${subject}`,
      '',
      'This message was created automatically by mail delivery software.',
      said,
      '',
      '  ann@receiver.example',
      '    450 4.2.1 try again',
    ].join('\r\n');
    return parseDsn(new InboundMessage(Buffer.from(text)))?.recipients[0]?.action;
  };
  const failed = 'A message that you sent could not be delivered to its recipient.';
  expect(action('Mail failure', failed)).toBe('failed');
  expect(action('Warning: message delayed 24 hours', failed)).toBe('delayed');
  expect(action('=?utf-8?q?message_is_delayed?=', failed)).toBe('delayed');
  const late = 'A message that you sent has not yet been delivered to its recipient.';
  expect(action('Mail', late)).toBe('delayed');
});

test('a delivery status that speaks of no recipient is no report', () => {
  for (const groups of [
    '',
    'Arrival-Date: Sat, 21 Nov 2026 00:00:00 +0000\r\n',
    '\r\nX-Other: x\r\n',
  ]) {
    const text = `Content-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; x\r\n${groups}`;
    expect(parseDsn(new InboundMessage(Buffer.from(text)))).toBeNull();
  }
});
