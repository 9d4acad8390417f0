/** Which endpoints get a row for an event, and in which state: what no list shows. */
import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { join } from 'node:path';

import { batchOf, newEndpoint, newEvent, newMessage } from '../samples.ts';
import { withStore } from '../test-store.ts';

test('a disabled endpoint misses its call, which a replay may bring; a deleted one has none', () =>
  withStore(async (store, account, dir) => {
    const disabled = newEndpoint(account.id, { status: 'disabled' });
    const deleted = newEndpoint(account.id);
    for (const endpoint of [disabled, deleted]) await store.createEndpoint(endpoint, 10);
    await store.deleteEndpoint(account.id, deleted.id, Date.now());
    const sent = newMessage(account.id);
    sent.events.push(newEvent(sent.message, null, 'email.sent'));
    expect(await store.accept(batchOf(account.id, sent))).toEqual({ kind: 'accepted', calls: [] });
    const file = new Database(join(dir, 'mail.db'), { readonly: true });
    expect(file.query('SELECT endpoint_id, status FROM calls').values()).toEqual([
      [disabled.id, 'failed'],
    ]);
    file.close();
  }));
