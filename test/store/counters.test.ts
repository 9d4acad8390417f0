/** Counters: what became of recipients, harm that messages did, and messages by their present status. */
import { expect } from 'bun:test';

import { idBound } from '../../src/base/ids.ts';
import type { EventType, MessageStatus } from '../../src/base/status.ts';
import type { Store } from '../../src/store/store.ts';
import type { NewMessage } from '../../src/store/journey.ts';
import { newId } from '../rig/ids.ts';
import {
  accepted,
  finishOf,
  newAccount,
  newAttempt,
  newEvent,
  newMessage,
  newSuppression,
  recipientOf,
} from './samples.ts';
import { eachStore } from './stores.ts';

const HOUR = 3_600_000;
const NOTHING = { delivered: 0, delayed: 0, bounced: 0, complained: 0, failed: 0 };

/** Ends the message's only recipient, at `at`. */
async function ended(
  store: Store,
  message: NewMessage,
  status: MessageStatus,
  at: number,
  host: string | null = 'mx.example.org',
): Promise<void> {
  const recipient = recipientOf(message);
  const type = `email.${status}` as EventType;
  await store.finish(
    finishOf(message, recipient, {
      status,
      nextAttemptAt: status === 'delivery_delayed' ? at : null,
      attempt: newAttempt(recipient, { host }),
      events: [{ ...newEvent(message.message, recipient.id, type), occurredAt: at }],
    }),
  );
}

eachStore('outcomes are counted by hour, destination and provider', async (store, account) => {
  const start = Math.floor(Date.now() / (24 * HOUR)) * 24 * HOUR;
  const other = newAccount('other');
  await store.createAccount(other);
  const to = async (address: string, accountId = account.id): Promise<NewMessage> =>
    accepted(store, newMessage(accountId, {}, [address]));
  const google = 'aspmx.l.google.com';
  const first = await to('a@gmail.com');
  await ended(store, first, 'delivery_delayed', start + 5, google);
  await ended(store, first, 'delivered', start + HOUR, google);
  await ended(store, await to('b@x.example'), 'bounced', start + HOUR + 1);
  await ended(store, await to('c@x.example'), 'bounced', start + HOUR + 2);
  await ended(store, await to('d@x.example', other.id), 'failed', start + HOUR);
  await ended(store, await to('e@sandbox.test'), 'delivered', start + HOUR);
  const sandbox = newMessage(account.id, { isSandbox: true });
  await ended(store, await accepted(store, sandbox), 'delivered', start + HOUR);

  const query = { accountId: account.id, from: start, until: start + 24 * HOUR };
  const gmail = { destination: 'gmail', provider: 'Gmail' };
  const rest = { destination: 'other', provider: '' };
  expect(await store.outcomes({ ...query, bucket: 'hour' })).toEqual([
    { start, ...gmail, ...NOTHING, delayed: 1 },
    { start: start + HOUR, ...gmail, ...NOTHING, delivered: 1 },
    { start: start + HOUR, ...rest, ...NOTHING, bounced: 2 },
  ]);
  expect(await store.outcomes({ ...query, accountId: null, bucket: 'day' })).toEqual([
    { start, ...gmail, ...NOTHING, delayed: 1, delivered: 1 },
    { start, ...rest, ...NOTHING, bounced: 2, failed: 1 },
  ]);
  for (const nobody of ['no id', newAccount('nobody').id])
    expect(await store.outcomes({ ...query, accountId: nobody, bucket: 'day' })).toEqual([]);
  // A bucket that holds the beginning is whole; the last one ends before that of `until` begins.
  const within = { ...query, from: start + HOUR - 1, until: start + HOUR + 1 };
  expect((await store.outcomes({ ...within, bucket: 'hour' })).map((row) => row.start)).toEqual([
    start,
    start + HOUR,
    start + HOUR,
  ]);
  const fromMiddle = { ...query, from: start + HOUR + 5, until: start + 2 * HOUR };
  expect(await store.outcomes({ ...fromMiddle, bucket: 'day' })).toMatchObject([
    { start, ...gmail, delayed: 1, delivered: 1 },
    { start, ...rest, bounced: 2 },
  ]);
  expect((await store.outcomes({ ...fromMiddle, bucket: 'hour' })).map((row) => row.start)).toEqual(
    [start + HOUR, start + HOUR],
  );
  const until = { ...query, until: start + HOUR };
  expect(await store.outcomes({ ...until, bucket: 'hour' })).toHaveLength(1);
});

eachStore('harm is what messages of the account did', async (store, account) => {
  const other = newAccount('other');
  await store.createAccount(other);
  const { message } = await accepted(store, newMessage(account.id));
  const foreign = await accepted(store, newMessage(other.id));
  const now = Date.now();
  const rows = [
    newSuppression(account.id, 'a@x.org', { reason: 'hard_bounce', source: message.id }),
    newSuppression(account.id, 'b@x.org', { reason: 'complaint', source: message.id }),
    newSuppression(account.id, 'c@x.org', { reason: 'complaint', source: message.id }),
    // Not harm: by hand, from a file, and by a message of another account.
    newSuppression(account.id, 'd@x.org', { reason: 'manual', source: message.id }),
    newSuppression(account.id, 'e@x.org', { reason: 'hard_bounce', source: 'list.csv' }),
    newSuppression(account.id, 'f@x.org', { reason: 'hard_bounce', source: foreign.message.id }),
    // Known already: it is counted once.
    newSuppression(account.id, 'a@x.org', { reason: 'complaint', source: message.id }),
  ];
  for (const row of rows) await store.addSuppression(row);
  expect(await store.harm(account.id, now)).toEqual({ hardBounces: 1, complaints: 2 });
  expect(await store.harm(account.id, now + 2 * HOUR)).toEqual({ hardBounces: 0, complaints: 0 });
  expect(await store.harm(other.id, now)).toEqual({ hardBounces: 0, complaints: 0 });
  const harmed = (hardBounces: number, complaints: number) =>
    store.harmedAccounts(now, { hardBounces, complaints });
  expect(await harmed(1, 99)).toEqual([account.id]);
  expect(await harmed(99, 2)).toEqual([account.id]);
  expect(await harmed(2, 3)).toEqual([]);
});

eachStore(
  'messages are counted from the day on in which the asked moment is',
  async (store, account) => {
    const day = Math.floor(Date.now() / (24 * HOUR)) * 24 * HOUR;
    for (const createdAt of [day - 1, day, day + HOUR]) {
      const id = idBound(createdAt) + newId(createdAt).slice(13);
      await accepted(store, newMessage(account.id, { id, createdAt, isSandbox: true }));
    }
    const counted = async (since: number) => [
      (await store.countsByStatus(account.id, since)).queued,
      (await store.sandboxCountsByStatus(account.id, since)).queued,
    ];
    expect(await counted(day + 5 * HOUR)).toEqual([2, 2]);
    expect(await counted(day)).toEqual([2, 2]);
    expect(await counted(day - 1)).toEqual([3, 3]);
  },
);

eachStore(
  'messages are counted by status, those of sandbox keys apart too',
  async (store, account) => {
    const later = Date.now() + 48 * HOUR;
    const now = Date.now();
    const sandbox = await accepted(store, newMessage(account.id, { isSandbox: true }));
    await accepted(store, newMessage(account.id, { isSandbox: true }));
    const live = await accepted(store, newMessage(account.id));
    await ended(store, sandbox, 'delivered', now);
    await ended(store, live, 'bounced', now);
    expect(await store.countsByStatus(account.id, now)).toMatchObject({
      queued: 1,
      delivered: 1,
      bounced: 1,
    });
    expect(await store.sandboxCountsByStatus(account.id, now)).toMatchObject({
      queued: 1,
      delivered: 1,
      bounced: 0,
    });
    for (const counts of [
      await store.countsByStatus(account.id, later),
      await store.sandboxCountsByStatus(account.id, later),
      await store.countsByStatus('another', now),
    ]) {
      expect(Object.values(counts).every((count) => count === 0)).toBe(true);
    }
  },
);

eachStore(
  'a message stays counted on the day that it was made, however late it ends',
  async (store, account) => {
    const now = Date.now();
    const createdAt = now - 48 * HOUR;
    const none = {
      queued: 0,
      sent: 0,
      delivered: 0,
      delivery_delayed: 0,
      bounced: 0,
      complained: 0,
      failed: 0,
      suppressed: 0,
    };
    const counts = (since: number) => store.countsByStatus(account.id, since);
    const message = await accepted(store, newMessage(account.id, { createdAt }));
    for (const status of ['queued', 'delivered', 'complained'] as const) {
      if (status !== 'queued') await ended(store, message, status, now);
      expect(await counts(createdAt)).toEqual({ ...none, [status]: 1 });
      expect(await counts(now)).toEqual(none);
    }
  },
);
