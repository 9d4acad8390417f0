/** The engine for due work: one claim for many wakes, what a claim may return, faults, a full disk, the end. */
import { expect, test } from 'bun:test';

import { DueWork } from '../../../src/flow/due/due-work.ts';
import type { DueWorkOptions } from '../../../src/flow/due/due-work.ts';
import { StoreFullError } from '../../../src/store/store.ts';
import { TestClock } from '../../rig/clock.ts';

interface Row {
  id: string;
}

function start(change: Partial<DueWorkOptions<string, Row>> = {}) {
  const clock = new TestClock();
  // The wall clock is an hour behind: all of this goes by the time that has really passed.
  clock.jump(-3_600_000);
  /** In memory, not picked. */
  const line: string[] = [];
  const seen = {
    begun: [] as string[][],
    run: [] as string[],
    released: [] as string[],
    faults: [] as string[],
    forgotten: 0,
    looks: 0,
  };
  const due = new DueWork<string, Row>({
    clock,
    owner: 'me',
    leaseMs: 90_000,
    shortestLookMs: 0,
    isCurrent: () => true,
    async look() {
      seen.looks += 1;
      return null;
    },
    pick: () => line.splice(0),
    idOf: (id) => id,
    async begin(claims) {
      seen.begun.push([...claims]);
      return claims.map((id) => ({ id }));
    },
    run: (_, { id }) => seen.run.push(id),
    release: (id) => seen.released.push(id),
    forgotten: () => (seen.forgotten += 1),
    failed: (fault) => seen.faults.push(fault),
    ...change,
  });
  due.start();
  return { clock, line, seen, due };
}

test('many wakes of one round of the event loop make one claim', async () => {
  const { clock, line, seen, due } = start();
  for (let id = 0; id < 500; id += 1) {
    line.push(`r${id}`);
    due.wake();
  }
  await clock.advance(0);
  expect(seen.begun).toHaveLength(1);
  expect(seen.run).toHaveLength(500);
  expect(due.inFlight).toBe(500);
});

test('wakes of one round pick once, and wakes of the next round once more', async () => {
  let picks = 0;
  const { clock, due } = start({
    pick() {
      picks += 1;
      return [];
    },
  });
  for (const expected of [1, 2]) {
    for (let wake = 0; wake < 3; wake += 1) due.wake();
    await clock.advance(0);
    expect(picks).toBe(expected);
  }
});

test('a claim marks rows with owner and lease before anything runs', async () => {
  const leases: unknown[] = [];
  const { clock, line, due } = start({
    async begin(claims, lease, now) {
      leases.push({ ...lease, now });
      return claims.map((id) => ({ id }));
    },
  });
  line.push('a');
  due.wake();
  await clock.advance(0);
  const now = clock.steady();
  expect(leases).toEqual([{ owner: 'me', leaseUntil: now + 90_000, now }]);
});

test('a claim that returns fewer rows than asked releases the rest', async () => {
  const { clock, line, seen, due } = start({
    begin: async (claims) => claims.filter((id) => id !== 'b').map((id) => ({ id })),
  });
  line.push('a', 'b', 'c');
  due.wake();
  await clock.advance(0);
  expect(seen.run).toEqual(['a', 'c']);
  expect(seen.released).toEqual(['b']);
  expect(due.inFlight).toBe(2);
});

test('a full disk stops claims, is reported once a pause, and claims go on by themselves', async () => {
  let isFull = true;
  const { clock, line, seen, due } = start({
    async begin(claims) {
      if (isFull) throw new StoreFullError('the disk is full');
      return claims.map((id) => ({ id }));
    },
  });
  line.push('a');
  due.wake();
  await clock.advance(0);
  expect(seen).toMatchObject({ released: ['a'], faults: ['full'], forgotten: 1 });
  line.push('b');
  due.wake();
  due.pauseForFullDisk(new StoreFullError('the disk is full'));
  await clock.advance(1_900);
  expect(seen).toMatchObject({ run: [], released: ['a'], faults: ['full'] });
  isFull = false;
  await clock.advance(200);
  expect(seen.run).toEqual(['b']);
});

test('a look that the full disk refuses stops claims too, and is made again after the pause', async () => {
  let isFull = true;
  let looks = 0;
  const { clock, line, seen } = start({
    async look() {
      looks += 1;
      if (isFull) throw new StoreFullError('the disk is full');
      return null;
    },
  });
  await clock.advance(0);
  line.push('a');
  await clock.advance(1_900);
  expect([seen.faults, seen.begun, looks]).toEqual([['full'], [], 1]);
  isFull = false;
  await clock.advance(200);
  expect([seen.faults, seen.begun, looks]).toEqual([['full'], [['a']], 2]);
});

test('another fault keeps its slots for 5 s and stops no other claim', async () => {
  let faults = 1;
  const { clock, line, seen, due } = start({
    async begin(claims) {
      if (faults-- > 0) throw new Error('a bug of ours');
      return claims.map((id) => ({ id }));
    },
  });
  line.push('a');
  due.wake();
  await clock.advance(0);
  line.push('b');
  due.wake();
  await clock.advance(4_900);
  expect(seen).toMatchObject({ run: ['b'], released: [], faults: ['begin'] });
  expect(due.inFlight).toBe(2);
  const { looks } = seen;
  await clock.advance(200);
  expect(seen).toMatchObject({ released: ['a'], forgotten: 1, looks: looks + 1 });
  expect(due.inFlight).toBe(1);
});

test('the end waits for what runs, begins nothing, and does not wait for the pause after a fault', async () => {
  const { clock, line, seen, due } = start({
    async begin(claims) {
      if (claims.includes('a')) throw new Error('a bug of ours');
      return claims.map((id) => ({ id }));
    },
  });
  line.push('a');
  due.wake();
  await clock.advance(0);
  line.push('b');
  due.wake();
  await clock.advance(0);
  let isOver = false;
  const drained = due.drain().then(() => (isOver = true));
  expect(seen.released).toEqual(['a']);
  line.push('c');
  due.wake();
  await clock.advance(0);
  expect(isOver).toBe(false);
  due.ended();
  await drained;
  expect(seen.run).toEqual(['b']);
});

test('what the owner has marked itself runs without a claim', async () => {
  const { clock, seen, due } = start();
  due.runBegun('a', { id: 'a' });
  await clock.advance(0);
  expect(seen).toMatchObject({ begun: [], run: ['a'] });
  expect(due.inFlight).toBe(1);
});
