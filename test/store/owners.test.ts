/** Owners of waiting recipients: who takes what is due, who may begin it, and whose end of an attempt counts. */
import { describe, expect } from 'bun:test';

import type { Recipient } from '../../src/store/rows.ts';
import type { NewMessage, RecipientRef } from '../../src/store/journey.ts';
import type { Store } from '../../src/store/store.ts';
import { accepted, dueRequest, finishOf, newEvent, newMessage } from './samples.ts';
import { eachStore } from './stores.ts';

const NOTHING = { accountIds: [], destinations: [] };

function recipientOf({ recipients: [recipient] }: NewMessage): Recipient {
  if (recipient === undefined) throw new Error('no recipient');
  return recipient;
}

/** Accepts `count` messages that are due, to one domain. */
async function waiting(store: Store, accountId: string, count: number, domain = 'example.org') {
  const ids: string[] = [];
  for (let at = 0; at < count; at += 1) {
    const message = newMessage(accountId, {}, [`r${at}@${domain}`]);
    ids.push(recipientOf(await accepted(store, message)).id);
  }
  return ids;
}

const idsOf = (refs: readonly RecipientRef[]): string[] => refs.map(({ id }) => id).toSorted();

function begin(store: Store, id: string, owner: string, now = Date.now()) {
  const claim = { owner, leaseUntil: now + 60_000, nextAttemptAt: now + 15_000 };
  return store.begin([{ recipientId: id, ...claim }], now);
}

describe('takeDue', () => {
  eachStore('gives each row to one owner, and to that one again', async (store, account) => {
    const ids = await waiting(store, account.id, 30);
    const now = Date.now();
    const answers = await Promise.all(
      ['a', 'b', 'c'].map((owner) => store.takeDue(dueRequest(owner, now))),
    );
    expect(idsOf(answers.flatMap(({ ours }) => ours))).toEqual(ids.toSorted());
    for (const [at, owner] of ['a', 'b', 'c'].entries()) {
      const again = await store.takeDue(dueRequest(owner, now));
      expect(again.ours).toEqual(answers[at]?.ours ?? []);
    }
  });

  eachStore('passes over what is another’s, however much that is', async (store, account) => {
    const ids = await waiting(store, account.id, 10);
    const now = Date.now();
    const theirs = await store.takeDue(dueRequest('another', now, { limit: 8 }));
    expect(theirs.ours).toHaveLength(8);
    const { ours, isEnd } = await store.takeDue(dueRequest('me', now, { limit: 3 }));
    expect([idsOf(ours), isEnd]).toEqual([ids.slice(8).toSorted(), true]);
  });

  eachStore('leaves what is not due, in an attempt or at its end', async (store, account) => {
    const [begun = '', due = ''] = await waiting(store, account.id, 2);
    const done = await accepted(store, newMessage(account.id));
    await store.finish(finishOf(done, recipientOf(done)));
    const later = newMessage(account.id);
    recipientOf(later).nextAttemptAt = Date.now() + 30_000;
    await accepted(store, later);
    const now = Date.now();
    await begin(store, begun, 'me', now);
    expect(idsOf((await store.takeDue(dueRequest('me', now))).ours)).toEqual([due]);
    // Due again, and still under its lease.
    const soon = await store.takeDue(dueRequest('me', now + 20_000));
    expect(idsOf(soon.ours)).toEqual([due]);
    // The lease is over: another takes it.
    const after = await store.takeDue(dueRequest('another', now + 61_000));
    expect(idsOf(after.ours)).toEqual([begun, recipientOf(later).id].toSorted());
    // And has it: that a lease was there before lets nobody else in.
    expect((await store.takeDue(dueRequest('third', now + 62_000))).ours).toEqual([]);
    expect(await begin(store, begun, 'third', now + 62_000)).toEqual([]);
  });

  eachStore('leaves what is put off or ends while it is read', async (store, account) => {
    const messages = [newMessage(account.id), newMessage(account.id), newMessage(account.id)];
    for (const message of messages) await accepted(store, message);
    const [later, ended, due] = messages as [NewMessage, NewMessage, NewMessage];
    const now = Date.now();
    const change = { status: 'delivery_delayed', nextAttemptAt: now + 60_000 } as const;
    // What is taken is read before any of it is committed. A store may take before it ends: then that end counts.
    const [, , { ours }] = await Promise.all([
      store.finish(finishOf(later, recipientOf(later), change)),
      store.finish(finishOf(ended, recipientOf(ended))),
      store.takeDue(dueRequest('me', now)),
    ]);
    const begun = await Promise.all(ours.map(({ id }) => begin(store, id, 'me', now)));
    expect(begun.flat().map(({ id }) => id)).toEqual([recipientOf(due).id]);
  });

  eachStore(
    'takes at most so many of a destination, and tells which has more',
    async (store, account) => {
      const a = await waiting(store, account.id, 5, 'a.example');
      const b = await waiting(store, account.id, 2, 'b.example');
      const now = Date.now();
      const taken = await store.takeDue(dueRequest('me', now, { most: 3 }));
      expect(idsOf(taken.ours)).toEqual([...a.slice(0, 3), ...b].toSorted());
      expect(idsOf(taken.left)).toEqual([a[3] ?? '']);
      expect([taken.last?.id, taken.isEnd]).toEqual([b[1], true]);
      // What was left is free: another takes it.
      const { ours } = await store.takeDue(dueRequest('another', now));
      expect(idsOf(ours)).toEqual(a.slice(3).toSorted());
    },
  );

  eachStore(
    'takes nothing of those that are to be left, but answers what is taken already',
    async (store, account) => {
      const [first = '', second = ''] = await waiting(store, account.id, 2, 'a.example');
      const now = Date.now();
      expect((await store.takeDue(dueRequest('me', now, { limit: 1 }))).isEnd).toBe(false);
      const accountId = account.id;
      for (const without of [
        { ...NOTHING, accountIds: [accountId] },
        { ...NOTHING, destinations: [{ accountId, domain: 'a.example' }] },
      ]) {
        const { ours, left } = await store.takeDue(dueRequest('me', now, { without }));
        expect([idsOf(ours), idsOf(left)]).toEqual([[first], [second]]);
      }
      const elsewhere = { ...NOTHING, destinations: [{ accountId, domain: 'b.example' }] };
      const { ours } = await store.takeDue(dueRequest('me', now, { without: elsewhere }));
      expect(idsOf(ours)).toEqual([first, second].toSorted());
    },
  );

  eachStore('of one destination takes only its recipients', async (store, account) => {
    const ids = await waiting(store, account.id, 2, 'a.example');
    await waiting(store, account.id, 2, 'b.example');
    const of = { accountId: account.id, domain: 'a.example' };
    const { ours, isEnd } = await store.takeDue(dueRequest('me', Date.now(), { of, limit: 3 }));
    expect([idsOf(ours), isEnd]).toEqual([ids.toSorted(), true]);
  });
});

describe('begin', () => {
  eachStore('refuses what another has taken, until that one is freed', async (store, account) => {
    const [id = ''] = await waiting(store, account.id, 1);
    await store.takeDue(dueRequest('dead', Date.now()));
    expect(await begin(store, id, 'me')).toEqual([]);
    await store.releaseLeases(null, Date.now());
    expect(await begin(store, id, 'me')).toHaveLength(1);
  });

  eachStore(
    'begins what is its owner’s and not due: acceptance had marked it',
    async (store, account) => {
      const message = { ...newMessage(account.id), owner: 'me' };
      const recipient = recipientOf(message);
      recipient.nextAttemptAt = Date.now() + 15_000;
      await accepted(store, message);
      expect(await begin(store, recipient.id, 'another')).toEqual([]);
      const later = dueRequest('another', Date.now() + 20_000);
      expect((await store.takeDue(later)).ours).toEqual([]);
      expect(await begin(store, recipient.id, 'me')).toHaveLength(1);
    },
  );

  eachStore(
    'refuses what was put off since it was read, though it is free',
    async (store, account) => {
      const message = await accepted(store, newMessage(account.id));
      const { id } = recipientOf(message);
      await begin(store, id, 'me');
      const change = { status: 'delivery_delayed', nextAttemptAt: Date.now() + 60_000 } as const;
      await store.finish(finishOf(message, recipientOf(message), { owner: 'me', ...change }));
      expect(await begin(store, id, 'me')).toEqual([]);
      expect(await begin(store, id, 'me', Date.now() + 61_000)).toHaveLength(1);
    },
  );
});

describe('finish', () => {
  eachStore('of an attempt that another has taken over changes nothing', async (store, account) => {
    const message = await accepted(store, newMessage(account.id));
    const { id } = recipientOf(message);
    await begin(store, id, 'old');
    const now = Date.now() + 61_000;
    await begin(store, id, 'new', now);
    const before = await store.recipientById(id);
    const event = newEvent(message.message, id, 'email.delivered');
    const late = finishOf(message, recipientOf(message), { owner: 'old', events: [event] });
    expect(await store.finish(late)).toEqual({
      calls: [],
      messageStatus: 'queued',
      isOvertaken: true,
    });
    expect(await store.recipientById(id)).toEqual(before);
    expect(await store.attempts(message.message.id)).toEqual([]);
    expect((await store.events(message.message.id)).map(({ type }) => type)).toEqual([
      'email.queued',
    ]);
    expect((await store.messageById(message.message.id))?.status).toBe('queued');
    // The other's own end counts.
    const end = finishOf(message, recipientOf(message), { owner: 'new' });
    expect(await store.finish(end)).toMatchObject({ isOvertaken: false });
    expect((await store.recipientById(id))?.status).toBe('delivered');
  });

  eachStore(
    'of an attempt whose recipient was freed and nobody took counts',
    async (store, account) => {
      const message = await accepted(store, newMessage(account.id));
      await begin(store, recipientOf(message).id, 'old');
      await store.releaseLeases(null, Date.now());
      const end = finishOf(message, recipientOf(message), { owner: 'old' });
      expect(await store.finish(end)).toMatchObject({ isOvertaken: false });
      expect((await store.recipientById(recipientOf(message).id))?.status).toBe('delivered');
    },
  );

  eachStore(
    'by another hand counts whoever has the recipient, and the late attempt is on record',
    async (store, account) => {
      const message = await accepted(store, newMessage(account.id));
      const { id } = recipientOf(message);
      await begin(store, id, 'me');
      await store.finish(
        finishOf(message, recipientOf(message), { status: 'failed', attempt: null }),
      );
      const late = finishOf(message, recipientOf(message), { owner: 'me' });
      expect(await store.finish(late)).toMatchObject({
        messageStatus: 'failed',
        isOvertaken: false,
      });
      expect(await store.attempts(message.message.id)).toHaveLength(1);
    },
  );

  eachStore('frees the recipient: another takes it when it is due', async (store, account) => {
    const message = await accepted(store, newMessage(account.id));
    const { id } = recipientOf(message);
    await begin(store, id, 'me');
    const nextAttemptAt = Date.now();
    await store.finish(
      finishOf(message, recipientOf(message), {
        owner: 'me',
        status: 'delivery_delayed',
        nextAttemptAt,
      }),
    );
    const { ours } = await store.takeDue(dueRequest('another', Date.now()));
    expect(idsOf(ours)).toEqual([id]);
  });
});

eachStore(
  'an end that leaves attempts to others writes nothing while one has begun',
  async (store, account) => {
    const message = await accepted(store, newMessage(account.id));
    const now = Date.now();
    const { id: recipientId } = recipientOf(message);
    const lease = { owner: 'other', leaseUntil: now + 60_000, nextAttemptAt: now + 15_000 };
    expect(await store.begin([{ recipientId, ...lease }], now)).toHaveLength(1);
    const event = newEvent(message.message, recipientId, 'email.failed');
    const end = finishOf(message, recipientOf(message), {
      owner: null,
      status: 'failed',
      attempt: null,
      events: [event],
      spares: { owner: 'me', now },
    });
    expect(await store.finish(end)).toMatchObject({ isOvertaken: true, calls: [] });
    const types = async () => (await store.events(message.message.id)).map(({ type }) => type);
    expect(await types()).toEqual(['email.queued']);
    const later = { ...end, spares: { owner: 'me', now: now + 60_000 } };
    expect(await store.finish(later)).toMatchObject({ isOvertaken: false });
    expect(await types()).toEqual(['email.queued', 'email.failed']);
  },
);
