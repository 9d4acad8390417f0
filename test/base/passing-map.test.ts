/** Maps for what comes and goes: as Map to whoever uses one, and nothing of what left outlives a collection of young objects. */
import { edenGC, fullGC, heapStats } from 'bun:jsc';
import { expect, test } from 'bun:test';

import { PassingMap } from '../../src/base/passing-map.ts';
import { seeded } from '../mail/random.ts';

test('it has what was put in, in the order in which keys came, until it is taken', () => {
  const map = new PassingMap<string, number>();
  for (const [key, value] of Object.entries({ a: 1, b: 2, c: 3 })) map.set(key, value);
  map.set('a', 10);
  expect([...map]).toEqual([
    ['a', 10],
    ['b', 2],
    ['c', 3],
  ]);
  expect([map.size, map.get('b'), map.take('b')]).toEqual([3, 2, 2]);
  expect([map.size, map.get('b'), map.take('b')]).toEqual([2, undefined, undefined]);
  map.set('b', 4);
  expect([...map.values()]).toEqual([10, 3, 4]);
  expect([map.takeAll(), map.size, map.takeAll()]).toEqual([[10, 3, 4], 0, []]);
});

test('what is taken while it is gone through is not met, and what is put in then is', () => {
  const map = new PassingMap<number, string>();
  for (const key of [1, 2, 3]) map.set(key, `v${key}`);
  const met: string[] = [];
  for (const [key, value] of map) {
    met.push(value);
    map.take(key);
    if (key === 1) {
      map.take(2);
      map.set(4, 'v4');
    }
  }
  expect([met, map.size]).toEqual([['v1', 'v3', 'v4'], 0]);
});

const SEED = Number(process.env['POSTRIDER_SEED'] ?? Date.now() % 1_000_000);

test(`at whatever is done to it, it has what a Map has (POSTRIDER_SEED=${SEED})`, () => {
  const random = seeded(SEED);
  const map = new PassingMap<number, number | undefined>();
  const model = new Map<number, number | undefined>();
  for (let step = 0; step < 20_000; step += 1) {
    const key = random.int(30);
    const kind = random.int(1_000);
    if (kind < 500) {
      const value = kind < 50 ? undefined : step;
      map.set(key, value);
      model.set(key, value);
    } else if (kind < 999) {
      expect(map.take(key)).toBe(model.get(key));
      model.delete(key);
    } else {
      expect(map.takeAll()).toEqual([...model.values()]);
      model.clear();
    }
    expect([map.size, map.get(key)]).toEqual([model.size, model.get(key)]);
  }
  expect([...map]).toEqual([...model]);
});

const PASSED = 2_000;
const AT_ONCE = 10;

/** Values of `PASSED` that outlive a collection of young objects, after `AT_ONCE` at a time have passed through. */
function outliving(pass: (value: Date, key: number) => void): number {
  const passAll = (): void => {
    for (let key = 0; key < PASSED; key += 1) pass(new Date(key), key);
  };
  passAll();
  fullGC();
  // Of a table, too, that was there at the last collection.
  edenGC();
  const before = heapStats().objectTypeCounts['Date'] ?? 0;
  passAll();
  edenGC();
  return (heapStats().objectTypeCounts['Date'] ?? 0) - before;
}

test('of what passes through nothing but the present outlives a small collection', () => {
  const map = new PassingMap<number, Date>();
  const kept = outliving((value, key) => {
    map.set(key, value);
    map.take((key + PASSED - AT_ONCE) % PASSED);
  });
  expect(kept).toBeLessThan(5 * AT_ONCE);
});

test('a Map still keeps half of it (docs/runtime-hazards.md H40)', () => {
  const map = new Map<number, Date>();
  const kept = outliving((value, key) => {
    map.set(key, value);
    map.delete((key + PASSED - AT_ONCE) % PASSED);
  });
  expect(kept).toBeGreaterThan(PASSED / 4);
});
