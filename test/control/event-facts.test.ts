/** What an event says for people, whatever its payload holds. */
import { expect, test } from 'bun:test';

import { factsOf } from '../../src/control/event-facts.ts';

test.each([
  [null, null, null],
  ['null', null, null],
  ['"text"', null, null],
  [
    '{"recipient":"a@x.example","reply":"250 ok","cause":"c","reason":"r"}',
    'a@x.example',
    '250 ok',
  ],
  ['{"cause":"c","reason":"r"}', null, 'c'],
  ['{"reply":null,"cause":null,"reason":"r"}', null, 'r'],
  ['{"recipient":7,"reply":{"code":250},"reason":["r"]}', null, null],
])('%s', (payload, recipient, reason) => {
  expect(factsOf({ payload })).toEqual({ recipient, reason });
});
