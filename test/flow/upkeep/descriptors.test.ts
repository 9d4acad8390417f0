/** When listeners rest for want of descriptors, and when they listen again. */
import { expect, test } from 'bun:test';
import { closeSync, openSync, readdirSync } from 'node:fs';

import { DescriptorWatch } from '../../../src/flow/upkeep/descriptors.ts';
import type { Restable } from '../../../src/flow/upkeep/descriptors.ts';

function watched(limit: number) {
  const seen: string[] = [];
  const fault = { isOn: false };
  let lowest: number | null = 10;
  const listener = (name: string): Restable => ({
    rest: () => void seen.push(`${name} rests`),
    async listenAgain() {
      if (fault.isOn && name === 'b') throw new Error('the address is in use');
      seen.push(`${name} listens`);
    },
  });
  const log = {
    info: (event: string) => void seen.push(event),
    warn: () => undefined,
    error: (event: string) => void seen.push(event),
  };
  const watch = new DescriptorWatch(log, [listener('a'), listener('b')], limit, () => lowest);
  return {
    watch,
    fault,
    /** Runs once with this lowest free descriptor; returns what happened. */
    at: async (descriptor: number | null): Promise<string[]> => {
      lowest = descriptor;
      await watch.run();
      return seen.splice(0);
    },
  };
}

test.each([
  // limit, the last one at which nothing happens, the last one at which they rest
  [256, 223, 192],
  [64, 47, 32],
  [65_536, 65_023, 64_512],
])('with %p descriptors they rest above %p and listen again below %p', async (limit, calm, low) => {
  const { watch, at } = watched(limit);
  expect(await at(calm)).toEqual([]);
  expect(watch.everyMs()).toBe(1_000);
  expect(await at(calm + 1)).toEqual(['descriptors_low', 'a rests', 'b rests']);
  expect(watch.everyMs()).toBe(5_000);
  expect(await at(null)).toEqual([]);
  expect(await at(low)).toEqual([]);
  expect(await at(low - 1)).toEqual(['a listens', 'b listens', 'descriptors_enough']);
  expect(await at(low - 1)).toEqual([]);
  expect(await at(null)).toEqual(['descriptors_low', 'a rests', 'b rests']);
});

test('where the system has no limit they never rest', async () => {
  expect(await watched(Infinity).at(1_000_000)).toEqual([]);
});

test('one that cannot listen again is tried again, and the others listen', async () => {
  const { watch, at, fault } = watched(256);
  await at(null);
  fault.isOn = true;
  expect(await at(10).catch((error: unknown) => String(error))).toContain('in use');
  fault.isOn = false;
  expect(await at(10)).toEqual(['a listens', 'b listens', 'descriptors_enough']);
  expect(watch.everyMs()).toBe(1_000);
});

const lowestFree = (): number => {
  const lowest = openSync('/dev/null', 'r');
  closeSync(lowest);
  return lowest;
};

/** Whether it rests where a reserve begins at `reserveAt`. */
async function restsWith(reserveAt: number): Promise<boolean> {
  let rests = 0;
  const listener = { rest: () => void rests++, listenAgain: () => Promise.resolve() };
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const limit = Math.max(reserveAt + 16, (reserveAt * 8) / 7);
  await new DescriptorWatch(log, [listener], limit).run();
  return rests > 0;
}

test('by itself it asks the system for the lowest descriptor, and gives that back', async () => {
  const seen: unknown[] = [];
  const right = [true, false, true, true];
  // Another thread may end in between and give back a lower one: then all of it is looked at again.
  while (seen.length < 20 && !Bun.deepEquals(seen.at(-1), right)) {
    const [lowest, open] = [lowestFree(), readdirSync('/proc/self/fd').length];
    // With so many a reserve begins at the lowest one, or just behind it.
    const rests = [await restsWith(lowest), await restsWith(lowest + 1)];
    const isAsBefore = readdirSync('/proc/self/fd').length === open;
    seen.push([...rests, lowestFree() === lowest, isAsBefore]);
  }
  expect(seen.at(-1)).toEqual(right);
});
