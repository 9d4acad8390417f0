/** Requests under way are counted by address, and counted back. */
import { expect, test } from 'bun:test';

import { RequestsUnderWay } from '../../src/api/requests-under-way.ts';
import { refusal } from '../flow/fixture.ts';

test('one address gets so many at once, another is not touched, and ended ones count no more', async () => {
  const counts = new RequestsUnderWay();
  let end = (): void => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const two = [1, 2].map(() => counts.during('2001:db8::1', 2, () => ended));
  const third = await refusal(counts.during('2001:db8::2', 2, () => Promise.resolve()));
  expect([third.code, third.status, third.headers['Retry-After']]).toEqual([
    'rate_limited',
    429,
    '1',
  ]);
  expect(await counts.during('192.0.2.1', 2, () => Promise.resolve('other'))).toBe('other');
  end();
  await Promise.all(two);
  const failed = counts.during('2001:db8::1', 1, () => Promise.reject(new Error('fault')));
  expect(await failed.catch((error: unknown) => String(error))).toBe('Error: fault');
  expect(await counts.during('2001:db8::1', 1, () => Promise.resolve('again'))).toBe('again');
});

test('a request that ends lets one more in, however many are under way', async () => {
  const counts = new RequestsUnderWay();
  const ends: (() => void)[] = [];
  const begin = (address: string, most: number) =>
    counts.during(address, most, () => new Promise<void>((resolve) => ends.push(resolve)));
  const refused = async (address: string, most: number): Promise<string> =>
    (await refusal(counts.during(address, most, () => Promise.resolve()))).message;
  const says = (count: number): string =>
    `Your address has ${count} requests under way. Wait for their responses first.`;
  const all = [1, 2, 3].map(() => begin('192.0.2.1', 3));
  expect(await refused('192.0.2.1', 3)).toBe(says(3));
  // A lower limit, as after a reload.
  expect(await refused('192.0.2.1', 1)).toBe(says(3));
  ends[0]?.();
  await all[0];
  expect(await refused('192.0.2.1', 2)).toBe(says(2));
  const fourth = begin('192.0.2.1', 3);
  expect(await refused('192.0.2.1', 3)).toBe(says(3));
  for (const end of ends) end();
  await Promise.all([...all, fourth]);
  expect(await counts.during('192.0.2.1', 1, () => Promise.resolve('one'))).toBe('one');
  expect(await refused('192.0.2.1', 0)).toBe(says(0));
});

test('the last one under way still counts when the others have ended', async () => {
  const counts = new RequestsUnderWay();
  let end = (): void => undefined;
  const last = counts.during('192.0.2.1', 2, () => new Promise<void>((resolve) => (end = resolve)));
  await counts.during('192.0.2.1', 2, () => Promise.resolve());
  const another = await refusal(counts.during('192.0.2.1', 1, () => Promise.resolve()));
  expect(another.message).toStartWith('Your address has 1 requests under way.');
  end();
  await last;
});
