/** An upgrade: what was stored before the counters is added to them after the start, while the store is in use. */
import { expect, test } from 'bun:test';
import { Database } from 'bun:sqlite';
import { join } from 'node:path';

import { Arrivals } from '../../rig/arrivals.ts';
import { accepted, finishOf, newAccount, newEvent, newMessage } from '../samples.ts';
import { openTestStore, withDir } from '../test-store.ts';

const MESSAGES = 450;

test('counters of older rows are there soon after the start, and go on from there', () =>
  withDir(async (dir) => {
    const account = newAccount('default');
    const first = await openTestStore(dir);
    await first.createAccount(account);
    const sent = await Promise.all(
      Array.from({ length: MESSAGES }, () => accepted(first, newMessage(account.id))),
    );
    const finish = (store: typeof first, list: typeof sent) =>
      Promise.all(
        list.map((message) => {
          const [recipient] = message.recipients;
          if (recipient === undefined) throw new Error('no recipient');
          const events = [newEvent(message.message, recipient.id, 'email.delivered')];
          return store.finish(finishOf(message, recipient, { events }));
        }),
      );
    await finish(first, sent.slice(100));
    await first.close();
    const mail = new Database(join(dir, 'mail.db'), { readwrite: true });
    mail.run('DELETE FROM outcome_hours');
    mail.run("INSERT INTO recounts SELECT 'outcomes', max(seq) + 1 FROM messages");
    mail.close();

    const events = new Arrivals<string>('log lines');
    const log = { info: (event: string) => events.push(event), warn() {}, error() {} };
    const store = await openTestStore(dir, log);
    // Some of them end while the others are counted.
    await finish(store, sent.slice(0, 100));
    await events.first((event) => event === 'counters_computed');
    const query = { from: Date.now() - 86_400_000, until: Date.now() + 86_400_000 } as const;
    const buckets = await store.outcomes({ ...query, accountId: account.id, bucket: 'day' });
    expect(buckets.reduce((sum, { delivered }) => sum + delivered, 0)).toBe(MESSAGES);
    await store.close();

    events.clear();
    const again = await openTestStore(dir, log);
    const all = await again.outcomes({ ...query, accountId: null, bucket: 'day' });
    expect(all.reduce((sum, { delivered }) => sum + delivered, 0)).toBe(MESSAGES);
    expect(events.items).toEqual([]);
    await again.close();
  }));
