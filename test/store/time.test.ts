/** The time of a store that machines share. */
import { expect } from 'bun:test';

import { eachStore } from './stores.ts';

eachStore('a store has a time of its own, where several machines share it', async (store) => {
  const before = Date.now();
  const time = await store.storeTime();
  const isShared = (await store.revision()) !== null;
  if (!isShared) expect(time).toBeNull();
  else {
    // The server of the tests has this machine's clock.
    expect(time).toBeGreaterThanOrEqual(before - 1);
    expect(time).toBeLessThanOrEqual(Date.now());
  }
});
