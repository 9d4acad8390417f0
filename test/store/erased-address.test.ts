/** What erasing an address takes out, by table. */
import { expect, test } from 'bun:test';

import { erasureOf, isNamedIn, listWithout } from '../../src/store/erased-address.ts';
import type { MessageErasure } from '../../src/store/erased-address.ts';

const ERIKA = 'erika@person.example';

const cases: [isOpen: boolean, others: number, mayGo: boolean, erasure: MessageErasure][] = [
  [true, 0, true, 'waits'],
  [true, 1, false, 'waits'],
  [false, 0, true, 'goes'],
  [false, 1, true, 'stays'],
  [false, 0, false, 'stays'],
];
test.each(cases)('open %p, %p others, may go %p: %s', (isOpen, others, mayGo, erasure) => {
  expect(erasureOf(isOpen, others, mayGo)).toBe(erasure);
});

test.each([
  ['erika@person.example', true],
  ['Erika@Person.Example', true],
  ['Erika M. <ERIKA@person.example>', true],
  ['xerika@person.example', false],
  ['Erika <xerika@person.example>', false],
  ['erika@person.example.org', false],
  ['"erika@person.example" <other@person.example>', false],
])('%s in a list: taken out %p', (entry, isTaken) => {
  expect(listWithout(['a@x.example', entry, 'b@x.example'], ERIKA)).toEqual(
    isTaken ? ['a@x.example', 'b@x.example'] : ['a@x.example', entry, 'b@x.example'],
  );
});

test.each([
  ['/emails {"to":"Erika@person.example"}', true],
  ['/suppressions/erika%40person.example', true],
  ['/suppressions/ERIKA%40PERSON.EXAMPLE', true],
  ['/emails {"to":"someone@person.example"}', false],
])('the log row %s: named %p', (text, isNamed) => {
  expect(isNamedIn(text, ERIKA)).toBe(isNamed);
});
