/** Long changes of calls go a step at a time: replays of what failed, and what an endpoint misses while it is disabled. */
import { expect } from 'bun:test';

import type { Store } from '../../src/store/store.ts';
import type { CallPosition, FailedFrom } from '../../src/store/webhooks.ts';
import { STEP_CALLS } from '../../src/store/webhooks.ts';
import { beginAll, finished } from './call-steps.ts';
import { everyCallDue } from './due-calls.ts';
import { accepted, finishOf, newEndpoint, newEvent, newMessage } from './samples.ts';
import { eachStore } from './stores.ts';

/** More calls than one step takes, and fewer than two. */
const COUNT = STEP_CALLS + 20;

/** The endpoint goes on, however many fail. */
const FAILED = { status: 'failed', nextAttemptAt: null, disableAfter: 9_999 } as const;

/** So many open calls of a new endpoint. */
async function withCalls(store: Store, accountId: string): Promise<string> {
  const endpoint = newEndpoint(accountId);
  await store.createEndpoint(endpoint, 10);
  const sent = await accepted(store, newMessage(accountId));
  const [recipient] = sent.recipients;
  if (recipient === undefined) throw new Error('no recipient');
  const events = Array.from({ length: COUNT }, () =>
    newEvent(sent.message, recipient.id, 'email.delivered'),
  );
  await store.finish(finishOf(sent, recipient, { events }));
  expect(await store.openCalls()).toBe(COUNT);
  return endpoint.id;
}

eachStore('what failed is opened again in steps, each call once', async (store, { id }) => {
  const endpointId = await withCalls(store, id);
  while ((await store.openCalls()) > 0) {
    for (const call of await beginAll(store)) {
      await store.finishCall(finished(call, false, FAILED));
    }
  }
  const now = Date.now();
  const steps: string[][] = [];
  for (let from: FailedFrom | null = { failedSince: 0 }; from !== null;) {
    const { calls, next } = await store.replayCalls(id, endpointId, from, now);
    steps.push(calls.map((call) => call.id));
    from = next;
    // What fails again meanwhile is not opened a second time.
    if (steps.length > 1) continue;
    for (const call of await beginAll(store)) {
      await store.finishCall(finished(call, false, FAILED));
    }
  }
  expect(steps.map(({ length }) => length)).toEqual([STEP_CALLS, 20]);
  expect(new Set(steps.flat()).size).toBe(COUNT);
  const later = { failedSince: now + 1e9 };
  expect(await store.replayCalls(id, endpointId, later, now)).toEqual({ calls: [], next: null });
});

eachStore('what a disabled endpoint misses ends in steps', async (store, { id }) => {
  const endpointId = await withCalls(store, id);
  const miss = (before: number, after: CallPosition | null) =>
    store.missCalls(id, endpointId, before, after);
  const later = Date.now() + 1e9;
  expect([await miss(later, null), await store.openCalls()]).toEqual([null, COUNT]);
  await store.updateEndpoint(id, endpointId, { status: 'disabled' }, 1);
  // Nothing is so old; the walk passes over all the same.
  const passed = await miss(0, null);
  expect(passed).not.toBeNull();
  expect([await miss(0, passed), await store.openCalls()]).toEqual([null, COUNT]);
  const next = await miss(later, null);
  expect([next, await store.openCalls()]).toEqual([passed, 20]);
  expect([await miss(later, next), await store.openCalls()]).toEqual([null, 0]);
  await store.updateEndpoint(id, endpointId, { status: 'active' }, 1);
  expect(await everyCallDue(store, later)).toEqual([]);
  const { calls } = await store.replayCalls(id, endpointId, { failedSince: 0 }, 1);
  expect(calls).toHaveLength(STEP_CALLS);
});
