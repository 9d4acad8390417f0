/**
 * The writer's parts share what they count and remember: what one verb changes, the next verb of another part goes by. Each is
 * asked through the store, as the writer puts them together.
 */
import { expect, test } from 'bun:test';

import type { Account } from '../../../src/store/rows.ts';
import type { Store } from '../../../src/store/store.ts';
import { beginAll, finished, happen } from '../call-steps.ts';
import { batchOf, newAccount, newEndpoint, newEvent, newMessage } from '../samples.ts';
import { sent } from '../person.ts';
import { withStore } from '../test-store.ts';

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
