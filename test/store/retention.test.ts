/** Retention takes what is old and nothing else. */
import { expect } from 'bun:test';

import { idBound } from '../../src/base/ids.ts';
import { newId } from '../rig/ids.ts';
import type { NewMessage } from '../../src/store/journey.ts';
import { EXPIRING } from '../../src/store/settings.ts';
import type { Store } from '../../src/store/store.ts';
import {
  accepted,
  batchOf,
  finishOf,
  newAccount,
  newEndpoint,
  newEvent,
  newLogRecord,
  newMessage,
  newSuppression,
} from './samples.ts';
import { eachStore } from './stores.ts';
import { everyCallDue } from './due-calls.ts';

const DAY_MS = 86_400_000;

/** A message whose id and times are `ageMs` old, delivered when `isDone`. */
async function sentAgo(
  store: Store,
  accountId: string,
  ageMs: number,
  isDone: boolean,
): Promise<NewMessage> {
  const createdAt = Date.now() - ageMs;
  // The time stands in the id; made by hand, because ids of one process never go back.
  const id = idBound(createdAt) + newId(createdAt).slice(13);
  const message = await accepted(store, newMessage(accountId, { id, createdAt }));
  const [recipient] = message.recipients;
  if (isDone && recipient !== undefined) {
    const events = [newEvent(message.message, recipient.id, 'email.delivered')];
    await store.finish(finishOf(message, recipient, { events }));
  }
  return message;
}

eachStore('bodies are removed when they are old and no recipient waits', async (store, account) => {
  const old = await sentAgo(store, account.id, 40 * DAY_MS, true);
  const waiting = await sentAgo(store, account.id, 40 * DAY_MS, false);
  const young = await sentAgo(store, account.id, DAY_MS, true);
  expect(await store.purgeBodies(Date.now() - 30 * DAY_MS)).toBe(1);
  expect(await store.body(account.id, old.message.id)).toEqual({ body: null });
  expect(await store.listedBody(account.id, old.message.id)).toEqual({ body: null });
  expect(await store.contentSizes(account.id, old.message.id)).toBeNull();
  expect(await store.messageForDelivery(waiting.message.id)).not.toBeNull();
  expect((await store.body(account.id, young.message.id))?.body).not.toBeNull();
  expect(await store.message(account.id, old.message.id)).not.toBeNull();
});

eachStore('the bytes of a body come back once, however many had it', async (store, account) => {
  const to = ['a@x.example', 'b@x.example', 'c@x.example'];
  // A day of its own goes whole where content lies by days.
  const createdAt = Date.now() - 40 * DAY_MS;
  const id = idBound(createdAt) + newId(createdAt).slice(13);
  const old = await accepted(store, newMessage(account.id, { id, createdAt }, to));
  const young = await accepted(store, newMessage(account.id, {}, to));
  const bytes = (await store.storedBytes(account.id)) / 2;
  for (const message of [young, old]) {
    for (const one of message.recipients) {
      await store.finish(finishOf(message, one, { events: [] }));
    }
  }
  expect(await store.purgeBodies(Date.now() - 30 * DAY_MS)).toBe(1);
  expect(await store.storedBytes(account.id)).toBe(bytes);
  expect(await store.purgeBodies(Date.now() + 1)).toBe(1);
  expect(await store.storedBytes(account.id)).toBe(0);
});

eachStore('what was made at the very time is not from before it', async (store, account) => {
  const { message } = await sentAgo(store, account.id, DAY_MS, true);
  expect(await store.purgeBodies(message.createdAt)).toBe(0);
  expect(await store.purgeMessages(message.createdAt)).toBe(0);
  expect(await store.purgeBodies(message.createdAt + 1)).toBe(1);
});

eachStore('more bodies than one step takes are all removed', async (store, account) => {
  const messages = Array.from({ length: 250 }, () => newMessage(account.id, {}, []));
  await store.accept(batchOf(account.id, ...messages));
  expect(await store.purgeBodies(Date.now() + 1)).toBe(250);
});

eachStore('mail that waits stands in the way of none behind it', async (store, account) => {
  const messages = Array.from({ length: 230 }, (_, at) =>
    newMessage(account.id, {}, at < 120 || at === 229 ? ['ann@example.org'] : []),
  );
  await store.accept(batchOf(account.id, ...messages));
  expect(await store.purgeBodies(Date.now() + 1)).toBe(109);
  // The newest of all stays.
  await store.accept(batchOf(account.id, newMessage(account.id)));
  expect(await store.purgeMessages(Date.now() + DAY_MS)).toBe(109);
  expect((await store.countsByStatus(account.id, 0)).queued).toBe(231);
});

eachStore(
  'events, attempts and calls are removed by the age of their message',
  async (store, account) => {
    const endpoint = newEndpoint(account.id);
    await store.createEndpoint(endpoint, 1);
    const old = await sentAgo(store, account.id, 40 * DAY_MS, true);
    const young = await sentAgo(store, account.id, DAY_MS, true);
    expect(await store.purgeHistory(Date.now() - 30 * DAY_MS)).toBe(3);
    expect(await store.events(old.message.id)).toEqual([]);
    expect(await store.attempts(old.message.id)).toEqual([]);
    expect(await store.events(young.message.id)).toHaveLength(2);
    expect(await store.attempts(young.message.id)).toHaveLength(1);
    // The calls were made today, whatever the message's age.
    expect(await store.purgeHistory(Date.now() + DAY_MS)).toBe(2 + 2 + 1);
    expect(await everyCallDue(store, Date.now())).toEqual([]);
  },
);

eachStore('attempts of calls go by their own age, and are counted', async (store, account) => {
  const { id: endpointId } = newEndpoint(account.id);
  await store.createEndpoint(newEndpoint(account.id, { id: endpointId }), 1);
  const now = Date.now();
  for (const createdAt of [now - 3 * DAY_MS, now - DAY_MS]) {
    await store.recordTestCall({
      id: idBound(createdAt) + newId(createdAt).slice(13),
      callId: null,
      endpointId,
      eventType: 'webhook.test',
      messageId: null,
      attempt: 1,
      statusCode: 200,
      ok: true,
      error: null,
      durationMs: 5,
      createdAt,
    });
  }
  const listed = async (): Promise<number> =>
    (await store.callAttempts(endpointId, { limit: 9, after: null, before: null })).rows.length;
  expect(await store.purgeHistory(now - 3 * DAY_MS)).toBe(0);
  expect(await store.purgeHistory(now - 3 * DAY_MS + 1)).toBe(1);
  expect(await listed()).toBe(1);
  expect(await store.purgeHistory(now - DAY_MS + 1)).toBe(1);
  expect(await listed()).toBe(0);
});

eachStore(
  'old messages go whole; those that wait, young ones and the newest of all stay',
  async (store, account) => {
    const old = await sentAgo(store, account.id, 40 * DAY_MS, true);
    const waiting = await sentAgo(store, account.id, 40 * DAY_MS, false);
    const young = await sentAgo(store, account.id, DAY_MS, true);
    expect(await store.purgeMessages(Date.now() - 30 * DAY_MS)).toBe(1);
    expect(await store.messageById(old.message.id)).toBeNull();
    expect(await store.recipients(old.message.id)).toEqual([]);
    expect(await store.events(old.message.id)).toEqual([]);
    expect(await store.attempts(old.message.id)).toEqual([]);
    expect(await store.messageForDelivery(waiting.message.id)).not.toBeNull();
    expect(await store.purgeMessages(Date.now() + DAY_MS)).toBe(0);
    expect(await store.messageById(young.message.id)).not.toBeNull();
    // What comes next has a new position, in the list and in the index.
    const next = await sentAgo(store, account.id, 0, true);
    expect(await store.purgeMessages(Date.now() - DAY_MS / 2)).toBe(1);
    const filter = { limit: 10, after: null, before: null, q: null, status: null };
    const listed = await store.emails(account.id, filter);
    expect(listed.rows.map(({ id }) => id)).toEqual([next.message.id, waiting.message.id]);
  },
);

eachStore(
  'expired idempotency records and marks of removed suppressions are removed',
  async (store, account) => {
    const now = Date.now();
    for (const [key, expiresAt] of [
      ['old', now - 1],
      ['new', now + 1000],
    ] as const) {
      const idempotency = {
        key,
        route: 'POST /emails',
        bodyHash: 'h',
        status: 200,
        response: '{}',
        createdAt: now,
        expiresAt,
      };
      await store.accept({ ...batchOf(account.id), idempotency });
    }
    for (const email of ['gone@x.org', 'kept@x.org']) {
      await store.addSuppression(newSuppression(account.id, email));
    }
    await store.removeSuppression(account.id, 'gone@x.org', Date.now());
    expect(await store.purgeExpired(now)).toBe(1);
    expect(await store.idempotencyRecord(account.id, 'new', now)).not.toBeNull();
    expect(await store.purgeExpired(Date.now() + 8 * DAY_MS)).toBe(2);
    expect(await store.suppression(account.id, 'kept@x.org')).not.toBeNull();
  },
);

eachStore(
  'records and settings expire by steady time, marks and counts by the wall clock, each to the millisecond',
  async (store, account) => {
    const now = Math.floor(Date.now() / DAY_MS) * DAY_MS;
    const steady = now + 1_000 * DAY_MS;
    const idempotency = {
      key: 'k',
      route: 'POST /emails',
      bodyHash: 'h',
      status: 200,
      response: '{}',
      createdAt: now,
      expiresAt: steady,
    };
    await store.accept({ ...batchOf(account.id), idempotency });
    await store.setSetting(`${EXPIRING}code`, String(steady));
    await store.addSuppression(newSuppression(account.id, 'gone@x.example'));
    await store.removeSuppression(account.id, 'gone@x.example', now);
    const { message } = await accepted(store, newMessage(account.id));
    const harm = { reason: 'complaint', source: message.id, createdAt: now } as const;
    await store.addSuppression(newSuppression(account.id, 'harm@x.example', harm));
    const gone = async (wallMs: number, steadyMs: number): Promise<number> =>
      store.purgeExpired(now + wallMs, steady + steadyMs);
    // The record and the setting; the mark; the harm of an hour.
    expect([await gone(7 * DAY_MS, 0), await gone(0, 1)]).toEqual([0, 2]);
    expect([await gone(7 * DAY_MS, 9), await gone(7 * DAY_MS + 1, 9)]).toEqual([0, 1]);
    const hour = DAY_MS / 24;
    expect(await gone(9 * DAY_MS + hour - 1, 9)).toBe(0);
    expect(await store.harm(account.id, now)).toEqual({ hardBounces: 0, complaints: 1 });
    expect(await gone(9 * DAY_MS + hour, 9)).toBe(1);
    expect(await store.harm(account.id, now)).toEqual({ hardBounces: 0, complaints: 0 });
  },
);

eachStore(
  'mail of days that were prepared, and of others, is kept alike',
  async (store, account) => {
    await store.prepareDays(Date.now() + 30 * DAY_MS);
    for (const ageMs of [-31 * DAY_MS, -40 * DAY_MS, 40 * DAY_MS]) {
      const { message } = await sentAgo(store, account.id, ageMs, true);
      expect((await store.messageForDelivery(message.id))?.body.text).toBe('Thanks');
      expect(await store.events(message.id)).toHaveLength(2);
    }
  },
);

eachStore("an account's old log goes, another's stays", async (store, account) => {
  const other = newAccount('other');
  await store.createAccount(other);
  const now = Date.now();
  const records = Array.from({ length: 230 }, (_, at) =>
    newLogRecord(at % 2 === 0 ? account.id : other.id, {
      createdAt: at < 220 ? now - 8 * DAY_MS : now,
    }),
  );
  await store.appendLogs(records);
  expect(await store.purgeLogs(account.id, now - 7 * DAY_MS)).toBe(110);
  const filter = { limit: 200, after: null, before: null, q: null, status: null, method: null };
  expect((await store.logs(account.id, filter)).rows).toHaveLength(5);
  expect((await store.logs(other.id, filter)).rows).toHaveLength(115);
});

eachStore(
  'settings go when the time in them is past, if their name says that they have one',
  async (store) => {
    const now = Date.now();
    const names = [`${EXPIRING}past`, `${EXPIRING}future`, 'plain', 'unti', 'until', 'untilx'];
    for (const name of names) {
      await store.setSetting(name, name.endsWith('future') ? String(now + 1) : String(now - 1));
    }
    await store.setSetting('words', 'no number');
    expect(await store.purgeExpired(now)).toBe(1);
    const left = await Promise.all(names.map((name) => store.setting(name)));
    expect(left.map((value) => value !== null)).toEqual([false, true, true, true, true, true]);
    expect(await store.setting('words')).toBe('no number');
  },
);
