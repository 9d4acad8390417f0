/** What waits: read in pages, shown to the operator, and made due at the operator's word. */
import { describe, expect } from 'bun:test';

import type { DueTaken, RecipientRef } from '../../src/store/journey.ts';
import type { Recipient } from '../../src/store/rows.ts';
import { begin } from './attempt-steps.ts';
import { accepted, dueRequest, finishOf, newMessage, recipientOf } from './samples.ts';
import { eachStore } from './stores.ts';

describe('the queue', () => {
  eachStore('is read soonest first in pages, without gaps or repeats', async (store, account) => {
    const now = Date.now();
    for (let at = 0; at < 20; at += 1) {
      const message = newMessage(account.id);
      // Pairs share a time, so that a page can end between equals.
      for (const recipient of message.recipients)
        recipient.nextAttemptAt = now - Math.floor(at / 2);
      await accepted(store, message);
    }
    const { ours: all, isEnd } = await store.takeDue(dueRequest('me', now));
    expect([all.length, isEnd]).toEqual([20, true]);
    expect(all.map(({ dueAt }) => dueAt)).toEqual(
      all.map(({ dueAt }) => dueAt).toSorted((a, b) => a - b),
    );
    const paged: RecipientRef[] = [];
    for (let after: RecipientRef | null = null; ;) {
      const page: DueTaken = await store.takeDue(dueRequest('me', now, { limit: 3, after }));
      paged.push(...page.ours);
      if (page.isEnd) break;
      after = page.last;
    }
    expect(paged).toEqual(all);
  });

  eachStore(
    'shows the operator what waits by destination, and makes it due',
    async (store, account) => {
      const messages = [];
      for (const domain of ['b.example', 'a.example', 'b.example']) {
        messages.push(await accepted(store, newMessage(account.id, {}, [`x@${domain}`])));
      }
      const later = Date.now() + 1e6;
      for (const message of messages) {
        const change = { status: 'delivery_delayed', nextAttemptAt: later } as const;
        await store.finish(
          finishOf(message, recipientOf(message), { ...change, lastReason: 'full' }),
        );
      }
      const shown = async (domain: string | null, limit: number) =>
        (await store.queueCounts(domain, limit)).largest.map((row) => [
          row.domain,
          row.waiting,
          row.reason,
        ]);
      const largest = ['b.example', 2, 'full'];
      const smallest = ['a.example', 1, 'full'];
      expect(await shown(null, 9)).toEqual([largest, smallest]);
      expect([await shown(null, 1), await shown(null, 0)]).toEqual([[largest], []]);
      expect([await shown('a.example', 1), await shown('c.example', 1)]).toEqual([[smallest], []]);
      const listed: string[] = [];
      for (let after: string | null = null; ;) {
        const page: Recipient[] = await store.queue({ domain: null, limit: 1, after });
        const last = page.at(-1);
        if (last === undefined) break;
        listed.push(last.domain);
        after = last.id;
      }
      expect(listed).toEqual(['a.example', 'b.example', 'b.example']);
      expect(await store.queue({ domain: 'b.example', limit: 9, after: null })).toHaveLength(2);

      const now = Date.now();
      const target = { id: null, domain: 'b.example' };
      expect(await store.retryNow(target, now)).toBe(2);
      // Counted again, since they are still due: the number says what is tried now, not what was changed.
      expect(await store.retryNow(target, now)).toBe(2);
      expect((await store.takeDue(dueRequest('me', now))).ours).toHaveLength(2);
      const id = messages[1]?.message.id ?? '';
      expect(await store.retryNow({ id, domain: null }, now)).toBe(1);
      expect(await store.retryNow({ id: null, domain: null }, now)).toBe(messages.length);
    },
  );

  eachStore(
    'what was due and is tried and postponed in between is not counted twice',
    async (store, account) => {
      const message = await accepted(store, newMessage(account.id));
      const recipient = recipientOf(message);
      const now = Date.now();
      const change = { status: 'delivery_delayed', nextAttemptAt: now + 1e6 } as const;
      // All are sent before the first is done: the recipient may be in its attempt when it is counted, or not yet.
      const [, , retried] = await Promise.all([
        begin(store, recipient, 'me'),
        store.finish(finishOf(message, recipient, change)),
        store.retryNow({ id: null, domain: null }, now),
      ]);
      expect(retried).toBeLessThanOrEqual(1);
    },
  );

  eachStore('more than one step of a destination is made due', async (store, account) => {
    const later = Date.now() + 1e6;
    for (let at = 0; at < 12; at += 1) {
      const to = Array.from({ length: 50 }, (_, index) => `x${index}@much.example`);
      const message = newMessage(account.id, {}, to);
      for (const recipient of message.recipients) recipient.nextAttemptAt = later;
      await accepted(store, message);
    }
    await accepted(store, newMessage(account.id, {}, ['x@other.example']));
    const now = Date.now();
    expect(await store.retryNow({ id: null, domain: 'much.example' }, now)).toBe(600);
    const due = await store.takeDue(dueRequest('me', now, { limit: 9_999 }));
    expect(due.ours.filter(({ domain }) => domain === 'much.example')).toHaveLength(600);
  });

  eachStore('what is being attempted is not made due', async (store, account) => {
    const recipient = recipientOf(await accepted(store, newMessage(account.id)));
    const [begun] = await begin(store, recipient, 'me');
    const { id, domain } = recipient;
    for (const target of [
      { id: null, domain: null },
      { id, domain: null },
      { id: null, domain },
    ]) {
      expect(await store.retryNow(target, Date.now())).toBe(0);
      const { nextAttemptAt } = (await store.recipientById(id)) ?? recipient;
      expect(nextAttemptAt).toBe(begun?.nextAttemptAt ?? 0);
    }
  });
});
