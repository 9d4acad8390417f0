/** Ids are UUIDv7 of RFC 9562, each its own, in the order they were made. */
import { expect, test } from 'bun:test';
import { idBound, idTime, IdSource, isId } from '../../src/base/ids.ts';

const NOW = Date.UTC(2100, 0, 1);

test('version and variant are where they belong, over many draws of random octets', () => {
  const source = new IdSource();
  const ids = Array.from({ length: 3_000 }, () => source.next(NOW));
  for (const id of ids) {
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect([isId(id), idTime(id)]).toEqual([true, NOW]);
  }
  // What is random is used once, and all four values of the variant's free bits occur.
  expect(new Set(ids.map((id) => id.slice(19))).size).toBe(ids.length);
  expect(new Set(ids.map((id) => id[19])).size).toBe(4);
});

test('ids sort as they were made, in one millisecond, over its end, and when the clock steps back', () => {
  const source = new IdSource();
  const ids = Array.from({ length: 10_000 }, (_, index) => source.next(NOW + 1 - (index % 2)));
  expect(ids.toSorted()).toEqual(ids);
});

test('two sources in one process do not share their clock', () => {
  new IdSource().next(NOW + 1_000);
  expect(idTime(new IdSource().next(NOW))).toBe(NOW);
});

test('an id sorts by its time against a bound', () => {
  const id = new IdSource().next(NOW);
  expect(id > idBound(NOW)).toBe(true);
  expect(id < idBound(NOW + 1)).toBe(true);
  expect(id > idBound(-1)).toBe(true);
});

test('of one millisecond there are 4,096 ids, then its time goes on by one, which has as many', () => {
  const source = new IdSource();
  const ids = Array.from({ length: 8_193 }, () => source.next(NOW));
  const counts = [0, 1, 2].map((ms) => ids.filter((id) => idTime(id) === NOW + ms).length);
  expect(counts).toEqual([4_096, 4_096, 1]);
});

test.each([
  ['0192f3a4-7c11-7b3e-9f20-c1d2e3f4a5b6', true],
  ['0192F3A4-7c11-7b3e-9f20-c1d2e3f4a5b6', false],
  ['0192f3a47c117b3e9f20c1d2e3f4a5b6', false],
  ['0192f3a4-7c11-7b3e-9f20-c1d2e3f4a5b', false],
  ['0192f3a4-7c11-7b3e-9f20-c1d2e3f4a5b67', false],
  ['{0192f3a4-7c11-7b3e-9f20-c1d2e3f4a5b6}', false],
  ['', false],
])('%s is an id: %p', (text, is) => expect(isId(text)).toBe(is));

test('the time of an id is its first twelve digits', () => {
  expect(idTime('0192f3a4-7c11-7b3e-9f20-c1d2e3f4a5b6')).toBe(0x0192f3a47c11);
  expect(idBound(0x0192f3a47c11)).toBe('0192f3a4-7c11');
});

test('each millisecond has its 4,096 ids, however many the one before it had', () => {
  const source = new IdSource();
  for (let count = 0; count < 4_000; count += 1) source.next(NOW);
  const times = Array.from({ length: 4_096 }, () => idTime(source.next(NOW + 1)));
  expect(new Set(times)).toEqual(new Set([NOW + 1]));
});
