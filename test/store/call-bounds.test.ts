/** Webhook calls at their bounds: moments of a replay, disabled endpoints, and how many calls of a message are read. */
import { describe, expect } from 'bun:test';

import type { Account, Endpoint } from '../../src/store/rows.ts';
import type { Store } from '../../src/store/store.ts';
import { beginAll, finished, happen } from './call-steps.ts';
import { accepted, finishOf, newEndpoint, newEvent, newMessage, recipientOf } from './samples.ts';
import { eachStore } from './stores.ts';

const FAILED = { status: 'failed', nextAttemptAt: null } as const;

function eachEndpoint(
  name: string,
  body: (store: Store, account: Account, endpoint: Endpoint) => Promise<void>,
): void {
  eachStore(name, async (store, account) => {
    const endpoint = newEndpoint(account.id);
    await store.createEndpoint(endpoint, 10);
    await body(store, account, endpoint);
  });
}

describe('a replay of failed calls', () => {
  eachEndpoint('begins with those of its very moment', async (store, account, endpoint) => {
    await happen(store, account);
    const [call] = await beginAll(store);
    if (call === undefined) throw new Error('no call');
    await store.finishCall(finished(call, false, FAILED));
    const replay = (failedSince: number) =>
      store.replayCalls(account.id, endpoint.id, { failedSince }, Date.now());
    expect(await replay(call.createdAt + 1)).toEqual([]);
    expect(await replay(call.createdAt)).toHaveLength(1);
  });
});

describe('an endpoint', () => {
  eachEndpoint(
    'that its failures have disabled gets no open call for the next event',
    async (store, account) => {
      await happen(store, account);
      const [call] = await beginAll(store);
      if (call === undefined) throw new Error('no call');
      await store.finishCall(finished(call, false, { ...FAILED, disableAfter: 1 }));
      await happen(store, account);
      expect(await store.openCalls()).toBe(0);
    },
  );

  eachEndpoint(
    'that was disabled after its calls were read begins none of them',
    async (store, account, endpoint) => {
      await happen(store, account);
      const now = Date.now();
      const due = await store.callsDue(now, now + 1e9, 10, []);
      expect(due).toHaveLength(1);
      await store.updateEndpoint(account.id, endpoint.id, { status: 'disabled' }, now);
      const claims = due.map(({ id }) => {
        return { id, owner: 'me', leaseUntil: now + 60_000, nextAttemptAt: now + 30_000 };
      });
      expect(await store.beginCalls(claims, now)).toEqual([]);
    },
  );

  eachEndpoint('that is deleted has no call of a later event', async (store, account, endpoint) => {
    // The first event is what makes the store remember who listens.
    await happen(store, account);
    expect(await store.openCalls()).toBe(1);
    await store.deleteEndpoint(account.id, endpoint.id, Date.now());
    const sent = await accepted(store, newMessage(account.id));
    const events = [newEvent(sent.message, recipientOf(sent).id, 'email.delivered')];
    await store.finish(finishOf(sent, recipientOf(sent), { events }));
    expect(await store.callsOfMessage(sent.message.id)).toEqual([]);
  });

  eachEndpoint(
    'that is enabled again misses the open calls from before, and keeps what is done',
    async (store, account, endpoint) => {
      await happen(store, account);
      const [call] = await beginAll(store);
      if (call === undefined || call.messageId === null) throw new Error('no call');
      await store.finishCall(finished(call, true));
      const change = { missedBefore: Date.now() + 1_000 };
      const { id } = endpoint;
      await store.updateEndpoint(account.id, id, { status: 'disabled' }, Date.now());
      await store.updateEndpoint(account.id, id, { status: 'active', ...change }, Date.now());
      expect(await store.callsOfMessage(call.messageId)).toMatchObject([{ status: 'done' }]);
    },
  );
});

eachEndpoint('of a message the first 500 calls are read', async (store, account) => {
  const sent = await accepted(store, newMessage(account.id));
  const recipient = recipientOf(sent);
  const events = Array.from({ length: 501 }, () =>
    newEvent(sent.message, recipient.id, 'email.delivered'),
  );
  await store.finish(finishOf(sent, recipient, { events }));
  const calls = await store.callsOfMessage(sent.message.id);
  const first = events.map(({ id }) => id).toSorted();
  expect(calls.map(({ eventId }) => eventId)).toEqual(first.slice(0, 500));
});
