/** Jobs that one of several nodes does: who has one, and for how long. */
import { expect } from 'bun:test';

import { eachStore } from './stores.ts';

const MINUTE_MS = 60_000;

eachStore('one holder at a time has a job, where there may be several', async (store) => {
  const isShared = (await store.revision()) !== null;
  const take = (holder: string, forMs = MINUTE_MS) => store.takeJob('brake', holder, forMs);
  expect(await Promise.all([take('a'), take('a')])).toEqual([true, true]);
  expect(await take('b')).toBe(!isShared);
  expect(await store.takeJob('retention', 'b', MINUTE_MS)).toBe(true);
  // Only its holder gives it back.
  await store.endJob('brake', 'b', 0);
  expect([await take('b'), await take('a')]).toEqual([!isShared, true]);
  await store.endJob('brake', 'a', 0);
  expect([await take('b'), await take('a')]).toEqual([true, !isShared]);
  await store.endJob('brake', 'b', MINUTE_MS);
  expect([await take('b'), await take('a')]).toEqual([!isShared, !isShared]);
});

eachStore('a holder that vanished loses it when its time is over', async (store) => {
  expect(await store.takeJob('domains', 'a', 1)).toBe(true);
  while (!(await store.takeJob('domains', 'b', MINUTE_MS))) await Bun.sleep(1);
  const isShared = (await store.revision()) !== null;
  expect(await store.takeJob('domains', 'a', 1)).toBe(!isShared);
});

eachStore('of many that ask at once one gets it', async (store) => {
  const asked = Array.from({ length: 20 }, (_, at) =>
    store.takeJob('domains', `n${at}`, MINUTE_MS),
  );
  const got = (await Promise.all(asked)).filter((isTaken) => isTaken);
  expect(got).toHaveLength((await store.revision()) === null ? 20 : 1);
});
