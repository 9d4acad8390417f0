/** Messages with bytes above 127, for servers that do not take them: the same content, or none. */
import { expect, test } from 'bun:test';
import PostalMime from 'postal-mime';

import { hasLongLine, isSevenBit } from '../../../src/mail/mime/lines.ts';
import { toSevenBit } from '../../../src/mail/compose/seven-bit.ts';

const HEAD = ['From: ann@example.com', 'Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?='];

function sevenBit(lines: string[]): Buffer | null {
  return toSevenBit(Buffer.from([...HEAD, ...lines, ''].join('\r\n'), 'utf8'));
}

async function parsed(lines: string[]) {
  const bytes = sevenBit(lines);
  if (bytes === null) throw new Error('it cannot be written in ASCII');
  expect(isSevenBit(bytes)).toBe(true);
  expect(hasLongLine(bytes, 78)).toBe(false);
  expect(bytes.toString().match(/^content-transfer-encoding: 8bit/gim)).toBeNull();
  return { text: bytes.toString(), mail: await PostalMime.parse(bytes) };
}

const TEXT = ['Content-Type: text/plain; charset=utf-8', 'Content-Transfer-Encoding: 8bit', ''];

test('one part: its encoding is said once, with MIME-Version', async () => {
  const { text, mail } = await parsed(['MIME-Version: 1.0', ...TEXT, 'Grüße = 💌', '.', 'end']);
  expect(mail.text).toBe('Grüße = 💌\n.\nend\n');
  expect(mail.subject).toBe('Grüße');
  expect(text.match(/^content-transfer-encoding: quoted-printable\r$/gim)).toHaveLength(1);
  expect(text.match(/^mime-version:/gim)).toHaveLength(1);
});

test('without any MIME field', async () => {
  const { text } = await parsed(['', 'Grüße']);
  expect(text).toContain('MIME-Version: 1.0\r\n');
  expect(text).toContain('\r\n\r\nGr=C3=BC=C3=9Fe\r\n');
});

test('only the parts that need it, bytes as they were', async () => {
  const { text, mail } = await parsed([
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary=b',
    '',
    '--b',
    ...TEXT,
    'Grüße',
    '--b',
    'Content-Type: text/html',
    '',
    '<b>plain</b>',
    '--b',
    'Content-Type: application/octet-stream; name=x',
    'Content-Disposition: attachment; filename=x',
    'Content-Transfer-Encoding: 8bit',
    '',
    'ü\x01ß',
    '--b--',
  ]);
  expect(mail.text).toStartWith('Grüße\n');
  expect(text).toContain('--b\r\nContent-Type: text/html\r\n\r\n<b>plain</b>\r\n--b\r\n');
  const content = Buffer.from(mail.attachments[0]?.content as ArrayBuffer).toString();
  expect(content).toBe('ü\x01ß');
});

test.each([
  ['an attached message', ['Content-Type: message/rfc822', '', 'Subject: x', '', 'Grüße']],
  [
    'a signed one',
    ['Content-Type: multipart/signed; boundary=s', '', '--s', ...TEXT, 'Grüße', '--s--'],
  ],
  ['the header', ['Content-Type: text/plain; name="Grüße"', '', 'plain']],
])('%s cannot be changed', (_what, lines) => {
  expect(sevenBit(lines)).toBeNull();
});
