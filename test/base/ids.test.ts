/** Ids are UUIDv7 of RFC 9562, each its own, in the order they were made. */
import { expect, test } from 'bun:test';
import { idTime, isId, newId } from '../../src/base/ids.ts';

/** Beyond what any other test of the process may have made: the embedded time never goes back. */
const NOW = Date.UTC(2100, 0, 1);

test('version and variant stand in their places, over many draws of random octets', () => {
  const ids = Array.from({ length: 3_000 }, () => newId(NOW));
  for (const id of ids) {
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect([isId(id), idTime(id)]).toEqual([true, NOW]);
  }
  // What is random is used once, and all four values of the variant's free bits occur.
  expect(new Set(ids.map((id) => id.slice(19))).size).toBe(ids.length);
  expect(new Set(ids.map((id) => id[19])).size).toBe(4);
});

test('ids sort as they were made, in one millisecond, over its end, and when the clock steps back', () => {
  const ids = Array.from({ length: 10_000 }, (_, place) => newId(NOW + 1 - (place % 2)));
  expect(ids.toSorted()).toEqual(ids);
});
