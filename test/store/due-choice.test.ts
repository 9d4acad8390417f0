/** Which due rows an owner takes: its own always, of each destination so many, of the excluded none. */
import { expect, test } from 'bun:test';

import { chooseDue } from '../../src/store/due-choice.ts';
import type { DueRow } from '../../src/store/due-choice.ts';
import { dueRequest } from './samples.ts';

let last = 0;
function row(accountId: string, domain: string, owner: string | null = null): DueRow {
  last += 1;
  return { id: `r${last}`, accountId, domain, dueAt: last, owner };
}

const idsOf = (rows: readonly { id: string }[]): string[] => rows.map(({ id }) => id);

test('so many of each destination of an account, in their order; the soonest that is left of each', () => {
  const rows = [
    row('a', 'x'),
    row('b', 'x'),
    row('a', 'x'),
    row('a', 'y'),
    row('a', 'x'),
    row('a', 'x'),
    row('b', 'x'),
    row('b', 'x'),
  ];
  const { chosen, left } = chooseDue(rows, dueRequest('me', 0, { most: 2 }));
  const [a1, b1, a2, y1, a3, , b2, b3] = idsOf(rows);
  expect(idsOf(chosen)).toEqual([a1, b1, a2, y1, b2].map(String));
  expect(idsOf(left)).toEqual([a3, b3].map(String));
  expect(left[0]).not.toHaveProperty('owner');
});

test('its own are among the chosen and count for nothing; those of a dead owner count', () => {
  const rows = [row('a', 'x', 'me'), row('a', 'x', 'dead'), row('a', 'x', 'me'), row('a', 'x')];
  const { chosen, left } = chooseDue(rows, dueRequest('me', 0, { most: 1 }));
  expect(idsOf(chosen)).toEqual(idsOf(rows.slice(0, 3)));
  expect(idsOf(left)).toEqual(idsOf(rows.slice(3)));
});

test('of what has no capacity nothing but its own', () => {
  const rows = [row('a', 'x', 'me'), row('a', 'x'), row('b', 'x'), row('b', 'y')];
  const without = { accountIds: ['a'], destinations: [{ accountId: 'b', domain: 'y' }] };
  const { chosen, left } = chooseDue(rows, dueRequest('me', 0, { without }));
  expect(idsOf(chosen)).toEqual(idsOf([rows[0], rows[2]].flatMap((one) => one ?? [])));
  expect(idsOf(left)).toEqual(idsOf([rows[1], rows[3]].flatMap((one) => one ?? [])));
});
