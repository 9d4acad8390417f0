/**
 * Nothing can be added to a signed message (docs/decisions.md D142): with any field that people see or programs act on,
 * added for the first time or once more, neither OpenDKIM nor dkimpy takes the signature.
 */
import { expect, test } from 'bun:test';
import { compose, type ComposeInput } from '../../../src/mail/compose/compose.ts';
import { repairSubmission } from '../../../src/mail/compose/repair.ts';
import { DkimSigner, generateDkimKey } from '../../../src/mail/dkim/dkim.ts';
import { verifyAllWithDkimpy, verifyAllWithOpendkim } from '../../rig/dkim-verifier.ts';
import { describeWith } from '../../rig/programs.ts';
import type { PublishedRecord } from '../../rig/world.ts';

const FIELDS = [
  'From',
  'To',
  'Cc',
  'Reply-To',
  'Subject',
  'Date',
  'Message-ID',
  'Sender',
  'In-Reply-To',
  'References',
  'MIME-Version',
  'Content-Type',
  'Content-Transfer-Encoding',
  'Content-Disposition',
  'Content-ID',
  'Content-Description',
  'Feedback-ID',
  'List-Id',
  'List-Help',
  'List-Subscribe',
  'List-Unsubscribe',
  'List-Unsubscribe-Post',
  'List-Post',
  'List-Owner',
  'List-Archive',
  'Auto-Submitted',
  'Disposition-Notification-To',
];

const key = await generateDkimKey();
const signer = new DkimSigner({
  domain: 'example.com',
  selector: 'pr1',
  privateKeyPem: key.privateKeyPem,
});
const RECORDS: PublishedRecord[] = [
  {
    type: 'TXT',
    name: 'pr1._domainkey.example.com',
    value: `v=DKIM1; k=rsa; p=${key.publicKeyBase64}`,
  },
];

const INPUT: ComposeInput = {
  from: 'Acme <hello@example.com>',
  to: ['ann@receiver.example'],
  cc: [],
  replyTo: [],
  subject: 'Your receipt',
  html: '<p>Thank you.</p>',
  text: 'Thank you.',
  headers: [],
  attachments: [],
  messageId: '<1@mail.example.com>',
  date: new Date(0),
  feedbackId: 'b-1:2:3:mail.example.com',
};

/** Composed with few fields and with many, and submitted with few. */
async function messages(): Promise<[name: string, message: Buffer][]> {
  const submitted = repairSubmission(
    Buffer.from('From: hello@example.com\r\nSubject: Hi\r\n\r\nHello.\r\n'),
    { messageId: '<2@mail.example.com>', date: new Date(0), ownNames: [] },
  );
  if ('error' in submitted) throw new Error(submitted.error);
  const many = ['References', 'In-Reply-To', 'List-Id', 'List-Unsubscribe-Post'];
  return [
    ['composed', await compose(INPUT)],
    [
      'composed with more',
      await compose({
        ...INPUT,
        cc: ['bob@receiver.example'],
        replyTo: ['re@example.com'],
        headers: many.map((name) => [name, '<x@example.com>']),
      }),
    ],
    ['submitted', submitted.bytes],
  ];
}

const signed = async (message: Buffer): Promise<Buffer> =>
  Buffer.concat([Buffer.from(await signer.sign(message)), message]);

describeWith(['opendkim', 'python3-dkim'], 'a signed message', () => {
  test('verifies with no field added in front or behind, by OpenDKIM and by dkimpy', async () => {
    const names: string[] = [];
    const forged: Buffer[] = [];
    const honest: Buffer[] = [];
    for (const [name, message] of await messages()) {
      const whole = await signed(message);
      honest.push(whole);
      const end = whole.indexOf('\r\n\r\n') + 2;
      for (const field of FIELDS) {
        const line = Buffer.from(`${field}: added <added@evil.example>\r\n`);
        names.push(`${name}: ${field} in front`, `${name}: ${field} behind`);
        forged.push(Buffer.concat([line, whole]));
        forged.push(Buffer.concat([whole.subarray(0, end), line, whole.subarray(end)]));
      }
    }
    expect(await verifyAllWithOpendkim(honest, RECORDS)).toEqual(honest.map(() => true));
    expect(await verifyAllWithDkimpy(honest, RECORDS)).toEqual(honest.map(() => true));
    const byOpendkim = await verifyAllWithOpendkim(forged, RECORDS);
    expect(names.filter((_, at) => byOpendkim[at] !== false)).toEqual([]);
    const byDkimpy = await verifyAllWithDkimpy(forged, RECORDS);
    expect(names.filter((_, at) => byDkimpy[at] !== false)).toEqual([]);
  }, 60_000);

  test('stays valid with what servers and forwarders put in front', async () => {
    const trace = [
      'Received: from a by b; Thu, 1 Jan 1970 00:00:00 +0000',
      'Return-Path: <x@y.example>',
      'Delivered-To: x@y.example',
      'Authentication-Results: mx.receiver.example; dkim=pass',
      'X-Spam-Status: No',
      'Resent-From: ann@receiver.example',
      'Resent-To: bob@receiver.example',
    ];
    const all = (await messages()).map(async ([, message]) =>
      Buffer.concat([Buffer.from(`${trace.join('\r\n')}\r\n`), await signed(message)]),
    );
    const passed = await Promise.all(all);
    expect(await verifyAllWithOpendkim(passed, RECORDS)).toEqual(passed.map(() => true));
    expect(await verifyAllWithDkimpy(passed, RECORDS)).toEqual(passed.map(() => true));
  }, 60_000);
});

test('what a forwarder puts in front is signed where it occurs, and as often', async () => {
  const names = ['From', 'Sender', 'To', 'Cc', 'Date', 'Message-ID'].map(
    (name) => `Resent-${name}`,
  );
  const fields = [...names, ...names.slice(0, 1)].map((name) => `${name}: x`);
  const field = await signer.sign(`${fields.join('\r\n')}\r\nFrom: a@example.com\r\n\r\nx\r\n`);
  const listed = /\bh=([^;]+);/
    .exec(field.replaceAll(/\r\n\s/g, ''))?.[1]
    ?.toLowerCase()
    .split(':');
  const counts = names.map((name) => listed?.filter((one) => one === name.toLowerCase()).length);
  expect(counts).toEqual([2, 1, 1, 1, 1, 1]);
  const without = await signer.sign('From: a@example.com\r\n\r\nx\r\n');
  expect(without.toLowerCase()).not.toContain('resent-');
});
