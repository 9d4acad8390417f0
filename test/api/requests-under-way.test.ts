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
