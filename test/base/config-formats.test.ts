/** What the formats of the config take at their limits, and one beyond each. */
import { expect, test } from 'bun:test';

import {
  WrongValue,
  duration,
  limitsByAge,
  listenAddress,
  planId,
  size,
  wholeNumber,
  type Format,
} from '../../src/base/config-formats.ts';

/** The appliance's own value, or null for a refusal. */
function read<T>(format: Format<T>, value: unknown): T | null {
  try {
    return format.read(value);
  } catch (error) {
    if (error instanceof WrongValue) return null;
    throw error;
  }
}

test('a whole number: both ends count', () => {
  const format = wholeNumber(2, 5);
  expect([1, 2, 5, 6, 2.5, '2', -0].map((value) => read(format, value))).toEqual([
    null,
    2,
    5,
    null,
    null,
    null,
    null,
  ]);
});

test('a duration: the least one counts, and "0" only where nothing at all may be', () => {
  const aSecond = duration(1_000);
  expect(['999ms', '1000ms', '1s', '0', '0s'].map((value) => read(aSecond, value))).toEqual([
    null,
    1_000,
    1_000,
    null,
    null,
  ]);
  const none = duration(0);
  expect(['0', '0s', '1ms', '2h', '3d', '5m'].map((value) => read(none, value))).toEqual([
    0, 0, 1, 7_200_000, 259_200_000, 300_000,
  ]);
  expect(() => aSecond.read('0s')).toThrow('must be at least "1s"');
  expect(() => duration(86_400_000).read('23h')).toThrow('must be at least "1d"');
});

test('a port: 0 to 65535', () => {
  const portOf = (port: number): number | null =>
    read(listenAddress, `127.0.0.1:${port}`)?.port ?? null;
  expect([0, 1, 65_535, 65_536].map(portOf)).toEqual([0, 1, 65_535, null]);
});

test('a size: no part of a byte, none below 0', () => {
  expect([0, 1.5, -1, '0', '0B', '1 kB', '1KiB', '2GiB'].map((value) => read(size, value))).toEqual(
    [0, null, null, null, 0, 1_000, 1_024, 2_147_483_648],
  );
});

test('limits by age: days ascend, and no day stands twice', () => {
  const rows = [
    [0, 1],
    [7, 2],
  ] as const;
  expect(read(limitsByAge, rows)).toEqual([
    [0, 1],
    [7, 2],
  ]);
  expect(read(limitsByAge, [rows[0], rows[0]])).toBeNull();
  expect(read(limitsByAge, [rows[1], rows[0]])).toBeNull();
  expect(read(limitsByAge, [[1]])).toBeNull();
  expect(read(limitsByAge, [[1, 2, 3]])).toBeNull();
});

test.each([
  ['a', true],
  ['0-pro_2', true],
  ['a'.repeat(40), true],
  ['a'.repeat(41), false],
  ['-a', false],
  ['_a', false],
  ['Pro', false],
  ['a b', false],
  ['', false],
])('%p may be the id of a plan: %p', (id, isTaken) => {
  const read = (): unknown => planId.read(id);
  if (isTaken) expect(read()).toBe(id);
  else expect(read).toThrow(WrongValue);
});
