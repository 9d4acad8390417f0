/**
 * SMTP smuggling on the way out (CVE-2023-51764, -51765, -51766; smtpsmuggling.com): whatever stands in a
 * text field or a submitted message leaves as one message, also for a receiver that takes bare line ends
 * for an end of data, and with a signature over exactly those bytes.
 */
import { expect, test } from 'bun:test';
import { compose, type ComposeInput } from '../../src/mail/compose/compose.ts';
import { verifyOwn } from '../../src/mail/dkim/proof.ts';
import { DkimSigner, generateDkimKey } from '../../src/mail/dkim/dkim.ts';
import { repairSubmission } from '../../src/mail/compose/repair.ts';
import { SMUGGLING_SEQUENCES } from '../rig/smuggling-sequences.ts';

const COMMANDS =
  'MAIL FROM:<evil@example.net>\r\nRCPT TO:<victim@example.org>\r\nDATA\r\nFrom: evil\r\n\r\nx';

const PLAIN: ComposeInput = {
  from: 'Ann <ann@example.com>',
  to: ['bob@example.org'],
  cc: [],
  replyTo: [],
  subject: 's',
  html: '<p>h</p>',
  text: 't',
  headers: [['X-Custom', 'v']],
  attachments: [
    { filename: 'f.txt', contentType: 'text/plain', contentId: null, content: Buffer.from('f') },
  ],
  messageId: '<1@mail.example.com>',
  date: new Date(0),
  feedbackId: null,
};

const key = await generateDkimKey();
const signer = new DkimSigner({
  domain: 'example.com',
  selector: 's',
  privateKeyPem: key.privateKeyPem,
});

/** The bytes of DATA: dots doubled as RFC 5321 section 4.5.2 asks, then the end of data. */
function asData(message: string): string {
  return `${message.replace(/^\./gm, '..')}.\r\n`;
}

async function expectOneMessage(bytes: Buffer): Promise<void> {
  const text = bytes.toString('latin1');
  expect(text).not.toMatch(/\r(?!\n)|(?<!\r)\n|\0/);
  const data = asData(text);
  for (const sequence of SMUGGLING_SEQUENCES.slice(0, 8)) {
    const at = data.indexOf(sequence);
    // The true end holds some of them.
    expect([sequence, at === -1 || at >= data.length - 5]).toEqual([sequence, true]);
  }
  expect(data.indexOf('\r\n.\r\n')).toBe(data.length - 5);
  const signed = Buffer.concat([Buffer.from(await signer.sign(bytes)), bytes]);
  const proof = await verifyOwn(signed, async () => [`v=DKIM1; p=${key.publicKeyBase64}`]);
  expect(proof).toEqual({ isProven: true, reason: 'pass' });
}

test.each(SMUGGLING_SEQUENCES.map((sequence) => [sequence]))('%j', async (sequence) => {
  const evil = `x${sequence}${COMMANDS}`;
  const file = {
    filename: 'f',
    contentType: 'text/plain',
    contentId: null,
    content: Buffer.from(evil),
  };
  const carried = [
    { ...PLAIN, html: evil },
    { ...PLAIN, text: evil },
    { ...PLAIN, html: null, text: evil, attachments: [] },
    { ...PLAIN, attachments: [file] },
    { ...PLAIN, attachments: [{ ...file, contentType: 'message/rfc822' }] },
  ];
  for (const input of carried) await expectOneMessage(await compose(input));
  const refused = [
    { ...PLAIN, subject: evil },
    { ...PLAIN, from: `${evil} <ann@example.com>` },
    { ...PLAIN, to: [`bob@example.org${sequence}`] },
    { ...PLAIN, headers: [['X-Custom', evil]] as [string, string][] },
    { ...PLAIN, attachments: [{ ...file, filename: evil }] },
  ];
  for (const input of refused) expect(compose(input)).rejects.toThrow(/must not contain/);
  const submitted = Buffer.from(`From: ann@example.com\r\nSubject: s\r\n\r\n${evil}\r\n`, 'latin1');
  const result = repairSubmission(submitted, {
    messageId: '<1@x.example>',
    date: new Date(0),
    ownNames: [],
  });
  if ('error' in result) throw new Error(result.error);
  await expectOneMessage(result.bytes);
});
