/** Address lists of other software: groups, comments, escapes, and how much of a long one is read. */
import { expect, test } from 'bun:test';

import { addressOf } from '../../../src/mail/header/address.ts';
import { parseAddressList } from '../../../src/mail/header/address-list.ts';

/** The list as `name <address>`, and how many entries were refused. */
function read(value: string): [entries: string[], refused: number, isPlain: boolean] {
  const { mailboxes, refused, isPlain } = parseAddressList(value);
  const entries = mailboxes.map((one) => `${one.name} <${addressOf(one)}>`.trimStart());
  return [entries, refused, isPlain];
}

test.each([
  ['a@x.example, B <b@x.example>', ['<a@x.example>', 'B <b@x.example>'], 0, true],
  ['', [], 0, true],
  [' , ,', [], 0, true],
  ['"Lee, Ann" <a@x.example>', ['Lee, Ann <a@x.example>'], 0, true],
  [String.raw`"A \"B\" \\ C" <a@x.example>`, [String.raw`A "B" \ C <a@x.example>`], 0, true],
  ['Team: a@x.example, b@x.example;', ['<a@x.example>', '<b@x.example>'], 0, false],
  ['undisclosed-recipients:;', [], 0, false],
  ['a@x.example (work (old)), b@x.example', ['<a@x.example>', '<b@x.example>'], 0, false],
  // The ")" behind the backslash is text, so the comment goes on to the end.
  [String.raw`(a \) b@x.example) c@x.example`, ['<c@x.example>'], 0, false],
  ['no address, a@x.example', ['<a@x.example>'], 1, true],
  ['A <b> <a@x.example>', [], 1, true],
  ['"open <a@x.example>', [], 1, true],
  // A name with an "@" is taken for an address by some readers.
  ['b@y.example <a@x.example>', ['b@y.example <a@x.example>'], 0, false],
])('%j', (value, entries, refused, isPlain) => {
  expect(read(value)).toEqual([entries, refused, isPlain]);
});

test('of a list two thousand mailboxes are read, and a name is cut at 320 characters', () => {
  const many = Array.from({ length: 3_000 }, (_, at) => `u${at}@x.example`);
  const { mailboxes } = parseAddressList(many.join(', '));
  expect(mailboxes).toHaveLength(2_000);
  expect(mailboxes.at(-1)?.local).toBe('u1999');
  const [named] = parseAddressList(`${'n'.repeat(400)} <a@x.example>`).mailboxes;
  expect(named?.name).toBe('n'.repeat(320));
});
