/** Rows kept in memory never outlive a change, a long time or a clock that steps back. */
import { expect, test } from 'bun:test';

import { RowCache } from '../../src/flow/row-cache.ts';
import { TestClock } from '../rig/clock.ts';

test('a row read before a change is not kept', async () => {
  const cache = new RowCache<number>(new TestClock());
  let finish: (value: number) => void = () => undefined;
  const slow = cache.find('a', () => new Promise<number>((resolve) => (finish = resolve)));
  cache.forget();
  finish(1);
  expect(await slow).toBe(1);
  expect(await cache.find('a', async () => 2)).toBe(2);
  expect(await cache.find('a', async () => 3)).toBe(2);
});

test('absence is not kept, and nothing is kept for long, whatever the wall clock does', async () => {
  const clock = new TestClock();
  const cache = new RowCache<number>(clock);
  expect(await cache.find('a', async () => null)).toBeNull();
  expect(await cache.find('a', async () => 1)).toBe(1);
  clock.jump(-3_600_000);
  await clock.advance(29_000);
  expect(await cache.find('a', async () => 2)).toBe(1);
  await clock.advance(2_000);
  expect(await cache.find('a', async () => 3)).toBe(3);
});

test('a row is as old as the question for it, not as its answer', async () => {
  const clock = new TestClock();
  const cache = new RowCache<number>(clock);
  let answer: (value: number) => void = () => undefined;
  const slow = cache.find('a', () => new Promise<number>((resolve) => (answer = resolve)));
  await clock.advance(20_000);
  answer(1);
  await slow;
  await clock.advance(9_999);
  expect(await cache.find('a', async () => 2)).toBe(1);
  await clock.advance(1);
  expect(await cache.find('a', async () => 3)).toBe(3);
});
