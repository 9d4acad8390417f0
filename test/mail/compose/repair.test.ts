/** Submitted messages: sound ones keep their bytes, the rest is repaired, and nothing can be read in two ways. */
import { describe, expect, test } from 'bun:test';
import PostalMime from 'postal-mime';
import { formatAddress } from '../../../src/mail/header/address.ts';
import { compose } from '../../../src/mail/compose/compose.ts';
import { hasLongLine, isSevenBit } from '../../../src/mail/mime/lines.ts';
import { repairSubmission, type Submission } from '../../../src/mail/compose/repair.ts';
import { randomInput, seeded } from '../random.ts';

const DEFAULTS = {
  messageId: '<new@mail.example.com>',
  date: new Date('2026-11-21T01:02:03Z'),
  ownNames: ['mail.example.com', 'machine.example.com'],
};

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

test('fields addressed to the service are read and removed, and so are Bcc and Return-Path', () => {
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
  ['one address and one that is none', 'From: a@example.com, ann\r\n\r\n'],
  ['one that is none, and one address', 'From: <a b@example.com>, a@example.com\r\n\r\n'],
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

test('a From with comments or raw 8-bit text is rewritten', () => {
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

test.each([
  ['Sender', 'a@example.com', 'b@example.com'],
  ['In-Reply-To', '<a@example.com>', '<b@example.com>'],
  ['References', '<a@example.com>', '<b@example.com>'],
  ['MIME-Version', '1.0', '2.0'],
  ['Content-Type', 'text/html', 'text/plain'],
  ['Content-Transfer-Encoding', '8bit', '7bit'],
  ['Content-ID', '<a@example.com>', '<b@example.com>'],
  ['Content-Description', 'one', 'two'],
  ['Content-Disposition', 'inline', 'attachment'],
])('of two %s fields the first is kept', (name, one, two) => {
  const text = repair(
    `From: a@example.com\r\n${name}: ${one}\r\n${name.toUpperCase()}: ${two}\r\n\r\nx`,
  ).bytes.toString();
  expect(text.match(new RegExp(`^${name}:.*$`, 'gim'))).toEqual([`${name}: ${one}`]);
});

test('fields that may stand several times are all kept', () => {
  const fields = 'Received: by one\r\nReceived: by two\r\nX-Own: 1\r\nX-Own: 2\r\nComments: a\r\n';
  expect(repair(`From: a@example.com\r\n${fields}\r\nx`).bytes.toString()).toContain(fields);
});

test('a Message-ID that names an email of this service is replaced', () => {
  for (const value of [
    '<01913c7e-89ab-7cde-8f01-23456789abcd@mail.example.com>',
    '<01913C7E-89AB-7CDE-8F01-23456789ABCD@MAIL.example.com>',
    '<01913c7e-89ab-7cde-8f01-23456789abcd@machine.example.com>',
  ]) {
    const result = repair(`From: a@example.com\r\nMessage-ID: ${value}\r\n\r\nx`);
    expect(result.messageId).toBe('<new@mail.example.com>');
    expect(result.bytes.toString()).not.toContain('01913');
  }
  const other = '<01913c7e-89ab-7cde-8f01-23456789abcd@other.example.com>';
  expect(repair(`From: a@example.com\r\nMessage-ID: ${other}\r\n\r\nx`)).toMatchObject({
    messageId: other,
  });
});

test('a Date or Message-ID that cannot be read is replaced', () => {
  const result = repair('From: a@example.com\r\nDate: yesterday\r\nMessage-ID: none\r\n\r\nx');
  expect(result.messageId).toBe('<new@mail.example.com>');
  const text = result.bytes.toString();
  expect(text.match(/^Date:.*$/gm)).toEqual(['Date: Sat, 21 Nov 2026 01:02:03 +0000']);
  expect(text.match(/^Message-ID:.*$/gm)).toEqual(['Message-ID: <new@mail.example.com>']);
});

test('of several Message-IDs the first sound one is kept, once and where the first field stood', () => {
  const kept = (...values: string[]): [messageId: string, fields: string[]] => {
    const fields = values.map((value) => `Message-ID: ${value}\r\n`).join('');
    const { messageId, bytes } = repair(`From: a@example.com\r\n${fields}Subject: s\r\n\r\nx`);
    return [messageId, bytes.toString().split('\r\n').slice(1, 3)];
  };
  for (const values of [
    ['<one@a.example>', '<two@a.example>'],
    ['none', '<one@a.example>', '<two@a.example>'],
    ['<01913c7e-89ab-7cde-8f01-23456789abcd@mail.example.com>', '<one@a.example>'],
    [`<${'x'.repeat(401)}@a.example>`, '<one@a.example>'],
    [`<x@${'a'.repeat(256)}>`, '<one@a.example>'],
  ]) {
    expect(kept(...values)).toEqual([
      '<one@a.example>',
      ['Message-ID: <one@a.example>', 'Subject: s'],
    ]);
  }
  const longest = `<${'x'.repeat(400)}@${'a'.repeat(255)}>`;
  expect(kept(longest)[0]).toBe(longest);
});

test('parts with lines over 998 bytes are encoded, their content unchanged', async () => {
  const long = 'Jürgen '.repeat(400);
  const binary = Buffer.from(Uint8Array.from({ length: 3_000 }, (_, index) => index % 251));
  const result = repair(
    Buffer.concat([
      Buffer.from(
        `From: a@example.com\r\nTo: b@example.org\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\n${long}\r\n--b\r\nContent-Type: image/png\r\nContent-Disposition: attachment; filename=x.png\r\nContent-Transfer-Encoding: base64\r\n\r\n${binary.toString('base64')}\r\n--b\r\nContent-Type: text/plain\r\n\r\nshort\r\n--b--\r\n`,
      ),
    ]),
  );
  expect(hasLongLine(result.bytes)).toBe(false);
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

test('as many parts as the limit are kept, one more is refused', () => {
  const parts = (count: number): string =>
    `From: a@example.com\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n${'--b\r\n\r\nx\r\n'.repeat(count)}--b--\r\n`;
  expect(repair(parts(999)).bytes.toString()).toContain('--b--');
  expect(refusal(parts(1_000))).toBe('has more than 1000 MIME parts');
});

test('text that arrived in base64 stays in base64', () => {
  const body = Buffer.from('Jürgen '.repeat(300)).toString('base64');
  const text = repair(
    `From: a@example.com\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n${body}\r\n`,
  ).bytes.toString();
  expect(text).toContain('Content-Transfer-Encoding: base64\r\n');
  expect(text.slice(text.indexOf('\r\n\r\n')).replaceAll('\r\n', '')).toBe(body);
});

test('a long header field is folded; one that cannot be is refused', () => {
  const words = 'word '.repeat(500).trim();
  expect(hasLongLine(repair(`From: a@example.com\r\nX-Long: ${words}\r\n\r\nx`).bytes)).toBe(false);
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

describe('encoded words', () => {
  const encoded = (text: string): string => `=?utf-8?b?${Buffer.from(text).toString('base64')}?=`;
  const headerOf = ({ bytes }: Submission): string =>
    bytes.toString('latin1').split('\r\n\r\n')[0] ?? '';
  /** Every encoded word of the header, decoded. */
  const decodedHeader = async (submission: Submission): Promise<string> => {
    const { subject, from, to } = await PostalMime.parse(submission.bytes);
    return JSON.stringify([subject, from?.name, to?.map(({ name }) => name)]);
  };

  test.each([
    ['a line break', 'Hello\r\nBcc: x@evil.example', 'Hello Bcc: x@evil.example'],
    ['NUL and escape', 'a\0b\u001b[31mc', 'a b [31mc'],
    ['C1 controls', 'a\u0085b\u009bc', 'a b c'],
    ['line separators', 'a\u2028b\u2029c', 'a b c'],
    ['direction overrides', 'invoice\u202Efdp.exe\u202C and \u202Dx', 'invoicefdp.exe\u202C and x'],
  ])('put no %s into Subject and names', async (_, hidden, shown) => {
    const result = repair(
      `From: ${encoded(hidden)} <a@example.com>\r\nTo: ${encoded(hidden)} <b@example.com>\r\nSubject: ${encoded(hidden)}\r\n\r\nx`,
    );
    expect(result.subject).toBe(shown);
    expect(result.from.name).toBe(shown);
    expect(result.to[0]?.name).toBe(shown);
    expect(await decodedHeader(result)).toBe(JSON.stringify([shown, shown, [shown]]));
    expect(headerOf(result)).not.toContain(encoded(hidden));
  });

  test('of right-to-left text stay as they are', () => {
    const subject = `Subject: ${encoded('\u2067\u05e9\u05dc\u05d5\u05dd\u2069 \u200f(1)')}`;
    expect(headerOf(repair(`From: a@example.com\r\n${subject}\r\n\r\nx`))).toContain(subject);
  });
});

test('a blank before the colon is taken out, whatever the field', () => {
  const result = repair(
    'From : a@example.com\r\nTo\t: b@example.com\r\nSubject  : one\r\n two\r\nX-Other : y\r\nDate : Sat, 21 Nov 2026 00:00:00 +0000\r\nMessage-ID : <1@example.com>\r\n\r\nx',
  );
  expect(result.subject).toBe('one two');
  expect(result.bytes.toString('latin1')).toBe(
    'From: a@example.com\r\nTo: b@example.com\r\nSubject: one\r\n two\r\nX-Other: y\r\nDate: Sat, 21 Nov 2026 00:00:00 +0000\r\nMessage-ID: <1@example.com>\r\n\r\nx\r\n',
  );
});
