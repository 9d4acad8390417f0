/**
 * The writer's parts share what they count and remember: what one verb changes, the next verb of another part goes by. Each is
 * asked through the store, as the writer puts them together.
 */
import { expect, test } from 'bun:test';

import type { AcceptResult } from '../../../src/store/journey.ts';
import type { Account } from '../../../src/store/rows.ts';
import type { Store } from '../../../src/store/store.ts';
import { beginAll, finished, happen } from '../call-steps.ts';
import {
  batchOf,
  finishOf,
  newAccount,
  newEndpoint,
  newEvent,
  newMessage,
  recipientOf,
} from '../samples.ts';
import { sent } from '../person.ts';
import { withStore } from '../test-store.ts';
import { rowsIn } from './writer-told.ts';

/** How many calls a delivery makes, and how many the word at acceptance that an email is sent. */
async function callsOfNext(store: Store, account: Account): Promise<[number, number]> {
  const open = await store.openCalls();
  await happen(store, account);
  const made = (await store.openCalls()) - open;
  const message = newMessage(account.id);
  message.events.push(newEvent(message.message, null, 'email.sent'));
  const answer = await store.accept(batchOf(account.id, message));
  return [made, answer.kind === 'accepted' ? answer.calls.length : -1];
}

test('an endpoint that is made, disabled by failures, removed, or closed with its account is known to every event', () =>
  withStore(async (store, account) => {
    const next = () => callsOfNext(store, account);
    expect(await next()).toEqual([0, 0]);
    const endpoint = newEndpoint(account.id);
    await store.createEndpoint(endpoint, 5);
    expect(await next()).toEqual([1, 1]);
    const [call] = await beginAll(store);
    if (call === undefined) throw new Error('no call');
    const end = finished(call, false, { disableAfter: 1 });
    expect((await store.finishCall(end)).endpointStatus).toBe('disabled');
    expect(await next()).toEqual([0, 0]);
    await store.updateEndpoint(account.id, endpoint.id, { status: 'active' }, Date.now());
    expect(await next()).toEqual([1, 1]);
    await store.deleteEndpoint(account.id, endpoint.id, Date.now());
    expect(await next()).toEqual([0, 0]);
    await store.createEndpoint(newEndpoint(account.id), 5);
    expect(await next()).toEqual([1, 1]);
    await store.closeAccount(account.id, 'why');
    expect(await next()).toEqual([0, 0]);
  }));

test('content that goes by erasing, by age, or with its account is given back to the account at once', () =>
  withStore(async (store, { id }) => {
    const other = newAccount('other');
    await store.createAccount(other);
    const bytes = async (): Promise<number[]> => [
      await store.storedBytes(id),
      await store.storedBytes(other.id),
    ];
    // All have texts of one length.
    await sent(store, id, ['a@x.example']);
    const [one = 0] = await bytes();
    expect(one).toBeGreaterThan(0);
    await sent(store, id, ['b@x.example']);
    await sent(store, id, ['c@x.example']);
    await sent(store, other.id, ['a@x.example']);
    await sent(store, other.id, ['z@x.example']);
    expect(await bytes()).toEqual([3 * one, 2 * one]);
    await store.eraseAddress('a@x.example', null);
    expect(await bytes()).toEqual([2 * one, one]);
    await store.removeAccount(id, [], () => undefined);
    expect(await bytes()).toEqual([0, one]);
    await store.purgeBodies(Date.now() + 1);
    expect(await bytes()).toEqual([0, 0]);
  }));

test('emails that share a commit fill an account’s storage no further than those that come one by one', () =>
  withStore(async (store, { id }) => {
    const accept = (storageBytes: number | null, count = 1) =>
      store.accept({
        ...batchOf(id, ...Array.from({ length: count }, () => newMessage(id))),
        storageBytes,
      });
    await accept(null);
    const one = await store.storedBytes(id);
    const over = (used: number, limit: number): AcceptResult => ({
      kind: 'over_quota',
      which: 'storage',
      limit,
      used,
    });
    const accepted: AcceptResult = { kind: 'accepted', calls: [] };
    const limit = 5 * one;
    const together = await Promise.all([
      accept(limit, 2),
      accept(limit),
      accept(limit, 2),
      accept(limit),
      accept(limit),
      accept(4 * one),
    ]);
    expect(together).toEqual([
      accepted,
      accepted,
      over(4 * one, limit),
      accepted,
      over(5 * one, limit),
      over(5 * one, 4 * one),
    ]);
    expect(await store.storedBytes(id)).toBe(5 * one);
  }));

test('an email counts on the day on which it was made, whenever it was accepted, sent or ended', () =>
  withStore(async (store, { id }, dir) => {
    const on = (day: number): number => day * 86_400_000 + 5;
    const message = newMessage(id, { createdAt: on(100), updatedAt: on(200) });
    await store.accept({ ...batchOf(id, message), now: on(300) });
    const days = (): unknown[] =>
      rowsIn(dir, 'SELECT day, status, count FROM status_days WHERE count <> 0');
    expect(days()).toEqual([{ day: 100, status: 'queued', count: 1 }]);
    const { id: recipientId } = recipientOf(message);
    const of = { accountId: id, messageId: message.message.id, recipientId, now: on(400) };
    const event = newEvent(message.message, recipientId, 'email.sent');
    await store.noteSent([{ ...of, dueAt: on(500), event }]);
    expect(days()).toEqual([{ day: 100, status: 'sent', count: 1 }]);
    await store.finish(finishOf(message, recipientOf(message), { now: on(600) }));
    expect(days()).toEqual([{ day: 100, status: 'delivered', count: 1 }]);
  }));
