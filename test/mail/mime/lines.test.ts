/** Line ends come out as CRLF only, whatever went in. */
import { expect, test } from 'bun:test';
import { hasLongLine, isReady, isSevenBit, normalizeLines } from '../../../src/mail/mime/lines.ts';
import { seeded } from '../random.ts';

test.each([
  ['', ''],
  ['a', 'a'],
  ['a\r\nb\r\n', 'a\r\nb\r\n'],
  ['a\nb\rc', 'a\r\nb\r\nc'],
  ['\n', '\r\n'],
  ['\r', '\r\n'],
  ['\n\r', '\r\n\r\n'],
  ['\r\r\n\n', '\r\n\r\n\r\n'],
  ['\n.\r\n', '\r\n.\r\n'],
  ['\r.\r', '\r\n.\r\n'],
])('%j becomes %j', (input, output) => {
  expect(normalizeLines(Buffer.from(input)).toString()).toBe(output);
});

test('clean bytes are not copied', () => {
  const clean = Buffer.from('a\r\nb\r\n');
  expect(normalizeLines(clean).buffer).toBe(clean.buffer);
});

test('no stray CR or LF is left in random bytes, and all else stays', () => {
  for (let seed = 0; seed < 500; seed += 1) {
    const random = seeded(seed);
    const bytes = Buffer.from(
      Array.from({ length: random.int(60) }, () => random.pick([13, 10, 46, 97, 0, 255])),
    );
    const out = normalizeLines(bytes).toString('latin1');
    expect([seed, /\r(?!\n)|(?<!\r)\n/.test(out)]).toEqual([seed, false]);
    expect(out.replace(/[\r\n]/g, '')).toBe(bytes.toString('latin1').replace(/[\r\n]/g, ''));
  }
});

test.each([
  ['', false],
  ['abcd', false],
  ['abcde', true],
  ['abcd\r', true],
  ['abcd\r\nabcd\r\nabcd', false],
  ['abcd\nabcd\n', false],
  ['abcde\n', true],
  ['a\r\nabcde\r\na', true],
  ['a\r\nabc\nabcde', true],
  ['\n\n\n\n\n\n\n\n', false],
])('%j has a line of more than four bytes: %p', (text, expected) => {
  expect(hasLongLine(Buffer.from(text), 4)).toBe(expected);
});

test('a long line is found wherever a line by line search finds it', () => {
  for (let seed = 0; seed < 2_000; seed += 1) {
    const random = seeded(seed);
    const text = Array.from({ length: random.int(40) }, () =>
      random.pick(['a', 'a', 'a', '\n', '\r\n', '\r']),
    ).join('');
    const isLong = text.split('\n').some((line, at, lines) => {
      const isEnded = at < lines.length - 1;
      return (isEnded ? line.replace(/\r$/, '') : line).length > 4;
    });
    expect([text, hasLongLine(Buffer.from(text), 4)]).toEqual([text, isLong]);
  }
});

test('seven bits or not', () => {
  expect(isSevenBit(Buffer.from('abc\u007f'))).toBe(true);
  expect(isSevenBit(Buffer.from('ü'))).toBe(false);
  for (let byte = 0; byte < 256; byte += 1) {
    expect([byte, isSevenBit(Uint8Array.of(97, byte))]).toEqual([byte, byte <= 127]);
  }
});

test.each([
  ['', false],
  ['a', false],
  ['a\r\n', true],
  ['a\r\n\r\nb\r\n', true],
  ['a.\r\n .\r\n', true],
  ['.a\r\n', false],
  ['a\r\n.\r\n', false],
  ['a\r\n.b\r\n', false],
  ['a\nb\r\n', false],
  ['a\rb\r\n', false],
  ['a\r\r\n', false],
  ['ü\r\n', false],
  [`${'x'.repeat(998)}\r\ny\r\n`, true],
  [`y\r\n${'x'.repeat(999)}\r\n`, false],
])('%j can leave as it is: %p', (text, expected) => {
  expect(isReady(text)).toBe(expected);
});
