/** Which keys of an account pages show: all that work, the newest fifty revoked ones, and the one that is asked for. */
import { expect, test } from 'bun:test';

import { shownKeys } from '../../../src/dashboard/pages/shown-keys.ts';
import type { Key } from '../../../src/store/rows.ts';
import { newKey } from '../../store/samples.ts';

/** Of so many revoked keys with one that works before, among and after them: the ids that are shown. */
async function shownOf(revoked: number, wanted?: string) {
  const key = (id: string, revokedAt: number | null): Key => ({ ...newKey('acc'), id, revokedAt });
  const gone = Array.from({ length: revoked }, (_, at) => key(`${at}`, 5));
  const all = [key('a', null), ...gone.slice(0, 20), key('b', null), ...gone.slice(20)];
  const store = { keys: () => Promise.resolve([...all, key('c', null)]) };
  const { keys, more } = await shownKeys(store, 'acc', wanted);
  return [keys.map(({ id }) => id).join(' '), more];
}

const from = (first: number, last: number): string =>
  Array.from({ length: last - first + 1 }, (_, at) => `${first + at}`).join(' ');

test('fifty revoked ones are all shown, and of one more the oldest is not', async () => {
  expect(await shownOf(0)).toEqual(['a b c', 0]);
  expect(await shownOf(50)).toEqual([`a ${from(0, 19)} b ${from(20, 49)} c`, 0]);
  expect(await shownOf(51)).toEqual([`a ${from(1, 19)} b ${from(20, 50)} c`, 1]);
});

test('the one that is asked for is shown too, if the account has it', async () => {
  expect(await shownOf(80, '7')).toEqual([`a 7 b ${from(30, 79)} c`, 29]);
  expect(await shownOf(80, '79')).toEqual([`a b ${from(30, 79)} c`, 30]);
  expect(await shownOf(80, 'none')).toEqual([`a b ${from(30, 79)} c`, 30]);
});
