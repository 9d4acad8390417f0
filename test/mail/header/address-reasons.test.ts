/** Why an address is refused: the words a sender reads, each for what it is about. */
import { expect, test } from 'bun:test';

import { makeAddress, parseAddress } from '../../../src/mail/header/address.ts';

const LIST = 'must be one address, not a list';
const FORM = 'must be of the form name@domain';
const ONCE = 'must have its address once, between "<" and ">"';
const NO_LOCAL = 'has nothing before the "@"';
const NO_DOMAIN = 'does not have a valid domain name after the "@"';
const DOT = 'has a misplaced dot before the "@"';
const CHARACTER = 'has a character before the "@" that is not allowed without quotation marks';
const INVISIBLE = 'has an invisible or space character before the "@"';

test.each([
  ['', 'must not be empty'],
  ['   ', 'must not be empty'],
  ['a\r\nb@x.example', 'must not contain a line break'],
  ['a\tb@x.example', 'must not contain the control character U+0009'],
  ['team: a@x.example;', 'must be one address, not a group'],
  ['undisclosed-recipients:;', 'must be one address, not a group'],
  ['Ann', FORM],
  ['"a"', FORM],
  ['"a"b@x.example', FORM],
  ['"a@x.example', FORM],
  ['a <b> c', ONCE],
  ['<<a@x.example>>', ONCE],
  ['a<b@x.example', ONCE],
  ['Ann > <a@x.example>', 'has a ">" outside quotation marks'],
  ['"Ann <a@x.example>', 'has a ">" without a "<" outside quotation marks'],
  ['a@x.example, <b@x.example>', LIST],
  ['a@x.example; Ben <b@x.example>', LIST],
  ['a@x.example,b@x.example', LIST],
  ['a@x.example;b@x.example', LIST],
  ['a,b@x.example', LIST],
  ['a@b@x.example', 'has more than one "@"'],
  ['@x.example', NO_LOCAL],
  ['""@x.example', NO_LOCAL],
  ['@y.example:a@x.example', 'must not have a route'],
  ['a(b)@x.example', 'must not have a comment'],
  ['.a@x.example', DOT],
  ['a.@x.example', DOT],
  ['a..b@x.example', DOT],
  ['a b@x.example', CHARACTER],
  ['a;b@x.example', CHARACTER],
  ['a\\b@x.example', CHARACTER],
  ['a\u00a0b@x.example', INVISIBLE],
  ['a\u202eb@x.example', INVISIBLE],
  ['"a\u2003b"@x.example', INVISIBLE],
  ['a@', 'has nothing after the "@"'],
  ['a@[192.0.2.1]', 'must have a domain name, not an address literal'],
  ['a@x', 'has a domain without a dot'],
  ['a@-x.example', NO_DOMAIN],
  ['a@x-.example', NO_DOMAIN],
  ['a@x.-example', NO_DOMAIN],
  ['a@x.example-', NO_DOMAIN],
  ['a@x..example', NO_DOMAIN],
  ['a@x.example.', NO_DOMAIN],
  ['a@x_y.example', NO_DOMAIN],
  ['a@%41.example', NO_DOMAIN],
  ['a@x y.example', NO_DOMAIN],
  ['a@x.123', NO_DOMAIN],
  ['a@xn--a.example', NO_DOMAIN],
  ['a@sub.xn--a.example', NO_DOMAIN],
  ['a@sub.XN--a.example', NO_DOMAIN],
  // 30 letters of two bytes each, and 194 for the domain.
  [
    `${'ü'.repeat(30)}@${'d'.repeat(63)}.${'e'.repeat(63)}.${'f'.repeat(63)}.ab`,
    'is longer than 254 bytes',
  ],
  // Each label is longer as it is sent.
  [`a@${`${'ü'.repeat(30)}x.`.repeat(7)}example`, 'has a domain of more than 253 characters'],
])('%j %s', (text, error) => expect(parseAddress(text)).toEqual({ error }));

test.each([
  ['Ann <a@x.example>', 'Ann', 'a', 'x.example'],
  ['Lee, Ann <a@x.example>', 'Lee, Ann', 'a', 'x.example'],
  ['ann@home <a@x.example>', 'ann@home', 'a', 'x.example'],
  ['"ann@home, Lee" <a@x.example>', 'ann@home, Lee', 'a', 'x.example'],
  ['"a <b>" <a@x.example>', 'a <b>', 'a', 'x.example'],
  ['"a \\" <b>" <a@x.example>', 'a " <b>', 'a', 'x.example'],
  ['A "B" C <a@x.example>', 'A B C', 'a', 'x.example'],
  ['<a@x.example>', '', 'a', 'x.example'],
  ['A" <a@x.example> B" <b@x.example>', 'A <a@x.example> B', 'b', 'x.example'],
  ['"a"@x.example', '', 'a', 'x.example'],
  ['"a b"@x.example', '', '"a b"', 'x.example'],
  ['"a\\"\\\\"@x.example', '', '"a\\"\\\\"', 'x.example'],
  ['"a@b"@X.Example', '', '"a@b"', 'x.example'],
  ['a@XN--MLLER-KVA.example', '', 'a', 'xn--mller-kva.example'],
  ['a@müller.example', '', 'a', 'xn--mller-kva.example'],
  ['a@MU\u0308LLER.example', '', 'a', 'xn--mller-kva.example'],
  ['zoe\u0308@x.example', '', 'zo\u00eb', 'x.example'],
  ['a@1.x1', '', 'a', '1.x1'],
  ['a@sub.xn--mller-kva.example', '', 'a', 'sub.xn--mller-kva.example'],
  ['a@x.рф', '', 'a', 'x.xn--p1ai'],
])('%j is %j, %j, %j', (text, name, local, domain) =>
  expect(parseAddress(text)).toEqual({ name, local, domain }),
);

test('an address with a name of its own has no angle brackets, and control characters in neither', () => {
  expect(makeAddress('Ann <a@x.example>', 'Ann')).toEqual({ error: ONCE });
  expect(makeAddress('<a@x.example>')).toEqual({ error: ONCE });
  expect(makeAddress('a\0@x.example')).toEqual({ error: 'must not contain NUL' });
  expect(makeAddress('a@x.example', 'A\0')).toEqual({ error: 'must not contain NUL' });
  expect(makeAddress('')).toEqual({ error: FORM });
  expect(makeAddress('a@x.example', ' A <b@y.example> ')).toEqual({
    name: 'A <b@y.example>',
    local: 'a',
    domain: 'x.example',
  });
});
