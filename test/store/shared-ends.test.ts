/** Ends of one recipient one after the other, alone and in one commit: each is decided as the one before has left it. */
import { describe, expect } from 'bun:test';

import type { FinishAttempt, Finished } from '../../src/store/journey.ts';
import type { Store } from '../../src/store/store.ts';
import { begin } from './attempt-steps.ts';
import {
  accepted,
  batchOf,
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

/** All in one commit, or each in its own. */
async function finish(
  store: Store,
  isTogether: boolean,
  ...ends: FinishAttempt[]
): Promise<Finished[]> {
  if (isTogether) return Promise.all(ends.map((end) => store.finish(end)));
  const results: Finished[] = [];
  for (const end of ends) results.push(await store.finish(end));
  return results;
}

for (const isTogether of [true, false]) {
  describe(isTogether ? 'in one commit' : 'one after the other', () => {
    eachStore('what an end has put off is nobody’s for the next one', async (store, account) => {
      const sent = await accepted(store, newMessage(account.id));
      const recipient = recipientOf(sent);
      await begin(store, recipient, 'a');
      const later = Date.now() + HOUR;
      const end = (owner: string, number: number) =>
        finishOf(sent, recipient, { owner, attempt: newAttempt(recipient, { number }) });
      const putOff = {
        ...end('a', 1),
        status: 'delivery_delayed',
        nextAttemptAt: later,
        lastReason: '450 later',
        delayedAt: later - 1,
      } as const;
      const results = await finish(store, isTogether, end('b', 7), putOff, {
        ...end('b', 2),
        lastReason: null,
      });
      expect(results.map(({ isOvertaken, messageStatus }) => [isOvertaken, messageStatus])).toEqual(
        [
          [true, 'queued'],
          [false, 'delivery_delayed'],
          [false, 'delivered'],
        ],
      );
      expect((await store.attempts(sent.message.id)).map(({ number }) => number)).toEqual([1, 2]);
      // A later end without a reason keeps the one before it.
      expect(await store.recipientById(recipient.id)).toMatchObject({
        status: 'delivered',
        nextAttemptAt: null,
        lastReason: '450 later',
        delayedAt: null,
        attempts: 1,
      });
      const {
        delivered,
        delivery_delayed: delayed,
        queued,
      } = await store.countsByStatus(account.id, 0);
      expect([delivered, delayed, queued]).toEqual([1, 0, 0]);
    });

    eachStore(
      'what is overtaken, recorded only, or gone suppresses nobody and tells of nothing',
      async (store, account) => {
        const [taken, done] = [
          await accepted(store, newMessage(account.id)),
          await accepted(store, newMessage(account.id)),
        ];
        const gone = newMessage(account.id);
        await begin(store, recipientOf(taken), 'other');
        const end = (message: typeof taken, email: string) =>
          finishOf(message, recipientOf(message), {
            owner: 'me',
            status: 'failed',
            events: [newEvent(message.message, recipientOf(message).id, 'email.failed')],
            suppress: newSuppression(account.id, email, {
              reason: 'hard_bounce',
              source: message.message.id,
            }),
          });
        const results = await finish(
          store,
          isTogether,
          end(taken, 'taken@x.example'),
          finishOf(done, recipientOf(done)),
          end(done, 'done@x.example'),
          end(gone, 'gone@x.example'),
        );
        expect(results).toEqual([
          { calls: [], messageStatus: 'queued', isOvertaken: true },
          { calls: [], messageStatus: 'delivered', isOvertaken: false },
          { calls: [], messageStatus: 'delivered', isOvertaken: false },
          { calls: [], messageStatus: 'failed', isOvertaken: false },
        ]);
        const emails = ['taken', 'done', 'gone'].map((name) => `${name}@x.example`);
        expect(await store.suppressed(account.id, emails)).toEqual(new Map());
        expect(await store.harm(account.id, 0)).toEqual({ hardBounces: 0, complaints: 0 });
        const typesOf = async ({ message }: typeof taken) =>
          (await store.events(message.id)).map(({ type }) => type);
        expect(await typesOf(taken)).toEqual(['email.queued']);
        expect(await typesOf(done)).toEqual(['email.queued', 'email.delivered']);
        expect(await store.attempts(taken.message.id)).toEqual([]);
      },
    );

    eachStore(
      'an end without an attempt is counted at the host of the last one, also of one that was only recorded',
      async (store, account) => {
        const sent = await accepted(store, newMessage(account.id));
        const recipient = recipientOf(sent);
        const at = (host: string | null, type: 'delivered' | 'failed' | 'complained') =>
          finishOf(sent, recipient, {
            status: type,
            attempt: host === null ? null : newAttempt(recipient, { host }),
            events: [newEvent(sent.message, recipient.id, `email.${type}`)],
          });
        await finish(
          store,
          isTogether,
          at('aspmx.l.google.com', 'delivered'),
          at('mta5.am0.yahoodns.net', 'failed'),
          at(null, 'complained'),
        );
        const query = { accountId: account.id, from: Date.now() - HOUR, until: Date.now() + HOUR };
        const counted = await store.outcomes({ ...query, bucket: 'day' });
        expect(
          counted.map(({ provider, delivered, failed, complained }) => [
            provider,
            delivered,
            failed,
            complained,
          ]),
        ).toEqual([
          ['Gmail', 1, 0, 0],
          ['Yahoo', 0, 0, 1],
        ]);
      },
    );

    eachStore(
      'limits count what each account has used before, of each month and of each day',
      async (store, account) => {
        const other = newAccount('other');
        await store.createAccount(other);
        const send = (
          { id }: typeof account,
          day: string,
          [dailyLimit, monthlyLimit]: [number | null, number | null],
          storageBytes: number | null = null,
        ) => ({
          ...batchOf(id, newMessage(id)),
          usage: { count: 2, day, dailyLimit, monthlyLimit },
          storageBytes,
        });
        const none: [null, null] = [null, null];
        for (const one of [account, other])
          for (const day of ['2026-01-31', '2026-02-01']) await store.accept(send(one, day, none));
        const bytes = (await store.storedBytes(account.id)) / 2;
        const batches = [
          send(account, '2026-01-30', [2, 4]),
          send(account, '2026-01-29', [null, 5]),
          send(account, '2026-02-02', [2, 4]),
          send(account, '2026-02-03', [null, 5]),
          send(other, '2026-02-01', [4, null]),
          send(other, '2026-02-01', [5, null]),
          send(other, '2026-02-02', none, 4 * bytes),
          send(other, '2026-02-02', none, 5 * bytes - 1),
          send(account, '2026-03-01', none, 5 * bytes),
          send(account, '2026-03-01', none, 5 * bytes),
        ];
        const answers = isTogether
          ? await Promise.all(batches.map((batch) => store.accept(batch)))
          : await batches.reduce<Promise<unknown[]>>(
              async (before, batch) => [...(await before), await store.accept(batch)],
              Promise.resolve([]),
            );
        const fits = { kind: 'accepted', calls: [] };
        const over = (which: string, limit: number, used: number) => ({
          kind: 'over_quota',
          which,
          limit,
          used,
        });
        expect(answers).toEqual([
          fits,
          over('monthly', 5, 4),
          fits,
          over('monthly', 5, 4),
          fits,
          over('daily', 5, 4),
          fits,
          over('storage', 5 * bytes - 1, 4 * bytes),
          fits,
          over('storage', 5 * bytes, 5 * bytes),
        ]);
      },
    );
  });
}

eachStore(
  'a row that grows stronger does harm in the hour in which it was made, and once',
  async (store, account) => {
    const { message } = await accepted(store, newMessage(account.id));
    const madeAt = Math.floor(Date.now() / HOUR) * HOUR - 5 * HOUR;
    const row = (email: string, reason: 'manual' | 'complaint', createdAt: number) =>
      newSuppression(account.id, email, { reason, source: message.id, createdAt });
    await store.addSuppression(row('a@x.example', 'manual', madeAt));
    for (const hours of [3, 4])
      await store.addSuppression(row('a@x.example', 'complaint', madeAt + hours * HOUR));
    const harm = async (since: number) => (await store.harm(account.id, since)).complaints;
    expect([await harm(madeAt), await harm(madeAt + HOUR)]).toEqual([1, 0]);
    // What comes back after a removal is new.
    await store.removeSuppression(account.id, 'a@x.example', madeAt);
    await store.addSuppression(row('a@x.example', 'complaint', madeAt + HOUR));
    expect([await harm(madeAt), await harm(madeAt + HOUR)]).toEqual([2, 1]);
  },
);
