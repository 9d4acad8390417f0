/** How many attempts may be under way: slow ones stand aside, up to a number, and nothing is left behind when all ended. */
import { expect, test } from 'bun:test';

import { Concurrency, type ConcurrencyLimits } from '../../../src/flow/pacing/concurrency.ts';
import { FairShare } from '../../../src/flow/pacing/fair-share.ts';

const LIMITS: ConcurrencyLimits = {
  attempts: 4,
  slowMs: 10,
  slowMax: 2,
  reserved: 1,
  crowd: 3,
  crowdWaitMs: 10,
  unsigned: 9_999,
};

/** Takes slots for as long as there are free ones; returns them. */
function fill(concurrency: Concurrency, isUnproven: boolean) {
  const slots: ReturnType<Concurrency['take']>[] = [];
  const isFree = (): boolean => (isUnproven ? concurrency.isFreeForUnproven : concurrency.isFree);
  while (isFree()) slots.push(concurrency.take('a', isUnproven));
  return slots;
}

test('unproven sites leave the reserved part to those that have answered', () => {
  const concurrency = new Concurrency(LIMITS);
  expect(fill(concurrency, true)).toHaveLength(3);
  expect(concurrency.isCrowded).toBe(true);
  expect(fill(concurrency, false)).toHaveLength(1);
  expect(concurrency.taken).toBe(4);
});

test('a crowd begins with its last member and ends without it', () => {
  const concurrency = new Concurrency(LIMITS);
  const [first] = [concurrency.take('a', true), concurrency.take('a', true)];
  expect(concurrency.isCrowded).toBe(false);
  concurrency.take('a', true);
  expect(concurrency.isCrowded).toBe(true);
  concurrency.leave(first);
  expect(concurrency.isCrowded).toBe(false);
  // Sites that have answered are no part of it.
  concurrency.take('a', false);
  expect(concurrency.isCrowded).toBe(false);
});

test('a slow attempt lets another begin beside it, only so many of them, and only while it lasts', () => {
  const concurrency = new Concurrency(LIMITS);
  for (let round = 0; round < 3; round += 1) {
    const slots = fill(concurrency, false);
    expect(slots).toHaveLength(4);
    for (const slot of slots.slice(0, 3)) concurrency.slow(slot);
    const beside = fill(concurrency, false);
    expect(beside).toHaveLength(LIMITS.slowMax);
    for (const slot of [...slots, ...beside]) concurrency.leave(slot);
    expect(concurrency.taken).toBe(0);
  }
});

test('an account has four times what is free at most, and what is slow does not count', () => {
  const concurrency = new Concurrency({ ...LIMITS, attempts: 100, reserved: 50, slowMax: 60 });
  const fillFor = (accountId: string, isUnproven: boolean) => {
    const slots: ReturnType<Concurrency['take']>[] = [];
    while (concurrency.mayTake(accountId, isUnproven)) {
      slots.push(concurrency.take(accountId, isUnproven));
    }
    return slots;
  };
  expect(fillFor('a', true)).toHaveLength(40);
  const proven = fillFor('a', false);
  expect(proven).toHaveLength(40);
  expect(fillFor('b', true)).toHaveLength(0);
  expect(fillFor('b', false)).toHaveLength(16);
  for (const slot of proven) concurrency.slow(slot);
  expect(concurrency.mayTake('a', true)).toBe(false);
  expect(fillFor('a', false).length).toBeGreaterThan(10);
  expect(fillFor('c', false).length).toBeGreaterThan(0);
});

test('without other figures a thousand attempts may be under way, a quarter of them to sites that answered alone', () => {
  const concurrency = new Concurrency();
  expect(concurrency.limits).toEqual({
    attempts: 1_000,
    slowMs: 1_000,
    slowMax: 2_000,
    reserved: 250,
    crowd: 1_500,
    crowdWaitMs: 10_000,
    unsigned: 32,
  });
  expect(fill(concurrency, true)).toHaveLength(750);
  expect(fill(concurrency, false)).toHaveLength(250);
  expect([concurrency.taken, concurrency.isFree]).toEqual([1_000, false]);
});

test('so many messages wait for their signature, eight times as many where a commit comes first', () => {
  const concurrency = new Concurrency({ ...LIMITS, unsigned: 2 });
  const slots = [concurrency.take('a', false), concurrency.take('b', true)];
  expect([concurrency.mayBeSigned(false), concurrency.mayBeSigned(true)]).toEqual([false, true]);
  for (let more = 0; more < 14; more += 1) slots.push(concurrency.take('a', false));
  expect(concurrency.mayBeSigned(true)).toBe(false);
  // One is signed, and gives its slot back later: both count once.
  const [first] = slots.splice(0, 1);
  if (first !== undefined)
    for (const end of ['signed', 'signed', 'leave'] as const) concurrency[end](first);
  expect([concurrency.mayBeSigned(false), concurrency.mayBeSigned(true)]).toEqual([false, true]);
  for (const slot of slots.splice(0, 14)) concurrency.leave(slot);
  expect([slots.length, concurrency.mayBeSigned(false)]).toEqual([1, true]);
  concurrency.take('a', false);
  expect(concurrency.mayBeSigned(false)).toBe(false);
});

test('of a slot everybody can read whose it is, and whether it is slow', () => {
  const concurrency = new Concurrency(LIMITS);
  const slot = concurrency.take('a', true);
  expect(slot).toEqual({ accountId: 'a', isUnproven: true, isSlow: false, isSigned: false });
  concurrency.slow(slot);
  expect(slot.isSlow).toBe(true);
});

test('what is slow stands aside for its own account, and of too many slow ones each account has its part', () => {
  const limits = { ...LIMITS, attempts: 10, reserved: 0, slowMax: 4 };
  const busy = (slow: Record<string, number>, others: Record<string, number>) => {
    const concurrency = new Concurrency(limits);
    for (const [accountId, count] of Object.entries(slow))
      for (let n = 0; n < count; n += 1) concurrency.slow(concurrency.take(accountId, false));
    for (const [accountId, count] of Object.entries(others))
      for (let n = 0; n < count; n += 1) concurrency.take(accountId, false);
    return concurrency;
  };
  // One is free, so each may have three beside its next one.
  expect(busy({ a: 4 }, { b: 8, c: 1 }).mayTake('a', false)).toBe(true);
  // Half of its eight count.
  expect(busy({ a: 8 }, { b: 5 }).mayTake('a', false)).toBe(false);
  // Of its seven slow ones three are left out, and a ninth of another one is none.
  expect(busy({ a: 7, b: 2 }, { c: 4 }).mayTake('a', false)).toBe(false);
  expect(busy({ a: 6, b: 3 }, { c: 4 }).mayTake('b', false)).toBe(true);
  // One that is slow lets one more begin, not as many as may be slow.
  expect(busy({ a: 1 }, { a: 7 }).mayTake('a', false)).toBe(true);
  expect(busy({ a: 1 }, { a: 8 }).mayTake('a', false)).toBe(false);
});

test('slow attempts that have ended leave nothing to their account, and proven ones nothing to the crowd', () => {
  const concurrency = new Concurrency({ ...LIMITS, attempts: 10, reserved: 0, slowMax: 4 });
  const slots = [1, 2, 3, 4].map(() => concurrency.take('a', false));
  for (const slot of slots) concurrency.slow(slot);
  for (const slot of slots) concurrency.leave(slot);
  concurrency.slow(concurrency.take('b', false));
  let count = 0;
  for (; concurrency.mayTake('a', true); count += 1) concurrency.take('a', true);
  expect(count).toBe(8);
  const other = new Concurrency(LIMITS);
  other.leave(other.take('a', false));
  for (let n = 0; n < LIMITS.crowd; n += 1) other.take('a', true);
  expect(other.isCrowded).toBe(true);
});

test('attempts that have ended, however many, take nothing of what their account may have', () => {
  const concurrency = new Concurrency({ ...LIMITS, attempts: 10, reserved: 0 });
  for (let round = 0; round < 100; round += 1) concurrency.leave(concurrency.take('a', false));
  let count = 0;
  for (; concurrency.mayTake('a', false); count += 1) concurrency.take('a', false);
  expect([count, concurrency.taken]).toEqual([8, 8]);
});

test('an attempt of the crowd that took long leaves it all the same', () => {
  const concurrency = new Concurrency(LIMITS);
  const slots = [1, 2, 3].map(() => concurrency.take('a', true));
  for (const slot of slots) concurrency.slow(slot);
  expect(concurrency.isCrowded).toBe(true);
  for (const slot of slots) concurrency.leave(slot);
  for (let count = 1; count <= 3; count += 1) {
    concurrency.take('a', true);
    expect(concurrency.isCrowded).toBe(count === 3);
  }
});

test('an account that gave all back has nothing, and what another has is its own', () => {
  const shares = new FairShare();
  shares.take('a');
  shares.take('a');
  shares.take('b');
  expect([shares.of('a'), shares.of('b'), shares.of('c')]).toEqual([2, 1, 0]);
  shares.giveBack('a');
  expect([shares.of('a'), shares.of('b')]).toEqual([1, 1]);
  shares.giveBack('a');
  expect([shares.of('a'), shares.of('b')]).toEqual([0, 1]);
  // Fewer than four times what is free.
  expect([shares.leavesEnough(3, 1), shares.leavesEnough(4, 1), shares.leavesEnough(0, 0)]).toEqual(
    [true, false, false],
  );
});
