/** Header fields letter by letter: where they are folded, how words are encoded, and the limits, each exactly. */
import { expect, test } from 'bun:test';

import {
  checkCharacters,
  checkHeaderValue,
  encodePhrase,
  encodeText,
  foldField,
  isPrototypeName,
  readableText,
  writeField,
} from '../../../src/mail/header/headers.ts';

const FOLDABLE = 'must have a single space at least every 850 characters, so that it can be folded';

test.each([
  ['x'.repeat(850), null],
  ['x'.repeat(851), FOLDABLE],
  [`a ${'x'.repeat(849)}`, null],
  [`a ${'x'.repeat(850)}`, FOLDABLE],
  [`a  ${'x'.repeat(849)}`, FOLDABLE],
  ['x '.repeat(5_000), null],
  [`${'x '.repeat(5_000)}x`, 'must not be longer than 10000 characters'],
  // What is encoded can be cut anywhere.
  ['ü'.repeat(10_000), null],
  ['ü'.repeat(10_001), 'must not be longer than 10000 characters'],
  ['a\tb', null],
  ['a\rb', 'must not contain a line break'],
  ['a\0b', 'must not contain NUL'],
])('%#: a value is refused in words', (value, words) =>
  expect(checkHeaderValue(value)).toBe(words),
);

test('the first character that is refused is named, a TAB only where none may be', () => {
  expect(checkCharacters('a\tb\u0001')).toBe('must not contain the control character U+0009');
  expect(checkCharacters('a\tb\u0001', true)).toBe('must not contain the control character U+0001');
  expect(checkCharacters('a\u2029')).toBe('must not contain the control character U+2029');
  expect(checkCharacters('a\u007f')).toBe('must not contain the control character U+007F');
  expect(checkCharacters('a\ud800\tb', true)).toBe('must not contain an unpaired surrogate');
});

test.each([
  ['X', '', 'X:\r\n'],
  ['X', '  a  ', 'X: a\r\n'],
  ['X', 'a'.repeat(73), `X: ${'a'.repeat(73)}\r\n`],
  // A word that fits no line stays with the name.
  ['X', 'a'.repeat(74), `X: ${'a'.repeat(74)}\r\n`],
  ['X', `${'a'.repeat(71)} b`, `X: ${'a'.repeat(71)} b\r\n`],
  ['X', `${'a'.repeat(72)} b`, `X: ${'a'.repeat(72)}\r\n b\r\n`],
  [
    'X',
    `a ${'b'.repeat(71)} ${'c'.repeat(75)} d`,
    `X: a ${'b'.repeat(71)}\r\n ${'c'.repeat(75)}\r\n d\r\n`,
  ],
  [
    'X',
    `a ${'b'.repeat(71)} ${'c'.repeat(73)} d`,
    `X: a ${'b'.repeat(71)}\r\n ${'c'.repeat(73)} d\r\n`,
  ],
  // Two spaces are not where a line is folded.
  ['X', `${'a'.repeat(72)}  b c`, `X: ${'a'.repeat(72)}  b\r\n c\r\n`],
])('%#: a field is folded at 76 characters', (name, value, field) =>
  expect([foldField(name, value), writeField(name, value)]).toEqual([field, field]),
);

test.each([
  ['plain', 'plain', 'plain'],
  ['two words', 'two words', 'two words'],
  ['two  blanks', 'two  blanks', '"two  blanks"'],
  ['Dr. "A" \\ B', 'Dr. "A" \\ B', '"Dr. \\"A\\" \\\\ B"'],
  ['a, b', 'a, b', '"a, b"'],
  ['Zoë', '=?UTF-8?Q?Zo=C3=AB?=', '=?UTF-8?Q?Zo=C3=AB?='],
  ['Zoë Lee_1?', '=?UTF-8?B?Wm/DqyBMZWVfMT8=?=', '=?UTF-8?B?Wm/DqyBMZWVfMT8=?='],
  ['Zoë Lee!*+-/', '=?UTF-8?Q?Zo=C3=AB_Lee!*+-/?=', '=?UTF-8?Q?Zo=C3=AB_Lee!*+-/?='],
  ['=?x', '=?UTF-8?B?PT94?=', '=?UTF-8?B?PT94?='],
  ['鉄道', '=?UTF-8?B?6YmE6YGT?=', '=?UTF-8?B?6YmE6YGT?='],
])('%j in wire form', (text, asText, asPhrase) =>
  expect([encodeText(text), encodePhrase(text)]).toEqual([asText, asPhrase]),
);

test('a long text that cannot be folded is encoded, in words of 75 characters at most', () => {
  const long = 'a'.repeat(851);
  expect(encodeText(long.slice(1))).toBe(long.slice(1));
  const words = encodeText(long, 9).split(' ');
  expect(words.map(({ length }) => length)).toEqual([66, ...Array<number>(12).fill(75), 53]);
  // With a long name in front, the first word still has forty.
  expect(encodeText(long, 100).split(' ')[0]).toHaveLength(40);
});

test.each([
  ['a\r\n\tb', 'a b'],
  ['a\tb', 'a\tb'],
  ['a\0\0b', 'a b'],
  ['a\u202eb\u202dc\u202ad', 'abc\u202ad'],
  ['a\ud800', 'a\ufffd'],
  ['a\u2028b', 'a b'],
])('%j is read as %j', (text, shown) => expect(readableText(text)).toBe(shown));

test('names of objects are known in any case', () => {
  expect(['__Proto__', 'CONSTRUCTOR', 'prototype', 'proto'].map(isPrototypeName)).toEqual([
    true,
    true,
    true,
    false,
  ]);
});
