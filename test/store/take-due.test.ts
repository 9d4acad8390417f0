/** Taking due recipients over its two steps: what is asked of each, and what is answered of what they found. */
import { expect, test } from 'bun:test';

import type { DueRow } from '../../src/store/due-choice.ts';
import type { RecipientRef } from '../../src/store/journey.ts';
import { takingDue } from '../../src/store/take-due.ts';
import { dueRequest } from './samples.ts';

const row = (id: string, domain: string, owner: string | null): DueRow => ({
  id,
  accountId: 'a',
  domain,
  dueAt: Number(id.slice(1)),
  owner,
});
const refOf = ({ id, accountId, domain, dueAt }: DueRow): RecipientRef => ({
  id,
  accountId,
  domain,
  dueAt,
});

/** A store that has these rows, and of which others have taken `lost` since. */
function storeWith(rows: DueRow[], ...lost: string[]) {
  const asked: unknown[] = [];
  const verb = takingDue({
    async dueRows(request) {
      asked.push(request);
      return rows;
    },
    async takeStep(...step) {
      asked.push(step);
      // In any order.
      return step[1].filter((id) => !lost.includes(id)).toReversed();
    },
  });
  return { ...verb, asked };
}

test('what was the owner’s and what the write has marked is its own, in the order of the rows', async () => {
  const rows = [
    row('r1', 'x', null),
    row('r2', 'x', 'me'),
    row('r3', 'y', 'dead'),
    row('r4', 'x', null),
    row('r5', 'y', null),
    row('r6', 'x', null),
  ];
  const [one, two, three, , five, six] = rows.map(refOf);
  const { takeDue, asked } = storeWith(rows, 'r4');
  const after = { id: 'r0', accountId: 'a', domain: 'x', dueAt: 0 };
  const request = dueRequest('me', 7, { after, limit: 6, most: 2 });
  expect(await takeDue(request)).toEqual({
    ours: [one, two, three, five] as RecipientRef[],
    left: [six] as RecipientRef[],
    last: six as RecipientRef,
    isEnd: false,
  });
  expect(asked).toEqual([
    { owner: 'me', now: 7, limit: 6, after },
    ['me', ['r1', 'r3', 'r4', 'r5'], 7],
  ]);
  expect((await takeDue({ ...request, limit: 7 })).isEnd).toBe(true);
});

test('nothing is written where nothing is free, and one destination is asked for by its name alone', async () => {
  const rows = [row('r1', 'x', 'me'), row('r2', 'x', null)];
  const { takeDue, asked } = storeWith(rows);
  const of = { ...rows[0], accountId: 'a', domain: 'x' };
  const without = { accountIds: ['a'], destinations: [] };
  const [own, free] = rows.map(refOf);
  expect(await takeDue(dueRequest('me', 7, { of, without, limit: 2 }))).toEqual({
    ours: [own] as RecipientRef[],
    left: [free] as RecipientRef[],
    last: free as RecipientRef,
    isEnd: false,
  });
  expect(asked).toEqual([
    { owner: 'me', now: 7, limit: 2, after: null, of: { accountId: 'a', domain: 'x' } },
  ]);
  const empty = storeWith([]);
  expect(await empty.takeDue(dueRequest('me', 7))).toEqual({
    ours: [],
    left: [],
    last: null,
    isEnd: true,
  });
  expect(empty.asked).toHaveLength(1);
});
