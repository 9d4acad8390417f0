/** Encodings decode to the same bytes, in lines that no server has a reason to change. */
import { expect, test } from 'bun:test';
import {
  base64Lines,
  isPlainText,
  isPrintable,
  quotedPrintable,
} from '../../../src/mail/mime/transfer-encoding.ts';
import { randomBody, seeded } from '../random.ts';

/** RFC 2045 section 6.7 in the plainest reading. */
function decode(text: string): string {
  const bytes = text
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

test('quoted-printable decodes to what it was, in safe lines', () => {
  for (let seed = 0; seed < 500; seed += 1) {
    const text = randomBody(seeded(seed)).replace(/\r\n|\r|\n/g, '\r\n');
    const coded = quotedPrintable(Buffer.from(text, 'utf8'));
    expect([seed, decode(coded)]).toEqual([seed, text]);
    for (const line of coded.split('\r\n')) {
      expect([
        seed,
        line.length <= 76 && /^[\t\x20-\x7e]*$/.test(line) && !/[\t ]$/.test(line),
      ]).toEqual([seed, true]);
      expect([seed, line === '.' || line.startsWith('From ')]).toEqual([seed, false]);
    }
  }
});

test('escapes are never cut in two', () => {
  for (let offset = 0; offset < 80; offset += 1) {
    const text = 'x'.repeat(offset) + 'ü'.repeat(100);
    const coded = quotedPrintable(Buffer.from(text, 'utf8'));
    expect(coded.split('=\r\n').every((line) => /^(?:[^=]|=[0-9A-F]{2})*$/.test(line))).toBe(true);
    expect(decode(coded)).toBe(text);
  }
});

test('base64 has lines of 76 characters', () => {
  for (const size of [0, 1, 56, 57, 58, 1_000]) {
    const bytes = Buffer.alloc(size, 0xfe);
    const coded = base64Lines(bytes);
    expect(Buffer.from(coded, 'base64')).toEqual(bytes);
    expect(coded.split('\r\n').every((line) => line.length <= 76)).toBe(true);
  }
});

test.each([
  ['hello\r\nworld\r\n', true],
  ['', true],
  ['x'.repeat(76), true],
  ['x'.repeat(77), false],
  ['ü', false],
  ['a\0b', false],
  ['\x7f', false],
  ['a\r\nFrom b', false],
  ['From', true],
  ['a\r\n.\r\nb', false],
  ['..', true],
])('%j as it is: %j', (text, expected) => {
  expect(isPrintable(text) && isPlainText(text)).toBe(expected);
});
