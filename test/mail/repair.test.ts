/** Submitted messages: sound ones keep their bytes, the rest is mended, and nothing can be read in two ways. */
import { describe, expect, test } from 'bun:test';
import PostalMime from 'postal-mime';
import { formatAddress } from '../../src/mail/address.ts';
import { compose } from '../../src/mail/compose.ts';
import { isSevenBit, longestLine } from '../../src/mail/lines.ts';
import { repairSubmission, type Submission } from '../../src/mail/repair.ts';
import { randomInput, seeded } from './random.ts';

const DEFAULTS = { messageId: '<new@mail.example.com>', date: new Date('2026-11-21T01:02:03Z') };

function repair(text: string | Buffer): Submission {
  const bytes = typeof text === 'string' ? Buffer.from(text, 'latin1') : text;
  const result = repairSubmission(bytes, DEFAULTS);
  if ('error' in result) throw new Error(result.error);
  return result;
}

function refusal(text: string): string {
  const result = repairSubmission(Buffer.from(text, 'latin1'), DEFAULTS);
  return 'error' in result ? result.error : 'taken';
}

const SOUND = [
  'Received: from app.example.com by mail.example.com; Sat, 21 Nov 2026 00:00:00 +0000',
  'From: "Ann, A." <ann@example.com>',
  'To: =?utf-8?q?J=C3=BCrgen?= <j@example.org>,',
  '\tbob@example.org',
  'Subject: =?utf-8?b?w7w=?=',
  'Date: Sat, 21 Nov 2026 00:00:00 +0000',
  'Message-ID: <old@app.example.com>',
  'MIME-Version: 1.0',
  'Content-Type: multipart/signed; protocol="application/pgp-signature"; boundary="s"',
  '',
  'preamble  ',
  '--s',
  'Content-Type: text/plain; charset=iso-8859-1',
  'Content-Transfer-Encoding: 8bit',
  '',
  'caf\xe9 with trailing space \t',
  '.',
  '--s',
  'Content-Type: application/pgp-signature',
  '',
  '-----BEGIN PGP SIGNATURE-----',
  '--s--',
  'epilogue',
  '',
].join('\r\n');

test('a sound message keeps every byte', () => {
  const result = repair(SOUND);
  expect(result.bytes.toString('latin1')).toBe(SOUND);
  expect(result).toMatchObject({
    from: { name: 'Ann, A.', local: 'ann', domain: 'example.com' },
    subject: 'ü',
    messageId: '<old@app.example.com>',
    tags: [],
    idempotencyKey: null,
    wantsUnsubscribe: false,
  });
  expect(result.to.map(formatAddress)).toEqual(['Jürgen <j@example.org>', 'bob@example.org']);
});

test('200 messages of our own composer keep every byte', async () => {
  for (let seed = 30_000; seed < 30_200; seed += 1) {
    const bytes = await compose(randomInput(seeded(seed), seed));
    const result = repair(bytes);
    expect([seed, result.bytes.equals(bytes)]).toEqual([seed, true]);
  }
});

test('what is missing is added at the end of the header', () => {
  expect(repair('From: a@example.com\nSubject: x\n\nbody').bytes.toString()).toBe(
    [
      'From: a@example.com',
      'Subject: x',
      'Date: Sat, 21 Nov 2026 01:02:03 +0000',
      'Message-ID: <new@mail.example.com>',
      'To: undisclosed-recipients:;',
      '',
      'body',
      '',
    ].join('\r\n'),
  );
});

test('fields for the service and for nobody are removed, and read', () => {
  const result = repair(
    [
      'Return-Path: <x@example.com>',
      'From: a@example.com',
      'To: b@example.org',
      'BCC: secret@example.org,',
      ' other@example.org',
      'Resent-Bcc: third@example.org',
      'Resend-Idempotency-Key: key-1',
      'X-Tag-Category: welcome',
      'x-tag-Campaign_2: autumn',
      'X-Postrider-Unsubscribe: yes',
      'X-Tagged: stays',
      '',
      'body',
      '',
    ].join('\r\n'),
  );
  expect(result.bytes.toString()).not.toMatch(
    /bcc|secret|other@|third|idempotency|x-tag-|unsubscribe|return-path/i,
  );
  expect(result.bytes.toString()).toContain('X-Tagged: stays\r\n');
  expect(result.idempotencyKey).toBe('key-1');
  expect(result.wantsUnsubscribe).toBe(true);
  expect(result.tags).toEqual([
    { name: 'Category', value: 'welcome' },
    { name: 'Campaign_2', value: 'autumn' },
  ]);
});

describe.each([
  ['none', 'Subject: x\r\n\r\n'],
  ['empty', 'From:\r\n\r\n'],
  ['two fields', 'From: a@example.com\r\nFrom: b@example.com\r\n\r\n'],
  ['two fields, one odd', 'From: a@example.com\r\nFrom : b@example.com\r\n\r\n'],
  ['two addresses', 'From: a@example.com, b@example.com\r\n\r\n'],
  ['a group', 'From: g: a@example.com, b@example.com;\r\n\r\n'],
  ['two angles', 'From: <a@example.com> <b@example.com>\r\n\r\n'],
  ['a route', 'From: <@x.example:a@example.com>\r\n\r\n'],
  ['no domain', 'From: Ann <ann>\r\n\r\n'],
  ['an address literal', 'From: a@[127.0.0.1]\r\n\r\n'],
])('From with %s', (_, text) => {
  test('is refused', () => {
    expect(refusal(text)).toBe('must have exactly one From field with exactly one address');
  });
});

test('an encoded word in From is a name, never an address', () => {
  const word = Buffer.from('x <evil@example.net>, y').toString('base64');
  const result = repair(`From: =?utf-8?b?${word}?= <a@example.com>\r\n\r\nx`);
  expect(result.from).toEqual({
    name: 'x <evil@example.net>, y',
    local: 'a',
    domain: 'example.com',
  });
});

test('a From with comments or raw 8-bit text is written anew', () => {
  expect(repair('From: a@example.com (Ann)\r\n\r\nx').bytes.toString()).toMatch(
    /^From: a@example\.com\r\n/,
  );
  const raw = Buffer.from(
    'From: J\u00fcrgen <a@example.com>\r\nSubject: gr\u00fc\u00dfe\r\n\r\nx',
    'utf8',
  );
  const result = repair(raw);
  const header = result.bytes.subarray(0, result.bytes.indexOf('\r\n\r\n'));
  expect(isSevenBit(header)).toBe(true);
  expect(result.from.name).toBe('Jürgen');
  expect(result.subject).toBe('grüße');
});

test('a From whose name looks like an address is written with quotation marks', () => {
  expect(repair('From: x@evil.example <a@example.com>\r\n\r\nx').bytes.toString()).toMatch(
    /^From: "x@evil\.example" <a@example\.com>\r\n/,
  );
});

test('doubled fields become one', () => {
  const text = repair(
    'From: a@example.com\r\nTo: b@x.example\r\nTo: c@x.example\r\nSubject: one\r\nSubject: two\r\nDate: Sat, 21 Nov 2026 00:00:00 +0000\r\nDate: never\r\n\r\nx',
  ).bytes.toString();
  expect(text.match(/^To:.*$/gm)).toEqual(['To: b@x.example, c@x.example']);
  expect(text.match(/^Subject:.*$/gm)).toEqual(['Subject: one']);
  expect(text.match(/^Date:.*$/gm)).toEqual(['Date: Sat, 21 Nov 2026 00:00:00 +0000']);
});

test('a Date or Message-ID that can not be read is replaced', () => {
  const result = repair('From: a@example.com\r\nDate: yesterday\r\nMessage-ID: none\r\n\r\nx');
  expect(result.messageId).toBe('<new@mail.example.com>');
  const text = result.bytes.toString();
  expect(text.match(/^Date:.*$/gm)).toEqual(['Date: Sat, 21 Nov 2026 01:02:03 +0000']);
  expect(text.match(/^Message-ID:.*$/gm)).toEqual(['Message-ID: <new@mail.example.com>']);
});

test('parts with lines over 998 bytes are encoded, their content unchanged', async () => {
  const long = 'Jürgen '.repeat(400);
  const binary = Buffer.from(Uint8Array.from({ length: 3_000 }, (_, place) => place % 251));
  const result = repair(
    Buffer.concat([
      Buffer.from(
        `From: a@example.com\r\nTo: b@example.org\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\n${long}\r\n--b\r\nContent-Type: image/png\r\nContent-Disposition: attachment; filename=x.png\r\nContent-Transfer-Encoding: base64\r\n\r\n${binary.toString('base64')}\r\n--b\r\nContent-Type: text/plain\r\n\r\nshort\r\n--b--\r\n`,
      ),
    ]),
  );
  expect(longestLine(result.bytes)).toBeLessThanOrEqual(998);
  const email = await PostalMime.parse(result.bytes);
  expect(email.text).toContain(long.trim());
  expect(email.text).toContain('short');
  expect(Buffer.from(email.attachments[0]?.content as ArrayBuffer).equals(binary)).toBe(true);
});

test('a single part with long lines or NUL is encoded, and says so once', async () => {
  for (const body of [`${'x'.repeat(5_000)}\r\nend\r\n`, 'a\0b\r\n']) {
    const result = repair(
      `From: a@example.com\r\nContent-Type: text/html\r\nContent-Transfer-Encoding: 7bit\r\n\r\n${body}`,
    );
    const text = result.bytes.toString('latin1');
    expect(text.match(/^Content-Transfer-Encoding:.*$/gm)).toEqual([
      'Content-Transfer-Encoding: quoted-printable',
    ]);
    expect(text).toContain('MIME-Version: 1.0');
    expect(text).not.toContain('\0');
    expect((await PostalMime.parse(result.bytes)).html?.replace(/\n/g, '\r\n').trim()).toBe(
      body.trim(),
    );
  }
});

test('text that came in base64 stays in base64', () => {
  const body = Buffer.from('Jürgen '.repeat(300)).toString('base64');
  const text = repair(
    `From: a@example.com\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n${body}\r\n`,
  ).bytes.toString();
  expect(text).toContain('Content-Transfer-Encoding: base64\r\n');
  expect(text.slice(text.indexOf('\r\n\r\n')).replaceAll('\r\n', '')).toBe(body);
});

test('a long header field is folded; one that can not be is refused', () => {
  const words = 'word '.repeat(500).trim();
  expect(
    longestLine(repair(`From: a@example.com\r\nX-Long: ${words}\r\n\r\nx`).bytes),
  ).toBeLessThanOrEqual(998);
  expect(refusal(`From: a@example.com\r\nX-Long: ${'x'.repeat(2_000)}\r\n\r\nx`)).toMatch(
    /^has a header field/,
  );
});

test('control characters in the header are refused by name', () => {
  for (const character of ['\0', '\x07', '\x0b', '\x7f']) {
    expect(refusal(`From: a@example.com\r\nX-Odd: a${character}b\r\n\r\nx`)).toBe(
      'has a control character in its header x-odd',
    );
  }
});

test('line ends become CRLF, so that no second message can hide inside', () => {
  const result = repair('From: a@example.com\n\nx\n.\nMAIL FROM:<b@example.com>\r.\r\n');
  expect(result.bytes.toString()).not.toMatch(/\r(?!\n)|(?<!\r)\n/);
});
