/** Where looks for due mail begin, while the queue's beginning is full of what is gone. */
import { expect, test } from 'bun:test';

import { DueFloor } from '../../../src/store/postgres/due-floor.ts';

const NOW = 1_000_000_000_000;
const row = (dueAt: number) => ({ id: 'r', accountId: 'a', domain: 'd', dueAt, owner: null });

test('a look begins shortly before the first row of the last whole one, and thirty seconds later at the beginning', () => {
  let tick = 5;
  const floor = new DueFloor(() => tick);
  expect(floor.from(NOW)).toBe(0);
  floor.seen([row(NOW - 40_000), row(NOW)], NOW, true);
  expect(floor.from(NOW)).toBe(NOW - 55_000);
  tick += 29_999;
  expect(floor.from(NOW + 29_999)).toBe(NOW - 55_000);
  tick += 1;
  expect(floor.from(NOW + 30_000)).toBe(0);
});

test('where nothing is due it begins shortly before now; a clock that was put back begins anew', () => {
  const floor = new DueFloor(() => 0);
  floor.seen([], NOW, true);
  expect(floor.from(NOW)).toBe(NOW - 15_000);
  expect(floor.from(NOW - 20_000)).toBe(0);
});

test('what an ended session leaves free is found by the next look', () => {
  const floor = new DueFloor(() => 0);
  floor.seen([], NOW, true);
  expect(floor.from(NOW)).toBe(NOW - 15_000);
  floor.forget();
  expect(floor.from(NOW)).toBe(0);
});

test('it follows what looks find, and those between put none from the beginning off', () => {
  let tick = 0;
  const floor = new DueFloor(() => tick);
  floor.seen([], NOW, true);
  tick = 20_000;
  floor.seen([], NOW + 20_000, false);
  expect(floor.from(NOW + 20_000)).toBe(NOW + 5_000);
  floor.seen([row(NOW + 10_000)], NOW + 20_000, false);
  expect(floor.from(NOW + 20_000)).toBe(NOW - 5_000);
  tick = 30_000;
  expect(floor.from(NOW + 30_000)).toBe(0);
});
