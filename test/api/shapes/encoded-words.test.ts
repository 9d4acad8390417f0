/** Encoded words (RFC 2047) in JSON: read where they are whole, and nothing else is touched. */
import { expect, test } from 'bun:test';
import { readEncodedWords } from '../../../src/api/shapes/encoded-words.ts';

test.each([
  ['=?UTF-8?Q?Gr=C3=BC=C3=9Fe?=', 'Grüße'],
  ['=?utf-8?q?a_b?=', 'a b'],
  ['=?UTF-8?B?R3LDvMOfZQ==?=', 'Grüße'],
  ['=?utf-8?b?R3LDvMOfZQ==?= x', 'Grüße x'],
  ['=?UTF-8?Q?a?= =?UTF-8?Q?b?=', 'ab'],
  ['x\t=?UTF-8?Q?b?=', 'x\tb'],
  ['=?UTF-8?Q?a?=\r\n =?UTF-8?Q?b?=', 'ab'],
  ['=?UTF-8?Q?a?=\r\n\t \t=?UTF-8?Q?b?=\r\n =?UTF-8?Q?c?=', 'abc'],
])('%j is %j', (text, read) => {
  expect(readEncodedWords(text)).toBe(read);
});

test.each([
  'plain',
  '',
  'a =? b',
  '=?UTF-8?Q?a',
  '=?UTF-8?X?a?=',
  '=?UTF-8?Q?a b?=',
  'ü =?UTF-8?Q?a?=',
  '=?UTF-8?Q?a?=\u0001',
  '=?UTF-8?Q?a?=\r\nBcc: x',
  '=?UTF-8?Q?a?=\n =?UTF-8?Q?b?=',
])('%j stays as it is', (text) => {
  expect(readEncodedWords(text)).toBe(text);
});

test('a fold is undone also where a word is beyond ASCII', () => {
  expect(readEncodedWords('ü =?UTF-8?Q?a?=\r\n =?UTF-8?Q?b?=')).toBe(
    'ü =?UTF-8?Q?a?= =?UTF-8?Q?b?=',
  );
});
