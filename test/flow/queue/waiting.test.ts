/** What is kept in memory, by its figures: how much of a destination, of an account and of all, and what is forgotten. */
import { expect, test } from 'bun:test';

import { Waiting } from '../../../src/flow/queue/waiting.ts';
import type { Destination } from '../../../src/flow/queue/waiting.ts';
import type { RecipientRef } from '../../../src/store/journey.ts';

let ids = 0;

function refOf(domain = 'x.example', accountId = 'a', dueAt = 1_000): RecipientRef {
  ids += 1;
  return { id: `r${ids}`, accountId, domain, dueAt };
}

/** Adds `count` references in lines of 500, on from line `from`. */
function addMany(waiting: Waiting, accountId: string, count: number): void {
  for (let at = 0; at < count; at += 1) {
    waiting.add(refOf(`d${Math.floor(at / 500)}.example`, accountId));
  }
}

function added(waiting: Waiting, ref = refOf()): Destination {
  const destination = waiting.add(ref);
  if (destination === null) throw new Error('no destination');
  return destination;
}

test('a line has 500 references, is low below 100 when there is more, and takes no more from 401 on', () => {
  const waiting = new Waiting();
  const seen: unknown[] = [];
  const destination = added(waiting);
  const of = { accountId: 'a', domain: 'x.example' };
  for (let more = 1; more <= 500; more += 1) {
    const { length } = destination.line;
    if ([400, 401, 499, 500].includes(length)) {
      seen.push([length, destination.hasMore, waiting.full()]);
    }
    waiting.add(refOf());
  }
  expect(seen).toEqual([
    [400, false, { accountIds: [], destinations: [] }],
    [401, false, { accountIds: [], destinations: [of] }],
    [499, false, { accountIds: [], destinations: [of] }],
    [500, false, { accountIds: [], destinations: [of] }],
  ]);
  expect([destination.line.length, destination.hasMore, waiting.size]).toEqual([500, true, 500]);
  for (let left = 500; left > 100; left -= 1) waiting.take(destination);
  expect([destination.line.length, destination.isLow]).toEqual([100, false]);
  waiting.take(destination);
  expect([destination.line.length, destination.isLow]).toEqual([99, true]);
  destination.hasMore = false;
  expect(destination.isLow).toBe(false);
});

test('one account alone has 40,000 references, each of two 22,222, and another always has some', () => {
  const alone = new Waiting();
  addMany(alone, 'a', 50_000);
  expect(alone.size).toBe(40_000);
  expect([alone.isFullFor('a'), alone.isFullFor('b')]).toEqual([true, false]);
  expect(alone.full().accountIds).toEqual(['a']);

  const two = new Waiting();
  const lines = { a: 0, b: 0 };
  for (let at = 0; at < 30_000; at += 1) {
    for (const account of ['a', 'b'] as const) {
      const before = two.size;
      two.add(refOf(`d${Math.floor(at / 500)}.example`, account));
      lines[account] += two.size - before;
    }
  }
  expect(lines).toEqual({ a: 22_223, b: 22_222 });
  expect(two.full().accountIds).toEqual(['a', 'b']);
  expect(two.add(refOf('new.example', 'c'))).not.toBeNull();
});

test('what an account has no capacity for is left in the store: a new destination is not even remembered', () => {
  const waiting = new Waiting();
  const known = added(waiting, refOf('known.example'));
  addMany(waiting, 'a', 50_000);
  const { length } = known.line;
  expect(waiting.add(refOf('new.example'))).toBeNull();
  expect(waiting.addLeft(refOf('new.example'))).toBeNull();
  expect(known.hasMore).toBe(false);
  expect(waiting.add(refOf('known.example'))).toBe(known);
  expect([known.hasMore, known.line.length]).toEqual([true, length]);
});

test('it is looked for again, once, when the account has no more than there is capacity left', () => {
  const waiting = new Waiting();
  const lines = new Map<string, Destination>();
  for (let at = 0; at < 40_000; at += 1) {
    const destination = added(waiting, refOf(`d${Math.floor(at / 500)}.example`));
    lines.set(destination.domain, destination);
  }
  expect(waiting.takeMissed()).toBe(false);
  waiting.addLeft(refOf('new.example'));
  const takeDownTo = (left: number): void => {
    for (const destination of lines.values()) {
      while (waiting.size > left && destination.line.length > 0) waiting.take(destination);
    }
  };
  takeDownTo(25_001);
  expect([waiting.size, waiting.takeMissed()]).toEqual([25_001, false]);
  takeDownTo(25_000);
  expect([waiting.takeMissed(), waiting.takeMissed()]).toEqual([true, false]);
});

test('a recipient is in one line once, from its adding to its release', () => {
  const waiting = new Waiting();
  const ref = refOf();
  const destination = added(waiting, ref);
  expect([waiting.add(ref), waiting.isInAttempt(ref.id)]).toEqual([null, false]);
  expect(waiting.take(destination)).toBe(ref);
  expect([waiting.add(ref), waiting.isInAttempt(ref.id), waiting.size]).toEqual([null, true, 0]);
  expect(waiting.take(destination)).toBeNull();
  waiting.release(ref.id);
  expect(waiting.isInAttempt(ref.id)).toBe(false);
  expect(waiting.add(ref)).toBe(destination);
});

test('a line is read anew when something is left at or before the position it was read to, not behind it', () => {
  const waiting = new Waiting();
  const destination = added(waiting);
  const filledTo = refOf('x.example', 'a', 5_000);
  const positions = [4_999, 5_000, 5_001].map((dueAt): RecipientRef | null => {
    destination.filledTo = filledTo;
    destination.hasMore = false;
    expect(waiting.addLeft(refOf('x.example', 'a', dueAt))).toBe(destination);
    expect(destination.hasMore).toBe(true);
    return destination.filledTo;
  });
  expect(positions).toEqual([null, null, filledTo]);
});

test('destinations without anything are forgotten when there are more than two thousand, and only those', () => {
  const waiting = new Waiting();
  const add = (at: number): Destination => {
    const destination = added(waiting, refOf(`d${at}.example`));
    waiting.release(waiting.take(destination)?.id ?? '');
    return destination;
  };
  const all = Array.from({ length: 2_000 }, (_, at) => add(at));
  const [first, second] = [all[0], all[1]];
  if (first === undefined || second === undefined) throw new Error('no destinations');
  waiting.forget(first);
  expect(add(0)).toBe(first);
  add(2_000);
  for (const state of ['hasMore', 'isFinding', 'isFilling', 'isInLane'] as const) {
    first[state] = true;
    waiting.forget(first);
    first[state] = false;
    expect(add(0)).toBe(first);
  }
  const ref = refOf('d0.example');
  waiting.add(ref);
  waiting.forget(first);
  expect(waiting.addLeft(refOf('d0.example'))).toBe(first);
  first.hasMore = false;
  expect(waiting.take(first)).toBe(ref);
  waiting.forget(first);
  expect(add(0)).not.toBe(first);
  // As many as are kept, and one more, again: the next one goes.
  waiting.forget(second);
  expect(add(1)).not.toBe(second);
});

test('a look-up that ends is due at once, and one that was not made stays so', () => {
  const waiting = new Waiting();
  const known = added(waiting, refOf('known.example'));
  const unknown = added(waiting, refOf('unknown.example'));
  known.lookup = { lane: null as never, found: null as never, until: 99_000 };
  waiting.expireLookups();
  expect([known.lookup.until, unknown.lookup]).toEqual([0, null]);
});
