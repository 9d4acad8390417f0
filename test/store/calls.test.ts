/** Endpoints and their calls: what is due, failures in a row, replay, one account's rows for it alone. */
import { describe, expect } from 'bun:test';

import type { Account, Call, Endpoint } from '../../src/store/rows.ts';
import type { Store } from '../../src/store/store.ts';
import { beginAll, finished, happen } from './call-steps.ts';
import { newAccount, newEndpoint } from './samples.ts';
import { eachStore } from './stores.ts';
import { everyCallDue, nextCallDue } from './due-calls.ts';

/** A test of every kind of store, with an endpoint for every event. */
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

describe('calls', () => {
  eachEndpoint(
    'begin under a lease, end with an attempt on record',
    async (store, account, endpoint) => {
      const eventId = await happen(store, account);
      const [call] = await beginAll(store);
      if (call === undefined) throw new Error('no call');
      expect(call).toMatchObject({ eventId, attempts: 1, status: 'open' });
      expect(await beginAll(store, 'another')).toEqual([]);
      const result = finished(call, true);
      const end = { endpointStatus: 'active', isOvertaken: false } as const;
      expect(await store.finishCall(result)).toEqual(end);
      expect(await everyCallDue(store, Date.now(), Date.now() + 1e9)).toEqual([]);
      const page = { limit: 10, after: null, before: null };
      expect((await store.callAttempts(endpoint.id, page)).rows).toEqual([
        { ...result.attempt, eventId },
      ]);
    },
  );

  eachStore(
    'an event goes to each endpoint that wants it, whichever stands before',
    async (store, account) => {
      const wanted = [['email.bounced'], ['email.delivered'], ['email.opened'], []] as const;
      const endpoints = wanted.map((events) => newEndpoint(account.id, { events: [...events] }));
      for (const endpoint of endpoints) await store.createEndpoint(endpoint, 10);
      await happen(store, account);
      const calls = await beginAll(store);
      expect(new Set(calls.map(({ endpointId }) => endpointId))).toEqual(
        new Set(endpoints.filter((_, at) => at === 1 || at === 3).map(({ id }) => id)),
      );
      expect(calls).toHaveLength(2);
    },
  );

  eachEndpoint(
    'an attempt is read with its call, what was responded, and the attempts before it',
    async (store, account, endpoint) => {
      const eventId = await happen(store, account);
      const [first] = await beginAll(store);
      if (first === undefined) throw new Error('no call');
      const nextAttemptAt = Date.now();
      const failed = finished(first, false, { response: 'Out of <b>order</b>', nextAttemptAt });
      await store.finishCall(failed);
      const [second] = await beginAll(store);
      if (second === undefined) throw new Error('the call is not due');
      const worked = finished(second, true);
      await store.finishCall(worked);
      const detail = await store.attemptDetail(endpoint.id, failed.attempt.id);
      expect(detail).toMatchObject({
        attempt: failed.attempt,
        call: { eventId, body: first.body, status: 'done' },
        response: 'Out of <b>order</b>',
        attempts: [failed.attempt, worked.attempt],
      });
      const page = { limit: 10, after: null, before: null };
      const rows = (await store.callAttempts(endpoint.id, page, true)).rows;
      expect(rows.map(({ id }) => id)).toEqual([failed.attempt.id]);
      const other = newEndpoint(account.id);
      await store.createEndpoint(other, 10);
      expect(await store.attemptDetail(other.id, failed.attempt.id)).toBeNull();

      await store.eraseAddress('ann@example.org', null);
      expect(await store.attemptDetail(endpoint.id, failed.attempt.id)).toMatchObject({
        call: null,
        response: null,
        attempts: [failed.attempt],
      });
    },
  );

  eachEndpoint(
    'a begun call is not begun again, by whomever, until its lease ends',
    async (store, account) => {
      await happen(store, account);
      const now = Date.now();
      const [due] = await everyCallDue(store, now, now + 1e9);
      if (due === undefined) throw new Error('no call');
      const begin = (owner: string, at: number) =>
        store.beginCalls([{ id: due.id, owner, leaseUntil: at + 100, nextAttemptAt: at }], at);
      expect(await begin('me', now)).toMatchObject([{ attempts: 1 }]);
      expect(await begin('me', now)).toEqual([]);
      expect(await begin('another', now + 99)).toEqual([]);
      expect(await begin('another', now + 100)).toMatchObject([{ attempts: 2 }]);
    },
  );

  eachEndpoint(
    'an attempt that ends after its lease does not end the one that took over',
    async (store, account) => {
      await happen(store, account);
      const now = Date.now();
      const [due] = await everyCallDue(store, now, now + 1e9);
      if (due === undefined) throw new Error('no call');
      const begin = async (owner: string, at: number): Promise<Call> => {
        const claim = { id: due.id, owner, leaseUntil: at + 100, nextAttemptAt: at };
        const [call] = await store.beginCalls([claim], at);
        if (call === undefined) throw new Error('not begun');
        return call;
      };
      const slow = await begin('gone', now);
      const taken = await begin('me', now + 100);
      const change = { status: 'failed', nextAttemptAt: null } as const;
      expect(await store.finishCall(finished(slow, false, change))).toMatchObject({
        isOvertaken: true,
      });
      expect(await store.openCalls()).toBe(1);
      expect(await store.finishCall(finished(taken, true))).toMatchObject({ isOvertaken: false });
      expect(await store.openCalls()).toBe(0);
    },
  );

  eachEndpoint(
    'an endpoint that is enabled again starts with a failure count of 0',
    async (store, account, endpoint) => {
      const fail = async (): Promise<void> => {
        await happen(store, account);
        const call = (await beginAll(store)).at(-1);
        if (call === undefined) throw new Error('no call');
        const change = { disableAfter: 2, status: 'failed', nextAttemptAt: null } as const;
        await store.finishCall(finished(call, false, change));
      };
      const health = async () => {
        const found = await store.endpointById(endpoint.id);
        return [found?.status, found?.failureCount];
      };
      await fail();
      // Active already: it keeps its count.
      await store.updateEndpoint(account.id, endpoint.id, { status: 'active' }, Date.now());
      expect(await health()).toEqual(['active', 1]);
      await fail();
      expect(await health()).toEqual(['disabled', 2]);
      await store.updateEndpoint(account.id, endpoint.id, { status: 'active' }, Date.now());
      expect(await health()).toEqual(['active', 0]);
      await fail();
      expect(await health()).toEqual(['active', 1]);
    },
  );

  eachEndpoint(
    'over several endpoints each has its own, and none under a lease',
    async (store, account, one) => {
      const other = newEndpoint(account.id);
      await store.createEndpoint(other, 10);
      await happen(store, account);
      const now = Date.now();
      const [first, second] = await beginAll(store);
      if (first === undefined || second === undefined) throw new Error('two calls were made');
      expect(await everyCallDue(store, now, now + 1e9)).toEqual([]);
      for (const [call, waitMs] of [
        [first, 2_000],
        [second, 1_000],
      ] as const) {
        await store.finishCall(finished(call, false, { nextAttemptAt: now + waitMs }));
      }
      const due = await everyCallDue(store, now, now + 1e9);
      expect(due.map(({ dueAt }) => dueAt)).toEqual([now + 1_000, now + 2_000]);
      expect(new Set(due.map(({ endpointId }) => endpointId))).toEqual(new Set([one.id, other.id]));
      expect(await nextCallDue(store, now)).toBe(now + 1_000);
      expect(await nextCallDue(store, now + 1_000)).toBe(now + 2_000);
      expect(await nextCallDue(store, now + 2_000)).toBeNull();
    },
  );

  eachEndpoint(
    'a failed call is due again at the time given, and not for an excluded endpoint',
    async (store, account, endpoint) => {
      await happen(store, account);
      const [call] = await beginAll(store);
      if (call === undefined) throw new Error('no call');
      const result = finished(call, false);
      await store.finishCall(result);
      const at = result.nextAttemptAt ?? 0;
      const ref = { id: call.id, endpointId: endpoint.id, dueAt: at };
      expect(await everyCallDue(store, at)).toEqual([ref]);
      expect(await everyCallDue(store, at, at - 1)).toEqual([]);
      expect(await everyCallDue(store, at, at, [endpoint.id])).toEqual([]);
      expect(await nextCallDue(store, 0)).toBe(at);
    },
  );

  eachEndpoint(
    'failures in a row disable the endpoint, a success sets them to zero',
    async (store, account, endpoint) => {
      const outcomes = [false, false, true, false, false, false];
      const seen = [];
      for (const ok of outcomes) {
        await happen(store, account);
        const call = (await beginAll(store)).at(-1);
        if (call === undefined) throw new Error('no call');
        const status = ok ? 'done' : 'failed';
        const change = { disableAfter: 3, status, nextAttemptAt: null } as const;
        const { endpointStatus } = await store.finishCall(finished(call, ok, change));
        const { failureCount } = (await store.endpointById(endpoint.id)) ?? endpoint;
        seen.push([endpointStatus, failureCount]);
      }
      expect(seen).toEqual([
        ['active', 1],
        ['active', 2],
        ['active', 0],
        ['active', 1],
        ['active', 2],
        ['disabled', 3],
      ]);
    },
  );

  eachEndpoint(
    'what a disabled endpoint missed, and what failed, can be replayed with the same event id',
    async (store, account, endpoint) => {
      const failedEvent = await happen(store, account);
      const [call] = await beginAll(store);
      if (call === undefined) throw new Error('no call');
      await store.finishCall(finished(call, false, { status: 'failed', nextAttemptAt: null }));
      await store.updateEndpoint(account.id, endpoint.id, { status: 'disabled' }, Date.now());
      const missedEvent = await happen(store, account);
      expect(await beginAll(store)).toEqual([]);

      await store.updateEndpoint(account.id, endpoint.id, { status: 'active' }, Date.now());
      expect(await beginAll(store)).toEqual([]);
      const { calls: opened } = await store.replayCalls(
        account.id,
        endpoint.id,
        { failedSince: 0 },
        Date.now(),
      );
      expect(opened).toHaveLength(2);
      const begun = await beginAll(store);
      expect(begun.map(({ eventId }) => eventId).toSorted()).toEqual(
        [failedEvent, missedEvent].toSorted(),
      );
      expect(begun.every(({ body }) => body.includes('email.delivered'))).toBe(true);

      for (const again of begun) await store.finishCall(finished(again, true));
      const what = { eventId: missedEvent };
      const { calls } = await store.replayCalls(account.id, endpoint.id, what, Date.now());
      expect(calls).toHaveLength(1);
      const other = newAccount('other');
      await store.createAccount(other);
      expect((await store.replayCalls(other.id, endpoint.id, what, Date.now())).calls).toEqual([]);
    },
  );

  eachEndpoint(
    'open calls of a disabled endpoint wait for it',
    async (store, account, endpoint) => {
      const eventId = await happen(store, account);
      await store.updateEndpoint(account.id, endpoint.id, { status: 'disabled' }, Date.now());
      expect(await beginAll(store)).toEqual([]);
      await store.updateEndpoint(account.id, endpoint.id, { status: 'active' }, Date.now());
      expect((await beginAll(store)).map((call) => call.eventId)).toEqual([eventId]);
    },
  );

  eachEndpoint('a deleted endpoint gets nothing more', async (store, account, endpoint) => {
    await happen(store, account);
    expect(await store.deleteEndpoint(account.id, endpoint.id, Date.now())).toBe(true);
    expect(await store.deleteEndpoint(account.id, endpoint.id, Date.now())).toBe(false);
    await happen(store, account);
    expect(await beginAll(store)).toEqual([]);
    expect(await store.endpoints(account.id)).toEqual([]);
    // No call is planned that would wait for ever, not even for what was remembered of the endpoint.
    const { rows } = await store.emails(account.id, {
      limit: 9,
      after: null,
      before: null,
      q: null,
      status: null,
    });
    const planned = await Promise.all(rows.map(({ id }) => store.callsOfMessage(id)));
    expect(planned.map(({ length }) => length)).toEqual([0, 1]);
  });
});

describe('endpoints', () => {
  eachStore('parallel creations cannot pass the limit', async (store, account) => {
    const results = await Promise.all(
      Array.from({ length: 12 }, () => store.createEndpoint(newEndpoint(account.id), 10)),
    );
    expect(results.filter((result) => result === 'created')).toHaveLength(10);
    expect(await store.endpoints(account.id)).toHaveLength(10);
  });

  eachEndpoint(
    'a rotated secret keeps the one before until its time',
    async (store, account, endpoint) => {
      const fresh = new Uint8Array([1, 2, 3]);
      expect(await store.rotateEndpointSecret(account.id, endpoint.id, fresh, 99)).toBe(true);
      expect(await store.endpoint(account.id, endpoint.id)).toMatchObject({
        sealedSecret: fresh,
        sealedPreviousSecret: new Uint8Array(Buffer.from('sealed')),
        previousUntil: 99,
      });
    },
  );

  eachStore(
    'the accounts with endpoints are known, of disabled ones too, not of deleted ones',
    async (store, account) => {
      const [disabled, deleted, none] = ['b', 'c', 'd'].map((name) => newAccount(name));
      if (disabled === undefined || deleted === undefined || none === undefined) throw new Error();
      for (const one of [disabled, deleted, none]) await store.createAccount(one);
      expect(await store.accountsWithEndpoints()).toEqual([]);
      await store.createEndpoint(newEndpoint(account.id), 10);
      await store.createEndpoint(newEndpoint(account.id), 10);
      await store.createEndpoint(newEndpoint(disabled.id, { status: 'disabled' }), 10);
      const gone = newEndpoint(deleted.id);
      await store.createEndpoint(gone, 10);
      await store.deleteEndpoint(deleted.id, gone.id, Date.now());
      const found = await store.accountsWithEndpoints();
      expect(found.toSorted()).toEqual([account.id, disabled.id].toSorted());
    },
  );

  eachEndpoint(
    'attempts are paged newest first, a test call among them',
    async (store, account, endpoint) => {
      const ids: string[] = [];
      for (let at = 0; at < 5; at += 1) {
        await happen(store, account);
        const [call] = await beginAll(store);
        if (call === undefined) throw new Error('no call');
        const { attempt, ...rest } = finished(call, true);
        if (at === 2) {
          await store.recordTestCall({ ...attempt, callId: null, eventType: 'webhook.test' });
        } else {
          await store.finishCall({ attempt, ...rest });
        }
        ids.unshift(attempt.id);
      }
      const first = await store.callAttempts(endpoint.id, { limit: 3, after: null, before: null });
      expect(first.rows.map(({ id }) => id)).toEqual(ids.slice(0, 3));
      expect(first.hasMore).toBe(true);
      const after = ids[2] ?? null;
      const second = await store.callAttempts(endpoint.id, { limit: 3, after, before: null });
      expect(second.rows.map(({ id }) => id)).toEqual(ids.slice(3));
      expect(first.rows[2]?.eventType).toBe('webhook.test');
    },
  );

  eachEndpoint(
    'the calls of a message are those of its events, to removed endpoints too',
    async (store, account, endpoint) => {
      const second = newEndpoint(account.id, { url: 'https://second.example.com/' });
      await store.createEndpoint(second, 10);
      const eventId = await happen(store, account);
      const [call] = await beginAll(store);
      const messageId = call?.messageId ?? '';
      await happen(store, account);
      if (call === undefined) throw new Error('no call');
      await store.finishCall(finished(call, true));
      await store.deleteEndpoint(account.id, second.id, Date.now());

      const calls = await store.callsOfMessage(messageId);
      expect(
        calls.map((each) => [each.eventId, each.endpointId, each.url]).toSorted(byText),
      ).toEqual(
        [
          [eventId, endpoint.id, endpoint.url],
          [eventId, second.id, second.url],
        ].toSorted(byText),
      );
      expect(calls.find(({ id }) => id === call.id)).toMatchObject({
        status: 'done',
        attempts: 1,
        nextAttemptAt: null,
      });
      expect(await store.callsOfMessage('none')).toEqual([]);
    },
  );
});

const byText = (a: string[], b: string[]): number => a.join().localeCompare(b.join());
