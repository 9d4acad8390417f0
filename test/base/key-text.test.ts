/** The text of API keys: what is one, what lists show of it, and what the log may say. */
import { expect, test } from 'bun:test';

import { KEY_PREFIX, hideKeys, isKeyText, keyText, shownPrefix } from '../../src/base/key-text.ts';

const SECRET = 'Ab3dEf6hIj9lMn2pQr5t';

test.each([
  [`pr_live_${SECRET}`, true],
  [`re_test_${SECRET}`, true],
  [`pr_live_${SECRET.slice(1)}`, false],
  [`pr_live_${'x'.repeat(200)}`, true],
  [`pr_live_${'x'.repeat(201)}`, false],
  [`pr_dead_${SECRET}`, false],
  [`p_live_${SECRET}`, false],
  [`${'p'.repeat(10)}_live_${SECRET}`, true],
  [`${'p'.repeat(11)}_live_${SECRET}`, false],
  [`1p_live_${SECRET}`, false],
  [`PR_live_${SECRET}`, false],
  [` pr_live_${SECRET}`, false],
  [`pr_live_${SECRET} `, false],
  [`pr_live_${SECRET}-`, false],
])('%s is the text of a key: %j', (text, isKey) => expect(isKeyText(text)).toBe(isKey));

test('a key is made of prefix, kind and secret, and shown without all but four of the secret', () => {
  expect(keyText('pr', false, SECRET)).toBe(`pr_live_${SECRET}`);
  expect(keyText('pr', true, SECRET)).toBe(`pr_test_${SECRET}`);
  expect(shownPrefix(`pr_live_${SECRET}`)).toBe('pr_live_Ab3d');
});

test.each([
  [`a pr_live_${SECRET} b re_test_${SECRET}`, 'a pr_live_[hidden] b re_test_[hidden]'],
  ['pr_live_12345678', 'pr_live_[hidden]'],
  ['pr_live_1234567', 'pr_live_1234567'],
  [`abc9_live_${SECRET}`, 'abc9_live_[hidden]'],
  [`(pr_test_${SECRET})`, '(pr_test_[hidden])'],
  ['nothing', 'nothing'],
])('%s stands in the log as %s', (text, shown) => expect(hideKeys(text)).toBe(shown));

test.each([
  ['ab', true],
  ['a1', true],
  ['a', false],
  ['1a', false],
  ['abcdefghij', true],
  ['abcdefghijk', false],
  ['aB', false],
  ['a_b', false],
])('%s may be the prefix: %j', (prefix, may) => expect(KEY_PREFIX.test(prefix)).toBe(may));
