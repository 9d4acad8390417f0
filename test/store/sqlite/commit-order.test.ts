/** Lists are in the order of commits where one process writes them, whatever ids say. */
import { expect, test } from 'bun:test';

import { newId } from '../../rig/ids.ts';
import { accepted, newMessage } from '../samples.ts';
import { withStore } from '../test-store.ts';

test('an id made early but committed late does not slip behind the cursor', () =>
  withStore(async (store, account) => {
    const early = newMessage(account.id, { id: newId(Date.now() - 60_000) });
    const first = await accepted(store, newMessage(account.id));
    await accepted(store, early);
    const page = { limit: 1, before: null, q: null, status: null };
    const newest = await store.emails(account.id, { ...page, after: null });
    expect(newest.rows.map(({ id }) => id)).toEqual([early.message.id]);
    const next = await store.emails(account.id, { ...page, after: early.message.id });
    expect(next.rows.map(({ id }) => id)).toEqual([first.message.id]);
  }));
