/** What a store says of its connections, where it has any. */
import { expect } from 'bun:test';

import { accepted, newMessage } from './samples.ts';
import { eachStore } from './stores.ts';

eachStore(
  'its connections are idle between writes, and it knows its last commit',
  async (store, account) => {
    const before = await store.databaseState();
    await accepted(store, newMessage(account.id));
    const state = await store.databaseState();
    if (state === null) {
      expect(before).toBeNull();
      return;
    }
    expect(state).toMatchObject({ used: 0, waiting: 0, isAway: false, hasStandby: null });
    expect(state.idle).toBeGreaterThan(0);
    expect(state.sinceCommitMs).toBeLessThan(60_000);
    const read = store.account(account.id);
    expect((await store.databaseState())?.used).toBe(1);
    await read;
  },
);
