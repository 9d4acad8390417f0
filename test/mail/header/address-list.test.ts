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

test.each([
  ['=?utf-8?q?Ann?= <a@x.example>', 'Ann', false],
  ['=?utf-8?q?A=0D=0Ann?= <a@x.example>', 'A nn', true],
  ['=?utf-8?q?A=E2=80=AEnn?= <a@x.example>', 'Ann', true],
  ['=?utf-8?q?A=09nn?= <a@x.example>', 'A nn', false],
  ['=?utf-8?q?=D7=A9?= <a@x.example>', 'ש', false],
  ['=?utf-8?q?_Ann_?= <a@x.example>', 'Ann', false],
])('the name in %s is %s; misleading: %p', (value, name, isMisleading) => {
  const list = parseAddressList(value);
  expect([list.mailboxes[0]?.name, list.isMisleading]).toEqual([name, isMisleading]);
});

test.each([
  ['g1: a@x.example; g2: b@x.example;', ['<a@x.example>', '<b@x.example>'], 0, false],
  ['<a@x.example>, <b:c@x.example>', ['<a@x.example>'], 1, true],
  ['"a:b"@x.example', ['<"a:b"@x.example>'], 0, true],
  ['"A@B" <a@x.example>; b@x.example', ['A@B <a@x.example>', '<b@x.example>'], 0, true],
  ['A (one) B <a@x.example>', ['A    B <a@x.example>'], 0, false],
  ['"" <a@x.example>', ['<a@x.example>'], 0, true],
  // Outside quotation marks and comments a backslash is a character like any other.
  [String.raw`a\,b@x.example`, ['<b@x.example>'], 1, true],
  [String.raw`A\B <a@x.example>`, [String.raw`A\B <a@x.example>`], 0, true],
  [String.raw`"a\",b" <c@x.example>`, ['a",b <c@x.example>'], 0, true],
  ['(6" long) a@x.example', ['<a@x.example>'], 0, false],
  ['"a@b":c@x.example', [], 1, true],
  ['"Team A": c@x.example', ['<c@x.example>'], 0, false],
  ['A) <a@x.example>', ['A) <a@x.example>'], 0, true],
  ['a@x.example (open', ['<a@x.example>'], 0, false],
  ['a@x.example:b@y.example', [], 1, true],
  ['<a@x.example', [], 1, true],
  ['A <b,c@x.example>', [], 1, true],
  ['no, none, A <b> <a@x.example>, C <d> <e@x.example>', [], 4, true],
  ['A < a@x.example >', ['A <a@x.example>'], 0, true],
  ['"<a>"@x.example', ['<"<a>"@x.example>'], 0, true],
  ['A <a@x.example> b', [], 1, true],
  ['"A <b>" <a@x.example>', ['A <b> <a@x.example>'], 0, true],
  ['"<" <a@x.example>, b@x.example', ['< <a@x.example>', '<b@x.example>'], 0, true],
  ['A\tB <a@x.example>,\tb@x.example', ['A B <a@x.example>', '<b@x.example>'], 0, true],
])('of %j is read', (value, entries, refused, isPlain) => {
  expect(read(value)).toEqual([entries, refused, isPlain]);
});

test('raw text beyond ASCII is read and no plain list; of a long one 200,000 characters are read', () => {
  expect(read(Buffer.from('Jürgen <a@x.example>').toString('latin1'))).toEqual([
    ['Jürgen <a@x.example>'],
    0,
    false,
  ]);
  const cut = parseAddressList(`${' '.repeat(199_989)}a@x.exampley`);
  expect(cut.mailboxes[0]?.domain).toBe('x.example');
  const blank = ' '.repeat(199_988);
  expect(parseAddressList(`${blank}a@x.example,b@x.example`).mailboxes).toHaveLength(1);
});
