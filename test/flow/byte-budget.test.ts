/** The budget of what comes in: parts, owners, one large body at a time, and everything given back. */
import { expect, test } from 'bun:test';

import { ByteBudget } from '../../src/flow/byte-budget.ts';

const KIB = 1024;
const small = 64 * KIB;
const sizes = { large: 4_000 * KIB, small: 100 * KIB };

test('small bodies have a part of their own, and large ones take none of it', () => {
  const budget = new ByteBudget(sizes);
  const [one, other] = [budget.open('a'), budget.open('b')];
  expect([one.grow(2_000 * KIB), other.grow(2_000 * KIB)]).toEqual([true, true]);
  expect(budget.open('c').grow(small + 1)).toBe(false);
  expect([budget.open('c').grow(small), budget.open('c').grow(small)]).toEqual([true, false]);
});

test('one owner gets half of what large bodies may take', () => {
  const budget = new ByteBudget(sizes);
  expect(budget.open('a').grow(1_500 * KIB)).toBe(true);
  expect(budget.open('a').grow(1_500 * KIB)).toBe(false);
  expect(budget.isFree(1_500 * KIB, 'b')).toBe(true);
});

test('a share that grows moves to the other part, and all of it comes back, once', () => {
  const budget = new ByteBudget(sizes);
  const share = budget.open('a');
  expect([share.grow(small), budget.isFree(small, 'b')]).toEqual([true, false]);
  expect([share.grow(KIB), budget.isFree(small, 'b')]).toEqual([true, true]);
  expect(budget.bytes).toBe(65 * KIB);
  expect(share.grow(4_000 * KIB)).toBe(false);
  expect(budget.bytes).toBe(65 * KIB);
  share.release();
  share.release();
  expect([budget.bytes, share.grow(1)]).toEqual([0, false]);
});

test('large bodies are worked on one after the other, small ones at once', async () => {
  const budget = new ByteBudget(sizes);
  const shares = [1, 2, 3].map((n) => budget.open(`owner ${n}`));
  for (const share of shares) share.grow(1_000 * KIB);
  const order: string[] = [];
  const works = shares.map(async (share, index) => {
    await share.begin();
    order.push(`begin ${index}`);
    await new Promise((resolve) => setImmediate(resolve));
    order.push(`end ${index}`);
    share.release();
  });
  const quick = budget.open('d');
  quick.grow(KIB);
  await quick.begin();
  expect(order).toEqual(['begin 0']);
  await Promise.all(works);
  expect(order).toEqual([0, 1, 2].flatMap((n) => [`begin ${n}`, `end ${n}`]));
});

test('a small body is counted once, and is none of what its owner has of the large part', () => {
  const budget = new ByteBudget(sizes);
  expect(budget.open('a').grow(small)).toBe(true);
  expect([budget.bytes, budget.open('a').grow(2_000 * KIB)]).toEqual([small, true]);
});

test('work is counted until it has ended, well or not, and the next large one begins after it', async () => {
  const budget = new ByteBudget(sizes);
  const seen: unknown[] = [];
  const ends = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
  const works = ends.map(({ promise }, at) =>
    budget.during(1_000 * KIB, 'a', () => {
      seen.push(`begin ${at}`, budget.bytes);
      return promise;
    }),
  );
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  await settle();
  await settle();
  expect(seen).toEqual(['begin 0', 2_000 * KIB]);
  ends[0]?.resolve('done');
  expect([await works[0], budget.bytes]).toEqual(['done', 1_000 * KIB]);
  await settle();
  await settle();
  expect(seen.slice(2)).toEqual(['begin 1', 1_000 * KIB]);
  ends[1]?.reject(new Error('failed'));
  expect([await works[1]?.catch(String), budget.bytes]).toEqual(['Error: failed', 0]);
});

test('work for which there is no memory is not begun, and leaves nothing counted', async () => {
  const budget = new ByteBudget(sizes);
  let isBegun = false;
  const refused = budget.during(2_001 * KIB, 'a', async () => (isBegun = true));
  expect(await refused.catch(({ code }: { code: string }) => code)).toBe('platform_halted');
  expect([isBegun, budget.bytes, budget.isFree(2_000 * KIB, 'a')]).toEqual([false, 0, true]);
});

test('owners alternate: a large body of another comes before those of whoever had the last', async () => {
  const budget = new ByteBudget({ large: 40_000 * KIB, small: 100 * KIB });
  const order: string[] = [];
  const work = (owner: string, number: number): Promise<void> =>
    budget.during(1_000 * KIB, owner, async () => {
      await new Promise((resolve) => setImmediate(resolve));
      order.push(owner + number);
    });
  const flood = Array.from({ length: 5 }, (_, at) => work('a', at));
  await flood[0];
  await Promise.all([work('b', 0), work('b', 1), work('c', 0), work('a', 5), ...flood]);
  expect(order).toEqual(['a0', 'b0', 'a1', 'c0', 'b1', 'a2', 'a3', 'a4', 'a5']);
  await Promise.all([work('c', 1), work('a', 6)]);
  expect(order.slice(-2)).toEqual(['c1', 'a6']);
});
