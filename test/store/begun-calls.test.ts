/** Calls that were begun: beside others of the same moment, by an owner that is gone, replayed, and of an erased email. */
import { expect } from 'bun:test';

import type { Account } from '../../src/store/rows.ts';
import type { Store } from '../../src/store/store.ts';
import { beginAll, finished, happen } from './call-steps.ts';
import { newEndpoint } from './samples.ts';
import { eachStore } from './stores.ts';
import { everyCallDue } from './due-calls.ts';

const NOTHING = { calls: [], next: null };

/** Ids of so many open calls to one endpoint, which owner begins one at a time, and for how long from it on. */
async function openCalls(store: Store, account: Account, count: number) {
  await store.createEndpoint(newEndpoint(account.id), 10);
  for (let at = 0; at < count; at += 1) await happen(store, account);
  const now = Date.now();
  const ids = (await everyCallDue(store, now, now + 1e9)).map(({ id }) => id);
  const begin = async (owner: string, at: number, wanted: readonly string[]) => {
    const lease = { owner, leaseUntil: at + 100, nextAttemptAt: at + 50 };
    const begun = await store.beginCalls(
      wanted.map((id) => ({ id, ...lease })),
      at,
    );
    return begun.map(({ id, attempts }) => [ids.indexOf(id), attempts]);
  };
  return { now, ids, begin };
}

eachStore('each question is answered for its own moment', async (store, account) => {
  const { now, ids, begin } = await openCalls(store, account, 3);
  const [one = '', two = '', three = ''] = ids;
  expect(await begin('a', now, [one])).toEqual([[0, 1]]);
  // The lease of the first is over for the one who asks later, whoever was asked before.
  expect(await Promise.all([begin('b', now + 99, [two]), begin('c', now + 100, [one])])).toEqual([
    [[1, 1]],
    [[0, 2]],
  ]);
  expect(await Promise.all([begin('d', now + 200, [three]), begin('e', now + 199, [one])])).toEqual(
    [[[2, 1]], []],
  );
});

eachStore('of two who ask for one at the same moment the first has it', async (store, account) => {
  const { now, ids, begin } = await openCalls(store, account, 2);
  const [one = '', two = ''] = ids;
  expect(await Promise.all([begin('a', now, [one, one]), begin('b', now, [one, two])])).toEqual([
    [[0, 1]],
    [[1, 1]],
  ]);
  // Each under its own owner: what is freed is the other's alone.
  await store.releaseLeases('b', now);
  expect(await begin('c', now + 1, [one, two])).toEqual([[1, 2]]);
});

eachStore('of an owner that is gone they are free at once', async (store, account) => {
  const { now, ids, begin } = await openCalls(store, account, 1);
  await begin('dead', now, ids);
  expect(await begin('me', now + 1, ids)).toEqual([]);
  await store.releaseLeases(null, now + 1);
  expect(await begin('me', now + 1, ids)).toEqual([[0, 2]]);
});

eachStore(
  'a response that comes after the email was erased is not kept',
  async (store, account) => {
    const endpoint = newEndpoint(account.id);
    await store.createEndpoint(endpoint, 10);
    await happen(store, account);
    const [call] = await beginAll(store);
    if (call === undefined) throw new Error('no call');
    // A store may keep the row of its last message, without what names anybody.
    const { messages, shared } = await store.eraseAddress('ann@example.org', null);
    expect(messages + shared).toBe(1);
    const late = finished(call, true, { response: 'thanks for ann@example.org' });
    expect(await store.finishCall(late)).toEqual({ endpointStatus: 'active', isOvertaken: true });
    expect(await store.attemptDetail(endpoint.id, late.attempt.id)).toMatchObject({
      attempt: late.attempt,
      call: null,
      response: null,
    });
  },
);

eachStore('a replay while one is begun makes it free at once', async (store, account) => {
  const endpoint = newEndpoint(account.id);
  await store.createEndpoint(endpoint, 10);
  const eventId = await happen(store, account);
  const [call] = await beginAll(store, 'slow');
  if (call === undefined) throw new Error('no call');
  const now = Date.now();
  const ref = { id: call.id, endpointId: endpoint.id, dueAt: now };
  expect(await store.replayCalls(account.id, endpoint.id, { eventId }, now)).toEqual({
    calls: [ref],
    next: null,
  });
  expect(await everyCallDue(store, now)).toEqual([ref]);
  expect(await beginAll(store, 'me')).toMatchObject([{ id: call.id, attempts: 1 }]);
});

eachStore('what failed of a removed endpoint is replayed for nobody', async (store, account) => {
  const endpoint = newEndpoint(account.id);
  await store.createEndpoint(endpoint, 10);
  const eventId = await happen(store, account);
  const [call] = await beginAll(store);
  if (call === undefined) throw new Error('no call');
  await store.finishCall(finished(call, false, { status: 'failed', nextAttemptAt: null }));
  const now = Date.now();
  await store.deleteEndpoint(account.id, endpoint.id, now);
  for (const what of [{ eventId }, { failedSince: 0 }])
    expect(await store.replayCalls(account.id, endpoint.id, what, now)).toEqual(NOTHING);
  expect(await store.openCalls()).toBe(0);
});
