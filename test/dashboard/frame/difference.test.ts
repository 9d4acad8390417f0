/** What is marked where a text is not the expected one. */
import { expect, test } from 'bun:test';
import { difference } from '../../../src/dashboard/frame/difference.ts';

test.each([
  ['abcdef', 'abcdef', 'abcdef'],
  ['abcdef', 'abXYef', 'ab<mark>XY</mark>ef'],
  ['abcdef', 'abcdefgh', 'abcdef<mark>gh</mark>'],
  ['abcdef', 'abef', 'ab<mark title="Something is missing here">…</mark>ef'],
  ['aaaa', 'aa', 'aa<mark title="Something is missing here">…</mark>'],
  ['abc', 'xyz', '<mark>xyz</mark>'],
  ['a&b', 'a<b', 'a<mark>&lt;</mark>b'],
])('%j, found %j', (expected, found, shown) => {
  const text = difference(expected, found).toString();
  expect(/<code class="found"\s*>(.*)<\/code\s*>/s.exec(text)?.[1]).toBe(shown);
});
