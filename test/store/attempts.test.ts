/** Attempts: leases, the state of message and recipients, what a finished recipient still may become. */
import { describe, expect } from 'bun:test';

import type { MessageStatus } from '../../src/base/status.ts';
import type { Recipient } from '../../src/store/rows.ts';
import type { NewMessage } from '../../src/store/journey.ts';
import {
  accepted,
  dueRequest,
  finishOf,
  newAttempt,
  newEndpoint,
  newEvent,
  newMessage,
  newSuppression,
  recipientOf,
} from './samples.ts';
import { AGAIN_MS, begin } from './attempt-steps.ts';
import { eachStore } from './stores.ts';

describe('begin', () => {
  eachStore(
    'counts the attempt and sets when it is due again if this process dies',
    async (store, account) => {
      const recipient = recipientOf(await accepted(store, newMessage(account.id)));
      const [begun] = await begin(store, recipient, 'me');
      expect(begun).toMatchObject({ id: recipient.id, attempts: 1, status: 'queued' });
      expect(begun?.nextAttemptAt).toBeGreaterThan(Date.now() + 200_000);
    },
  );

  eachStore('of many who begin at once, one does', async (store, account) => {
    const recipient = recipientOf(await accepted(store, newMessage(account.id)));
    const begun = await Promise.all(
      Array.from({ length: 10 }, (_, at) => begin(store, recipient, `owner ${at}`)),
    );
    expect(begun.flat()).toHaveLength(1);
  });

  eachStore(
    'a lease that has ended, or was released, can be taken over',
    async (store, account) => {
      const recipient = recipientOf(await accepted(store, newMessage(account.id)));
      const [first, second, third] = [1, 2, 3].map((times) => times * (AGAIN_MS + 1_000));
      const leaseMs = 10 * AGAIN_MS;
      expect(await begin(store, recipient, 'dead')).toHaveLength(1);
      expect(await begin(store, recipient, 'next', leaseMs, first)).toHaveLength(1);
      expect(await begin(store, recipient, 'third', leaseMs, second)).toHaveLength(0);
      await store.releaseLeases('another', Date.now());
      expect(await begin(store, recipient, 'third', leaseMs, second)).toHaveLength(0);
      await store.releaseLeases('next', Date.now());
      expect(await begin(store, recipient, 'third', leaseMs, second)).toHaveLength(1);
      await store.releaseLeases(null, Date.now());
      expect(await begin(store, recipient, 'fourth', leaseMs, third)).toHaveLength(1);
    },
  );

  eachStore('a recipient that is finished is not begun', async (store, account) => {
    const sent = await accepted(store, newMessage(account.id));
    await store.finish(finishOf(sent, recipientOf(sent)));
    expect(await begin(store, recipientOf(sent), 'me')).toEqual([]);
  });
});

describe('noteSent', () => {
  const noteOf = ({ message }: NewMessage, recipient: Recipient) => ({
    recipientId: recipient.id,
    messageId: message.id,
    accountId: message.accountId,
    now: Date.now(),
    event: newEvent(message, recipient.id, 'email.sent'),
  });

  eachStore(
    'sets recipient and message, counts it, and records the event with its calls',
    async (store, account) => {
      await store.createEndpoint(newEndpoint(account.id), 10);
      const sent = await accepted(store, newMessage(account.id));
      const [begun] = await begin(store, recipientOf(sent), 'me');
      const calls = await store.noteSent([noteOf(sent, recipientOf(sent))]);
      expect(calls).toHaveLength(1);
      const [row] = await store.recipients(sent.message.id);
      // Still open, and still claimed.
      expect(row).toMatchObject({ status: 'sent', attempts: 1 });
      expect(row?.nextAttemptAt).toBe(begun?.nextAttemptAt ?? null);
      expect(await begin(store, recipientOf(sent), 'another')).toEqual([]);
      expect((await store.messageById(sent.message.id))?.status).toBe('sent');
      const counts = await store.countsByStatus(account.id, 0);
      expect([counts.queued, counts.sent]).toEqual([0, 1]);
    },
  );

  eachStore(
    'leaves alone what says `sent` already, has ended, or is gone',
    async (store, account) => {
      const twice = await accepted(store, newMessage(account.id));
      await store.noteSent([noteOf(twice, recipientOf(twice)), noteOf(twice, recipientOf(twice))]);
      const done = await accepted(store, newMessage(account.id));
      await store.finish(finishOf(done, recipientOf(done)));
      const gone = newMessage(account.id);
      await store.noteSent([noteOf(done, recipientOf(done)), noteOf(gone, recipientOf(gone))]);
      const typesOf = async ({ message }: NewMessage): Promise<string[]> =>
        (await store.events(message.id)).map(({ type }) => type);
      expect(await typesOf(twice)).toEqual(['email.queued', 'email.sent']);
      expect(await typesOf(done)).not.toContain('email.sent');
      expect((await store.messageById(done.message.id))?.status).toBe('delivered');
    },
  );

  eachStore(
    'of several recipients shows the newest event while one is open',
    async (store, account) => {
      const to = ['a@example.org', 'b@example.org'];
      const sent = await accepted(store, newMessage(account.id, {}, to));
      await store.finish(finishOf(sent, recipientOf(sent, 0)));
      await store.noteSent([noteOf(sent, recipientOf(sent, 1))]);
      expect((await store.messageById(sent.message.id))?.status).toBe('sent');
      await store.finish(finishOf(sent, recipientOf(sent, 1)));
      expect((await store.messageById(sent.message.id))?.status).toBe('delivered');
    },
  );
});

describe('finish', () => {
  eachStore(
    'writes recipient, attempt, events, suppression and message in one go',
    async (store, account) => {
      const sent = await accepted(store, newMessage(account.id));
      const recipient = recipientOf(sent);
      const attempt = newAttempt(recipient, { outcome: 'failed', reply: '550 5.1.1 who?' });
      const event = newEvent(sent.message, recipient.id, 'email.bounced');
      const result = await store.finish(
        finishOf(sent, recipient, {
          status: 'bounced',
          lastReason: '550 5.1.1 who?',
          attempt,
          events: [event],
          suppress: newSuppression(account.id, recipient.address, { reason: 'hard_bounce' }),
        }),
      );
      expect(result).toEqual({ calls: [], messageStatus: 'bounced', isOvertaken: false });
      expect(await store.recipientById(recipient.id)).toMatchObject({
        status: 'bounced',
        nextAttemptAt: null,
        lastReason: '550 5.1.1 who?',
      });
      expect(await store.attempts(sent.message.id)).toEqual([attempt]);
      expect((await store.events(sent.message.id)).map(({ id }) => id)).toContain(event.id);
      expect((await store.suppression(account.id, recipient.address))?.reason).toBe('hard_bounce');
      expect(await store.message(account.id, sent.message.id)).toMatchObject({
        status: 'bounced',
        failureReason: '550 5.1.1 who?',
      });
      const counts = await store.countsByStatus(account.id, 0);
      expect([counts.queued, counts.bounced]).toEqual([0, 1]);
    },
  );

  eachStore(
    'the reason belongs to the status shown, and there is none while it is not a failure',
    async (store, account) => {
      const to = ['a@example.org', 'b@example.org', 'c@example.org', 'd@example.org'];
      const sent = await accepted(store, newMessage(account.id, {}, to));
      const steps: [at: number, status: MessageStatus, reason: string, shown: string | null][] = [
        [0, 'bounced', '550 5.1.1 who?', '550 5.1.1 who?'],
        [1, 'delivery_delayed', '450 4.2.0 later', null],
        [2, 'failed', 'no such domain', 'no such domain'],
        [3, 'delivered', '250 ok', null],
        // The last one ends, and the worst of all is shown: the one that bounced.
        [1, 'delivered', '250 ok', '550 5.1.1 who?'],
      ];
      for (const [at, status, lastReason, shown] of steps) {
        const recipient = recipientOf(sent, at);
        const nextAttemptAt = status === 'delivery_delayed' ? Date.now() + 60_000 : null;
        const change = { status, lastReason, nextAttemptAt, attempt: null };
        await store.finish(finishOf(sent, recipient, change));
        const message = await store.message(account.id, sent.message.id);
        expect([message?.status, message?.failureReason]).toEqual([
          at === 1 && nextAttemptAt === null ? 'bounced' : status,
          shown,
        ]);
      }
    },
  );

  eachStore(
    'while one recipient waits the message shows its newest event, then the worst of all',
    async (store, account) => {
      const to = ['a@example.org', 'b@example.org', 'c@example.org'];
      const sent = await accepted(store, newMessage(account.id, {}, to));
      const steps: [at: number, status: MessageStatus, shown: MessageStatus][] = [
        [0, 'bounced', 'bounced'],
        [1, 'delivered', 'delivered'],
        [2, 'delivered', 'bounced'],
      ];
      for (const [at, status, shown] of steps) {
        const recipient = recipientOf(sent, at);
        const attempt = newAttempt(recipient);
        const { messageStatus } = await store.finish(
          finishOf(sent, recipient, { status, attempt }),
        );
        expect(messageStatus).toBe(shown);
      }
      expect((await store.message(account.id, sent.message.id))?.status).toBe('bounced');
    },
  );

  eachStore('a deferred recipient is due again at the time given', async (store, account) => {
    const sent = await accepted(store, newMessage(account.id));
    const recipient = recipientOf(sent);
    await begin(store, recipient, 'me');
    const nextAttemptAt = Date.now() + 1000;
    const { messageStatus } = await store.finish(
      finishOf(sent, recipient, { status: 'delivery_delayed', nextAttemptAt, delayedAt: 5 }),
    );
    expect(messageStatus).toBe('delivery_delayed');
    const { ours } = await store.takeDue(dueRequest('next', nextAttemptAt));
    const { id, accountId, domain } = recipient;
    expect(ours).toEqual([{ id, accountId, domain, dueAt: nextAttemptAt }]);
    expect(await store.nextRecipientDue(0)).toBe(nextAttemptAt);
    expect(await store.nextRecipientDue(nextAttemptAt)).toBeNull();
  });

  eachStore(
    'a finished recipient stays as it is, but the attempt is on record',
    async (store, account) => {
      const sent = await accepted(store, newMessage(account.id));
      const recipient = recipientOf(sent);
      await store.finish(finishOf(sent, recipient));
      const late = newAttempt(recipient, { number: 2, outcome: 'failed' });
      const result = await store.finish(
        finishOf(sent, recipient, {
          status: 'failed',
          attempt: late,
          events: [newEvent(sent.message, recipient.id, 'email.failed')],
        }),
      );
      expect(result).toEqual({ calls: [], messageStatus: 'delivered', isOvertaken: false });
      expect((await store.recipientById(recipient.id))?.status).toBe('delivered');
      expect(await store.attempts(sent.message.id)).toHaveLength(2);
      const types = (await store.events(sent.message.id)).map(({ type }) => type);
      expect(types).toEqual(['email.queued', 'email.delivered']);
    },
  );

  eachStore(
    'which end may follow which: only a worse one of those that a report brings',
    async (store, account) => {
      const ends = ['delivered', 'bounced', 'failed', 'complained', 'suppressed'] as const;
      const follow: Record<string, string[]> = {};
      for (const first of ends) {
        for (const then of ends.filter((end) => end !== first)) {
          const sent = await accepted(store, newMessage(account.id));
          const recipient = recipientOf(sent, 0);
          for (const status of [first, then]) {
            const change = { status, nextAttemptAt: null, attempt: null };
            await store.finish(finishOf(sent, recipient, change));
          }
          const { status } = (await store.recipientById(recipient.id)) ?? recipient;
          if (status !== first) (follow[first] ??= []).push(status);
        }
      }
      expect(follow).toEqual({
        delivered: ['bounced', 'complained'],
        bounced: ['complained'],
        failed: ['complained'],
      });
    },
  );

  eachStore(
    'what a smarthost took is tried no more, and may still turn out delivered or bounced',
    async (store, account) => {
      for (const status of ['delivered', 'bounced'] as const) {
        const sent = await accepted(store, newMessage(account.id));
        const recipient = recipientOf(sent);
        await store.finish(finishOf(sent, recipient, { status: 'sent' }));
        const result = await store.finish(finishOf(sent, recipient, { status, attempt: null }));
        expect(result.messageStatus).toBe(status);
        expect((await store.recipientById(recipient.id))?.status).toBe(status);
      }
    },
  );

  eachStore('a report may turn a finished recipient to the worse', async (store, account) => {
    const sent = await accepted(store, newMessage(account.id));
    const recipient = recipientOf(sent);
    const shown: MessageStatus[] = [];
    for (const status of ['delivered', 'bounced', 'complained', 'delivered'] as const) {
      const attempt = null;
      const event = newEvent(sent.message, recipient.id, 'email.delivered');
      const change = { status, attempt, events: [event] };
      shown.push((await store.finish(finishOf(sent, recipient, change))).messageStatus);
    }
    expect(shown).toEqual(['delivered', 'bounced', 'complained', 'complained']);
  });
});
