/** Counts of what one commit brings: messages of several days, accounts and states are not one sum. */
import { expect } from 'bun:test';

import { batchOf, newAccount, newMessage } from './samples.ts';
import { eachStore } from './stores.ts';

const DAY_MS = 86_400_000;

eachStore(
  'messages of one commit are counted by account, day and status',
  async (store, account) => {
    const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
    const other = newAccount('other');
    await store.createAccount(other);
    await Promise.all([
      store.accept(
        batchOf(
          account.id,
          newMessage(account.id, { createdAt: today }),
          newMessage(account.id, { createdAt: today - 1 }),
          newMessage(account.id, { createdAt: today - 1, status: 'suppressed' }),
        ),
      ),
      store.accept(batchOf(other.id, newMessage(other.id, { createdAt: today }))),
    ]);
    expect(await store.countsByStatus(account.id, today)).toMatchObject({
      queued: 1,
      suppressed: 0,
    });
    expect(await store.countsByStatus(account.id, today - 1)).toMatchObject({
      queued: 2,
      suppressed: 1,
    });
    expect(await store.countsByStatus(other.id, today - 1)).toMatchObject({
      queued: 1,
      suppressed: 0,
    });
  },
);
