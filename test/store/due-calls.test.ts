/** Which webhook calls are due: a part of the endpoints at a time, so many of each, and what the look may find later. */
import { expect } from 'bun:test';

import type { Store } from '../../src/store/store.ts';
import { callLook } from './due-calls.ts';
import { accepted, finishOf, newEndpoint, newMessage, recipientOf } from './samples.ts';
import { eachStore } from './stores.ts';

/** Active endpoints in the order of their ids, and a call to each for each of the due times. */
async function withCalls(store: Store, accountId: string, count: number, dueAt: number[]) {
  const ids: string[] = [];
  for (let n = 0; n < count; n += 1) {
    const endpoint = newEndpoint(accountId);
    await store.createEndpoint(endpoint, count);
    ids.push(endpoint.id);
  }
  for (const at of dueAt) {
    const message = await accepted(store, newMessage(accountId));
    await store.finish(finishOf(message, recipientOf(message), { dueAt: at }));
  }
  return ids.toSorted();
}

eachStore('calls come endpoint by endpoint, of each the soonest first', async (store, { id }) => {
  const [one = '', two = ''] = await withCalls(store, id, 2, [30, 20, 10]);
  const due = async (...look: Parameters<typeof callLook>) => {
    const { calls, nextAt, last } = await store.callsDue(callLook(...look));
    return [calls.map(({ endpointId, dueAt }) => [endpointId, dueAt]), nextAt, last];
  };
  const of = (endpointId: string) => [10, 20, 30].map((at): [string, number] => [endpointId, at]);
  const [all, others] = [of(one), of(two)];
  expect(await due(30)).toEqual([[...all, ...others], null, null]);
  expect(await due(29)).toEqual([[...all.slice(0, 2), ...others.slice(0, 2)], 30, null]);
  expect(await due(9)).toEqual([[], 10, null]);
  // Leases are compared with now, due times with until.
  expect(await due(5, { until: 10 })).toEqual([
    [...all.slice(0, 1), ...others.slice(0, 1)],
    20,
    null,
  ]);
  expect(await due(30, { most: 2 })).toEqual([
    [...all.slice(0, 2), ...others.slice(0, 2)],
    null,
    null,
  ]);
  // A part ends with the endpoint that makes it full, and the next begins behind that.
  for (const limit of [1, 3]) expect(await due(30, { limit })).toEqual([all, null, one]);
  expect(await due(30, { limit: 4 })).toEqual([[...all, ...others], null, two]);
  expect(await due(29, { limit: 2 })).toEqual([all.slice(0, 2), 30, one]);
  expect(await due(30, { after: one })).toEqual([others, null, null]);
  expect(await due(30, { after: two })).toEqual([[], null, null]);
  expect(await due(30, { without: [one] })).toEqual([others, null, null]);
  expect(await due(20, { without: [one, two] })).toEqual([[], null, null]);
  expect(await due(20, { without: ['no id'] })).toMatchObject([{ length: 4 }, 30, null]);
  await store.updateEndpoint(id, one, { status: 'disabled' }, 1);
  expect(await due(20)).toEqual([others.slice(0, 2), 30, null]);
  expect(await store.openCalls()).toBe(6);
});

eachStore(
  'a part is of a hundred endpoints, however many have calls, and of those alone that have some',
  async (store, { id }) => {
    // Made first: an endpoint without a call is not walked over.
    const idle = await withCalls(store, id, 150, []);
    for (const endpointId of idle) {
      await store.updateEndpoint(id, endpointId, { events: ['email.opened'] }, 1);
    }
    const ids: string[] = [];
    for (let n = 0; n < 205; n += 1) {
      const endpoint = newEndpoint(id);
      await store.createEndpoint(endpoint, 1_000);
      ids.push(endpoint.id);
    }
    ids.sort();
    const message = await accepted(store, newMessage(id));
    await store.finish(finishOf(message, recipientOf(message), { dueAt: 10 }));
    const seen: string[][] = [];
    for (let after: string | null = null, isMore = true; isMore; isMore = after !== null) {
      const { calls, last } = await store.callsDue(callLook(10, { after }));
      seen.push(calls.map(({ endpointId }) => endpointId));
      after = last;
    }
    expect(seen).toEqual([ids.slice(0, 100), ids.slice(100, 200), ids.slice(200)]);
  },
);
