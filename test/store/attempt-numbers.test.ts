/** The number of an attempt: what counts as one, and what only looked like one. */
import { expect, test } from 'bun:test';

import { begunOf } from '../../src/store/attempt-choice.ts';
import type { NewMessage } from '../../src/store/journey.ts';
import type { Store } from '../../src/store/store.ts';
import { AGAIN_MS } from './attempt-steps.ts';
import { batchOf, finishOf, newMessage, recipientOf } from './samples.ts';
import { eachStore } from './stores.ts';

/** A message whose acceptance has marked its attempt as begun by `me`. */
async function marked(store: Store, accountId: string): Promise<NewMessage> {
  const message = newMessage(accountId);
  message.owner = 'me';
  recipientOf(message).attempts = 1;
  recipientOf(message).nextAttemptAt = Date.now() + AGAIN_MS;
  await store.accept(batchOf(accountId, message));
  return message;
}

/** The numbers that attempts get which begin now. */
async function numbers(store: Store, message: NewMessage, isFirst: boolean[]): Promise<number[]> {
  const now = Date.now();
  const claim = { recipientId: recipientOf(message).id, owner: 'me', nextAttemptAt: now };
  const begun: number[] = [];
  for (const first of isFirst) {
    // Its lease is over at once, so that the next one may begin.
    const attempt = { ...claim, leaseUntil: now, isFirst: first };
    begun.push(...(await store.begin([attempt], now)).map(({ attempts }) => attempts));
  }
  return begun;
}

const stored = async (store: Store, { message }: NewMessage): Promise<unknown> =>
  (await store.recipients(message.id)).map((row) => [row.attempts, row.nextAttemptAt]);

eachStore(
  'a mark of acceptance that lapsed unused has counted it already',
  async (store, { id }) => {
    const message = await marked(store, id);
    expect(await numbers(store, message, [true, false, true])).toEqual([1, 2, 3]);
    expect(await numbers(store, await marked(store, id), [false])).toEqual([2]);
  },
);

eachStore('what was begun and never attempted gives its number back', async (store, { id }) => {
  const [message, other] = [await marked(store, id), await marked(store, id)];
  const now = Date.now();
  const unbegun = { owner: 'me', status: 'queued', nextAttemptAt: now, attempt: null } as const;
  await store.finish(
    finishOf(message, recipientOf(message), { ...unbegun, events: [], isUnbegun: true }),
  );
  await store.finish(finishOf(other, recipientOf(other), { ...unbegun, events: [] }));
  expect([await stored(store, message), await stored(store, other)]).toEqual([
    [[0, now]],
    [[1, now]],
  ]);
  expect(await numbers(store, message, [false, false])).toEqual([1, 2]);
});

eachStore('what another owner has taken over keeps its number', async (store, { id }) => {
  const message = await marked(store, id);
  const change = { owner: 'other', nextAttemptAt: 1, attempt: null, events: [], isUnbegun: true };
  const end = finishOf(message, recipientOf(message), { ...change, status: 'queued' });
  expect((await store.finish(end)).isOvertaken).toBe(true);
  expect(await stored(store, message)).toEqual([[1, recipientOf(message).nextAttemptAt]]);
});

test('only the one attempt that acceptance has counted is not counted again', () => {
  const row = { ...recipientOf(newMessage('a')), nextAttemptAt: 0, owner: 'me', leaseUntil: null };
  const attempt = { recipientId: row.id, owner: 'me', leaseUntil: 1, nextAttemptAt: 1 };
  const after = (attempts: number, isFirst?: boolean): number | undefined =>
    begunOf({ ...row, attempts }, isFirst === undefined ? attempt : { ...attempt, isFirst }, 0)
      ?.attempts;
  expect([0, 1, 2].map((attempts) => after(attempts, true))).toEqual([1, 1, 3]);
  expect([0, 1, 2].map((attempts) => after(attempts, false))).toEqual([1, 2, 3]);
  expect([0, 1, 2].map((attempts) => after(attempts))).toEqual([1, 2, 3]);
});
