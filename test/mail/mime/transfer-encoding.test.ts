/** Encodings decode to the same bytes, in lines that no server has a reason to change. */
import { expect, test } from 'bun:test';
import {
  base64Lines,
  isPlainText,
  isPrintable,
  quotePrintable,
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

const X = (count: number): string => 'x'.repeat(count);

test.each([
  ['', ''],
  [X(74), X(74)],
  [X(75), `${X(72)}=\r\n${X(3)}`],
  [X(146), `${X(72)}=\r\n${X(74)}`],
  [X(147), `${X(72)}=\r\n${X(72)}=\r\n${X(3)}`],
  // An escape stays whole.
  [`${X(68)}ü`, `${X(68)}=C3=BC`],
  [`${X(69)}ü`, `${X(69)}=C3=\r\n=BC`],
  [`${X(70)}ü`, `${X(70)}=\r\n=C3=BC`],
  [`${X(71)}ü`, `${X(71)}=\r\n=C3=BC`],
  [`${X(72)}ü`, `${X(72)}=\r\n=C3=BC`],
  [`${X(73)}ü`, `${X(72)}=\r\nx=C3=BC`],
  // White space before a line end is escaped, and counts.
  [`${X(71)} \r\ny`, `${X(71)}=20\r\ny`],
  [`${X(72)} \r\ny`, `${X(72)}=\r\n=20\r\ny`],
  [`${X(73)}\t`, `${X(72)}=\r\nx=09`],
  ['a \t\r\n', 'a =09\r\n'],
  [' ', '=20'],
  ['\t', '=09'],
  [' a\r\n\r\n', ' a\r\n\r\n'],
  // What servers change.
  ['.', '=2E'],
  ['.\r\n', '=2E\r\n'],
  ['a\r\n.\r\nb', 'a\r\n=2E\r\nb'],
  ['. ', '=2E=20'],
  ['..', '..'],
  ['.a', '.a'],
  ['From a', '=46rom a'],
  ['a\r\nFrom b', 'a\r\n=46rom b'],
  // Its space is escaped already.
  ['From ', 'From=20'],
  ['From', 'From'],
  ['Fromm', 'Fromm'],
  ['from a', 'from a'],
  [`${X(72)}From a b`, `${X(72)}=\r\n=46rom a b`],
  [`${X(72)}.aa`, `${X(72)}=\r\n.aa`],
  // Line ends are CRLF; others are bytes.
  ['a\rb', 'a=0Db'],
  ['a\nb', 'a=0Ab'],
  ['a\r\r\nb', 'a=0D\r\nb'],
  ['a\r\n\nb', 'a\r\n=0Ab'],
  ['a\rb\rc\nd\r\ne\n', 'a=0Db=0Dc=0Ad\r\ne=0A'],
  ['a\tü\tb', 'a\t=C3=BC\tb'],
  ['a\tb', 'a\tb'],
  ['a=b', 'a=3Db'],
  ['~ !<>\u007f\0\u001f', '~ !<>=7F=00=1F'],
])('%j is written as %j', (text, coded) => {
  expect(quotedPrintable(Buffer.from(text))).toBe(coded);
  if (isPrintable(text)) expect(quotePrintable(text)).toBe(coded);
  expect(decode(coded)).toBe(text === '' ? '' : text);
});

test('every byte is written by itself, and read as it was', () => {
  for (let byte = 0; byte < 256; byte += 1) {
    const isKept = byte === 9 || (byte >= 0x20 && byte < 0x7f && byte !== 0x3d);
    const hex = byte.toString(16).toUpperCase().padStart(2, '0');
    const coded = isKept ? String.fromCharCode(byte) : `=${hex}`;
    expect(quotedPrintable(Buffer.from([0x61, byte, 0x62]))).toBe(`a${coded}b`);
    const isAscii = (byte >= 0x20 && byte < 0x7f) || [9, 10, 13].includes(byte);
    expect([byte, isPrintable(String.fromCharCode(byte))]).toEqual([byte, isAscii]);
  }
});

test('base64 is cut behind each 76th character, never at the end', () => {
  const lengths = (bytes: number): number[] =>
    base64Lines(Buffer.alloc(bytes, 1))
      .split('\r\n')
      .map(({ length }) => length);
  expect([0, 1, 57, 58, 114, 115].map(lengths)).toEqual([
    [0],
    [4],
    [76],
    [76, 4],
    [76, 76],
    [76, 76, 4],
  ]);
});

test.each([
  ['.', false],
  ['.\r\n', false],
  ['.a', true],
  ['a.', true],
  ['From ', false],
  ['a From b', true],
  [`a\r\n${X(76)}\r\nb`, true],
  [`a\r\n${X(77)}\r\nb`, false],
])('%j needs no encoding: %p', (text, isPlain) => expect(isPlainText(text)).toBe(isPlain));
