/** The suppression list: what replaces what, cursors that outlive their rows, many at once. */
import { expect } from 'bun:test';

import type { Suppression } from '../../src/store/rows.ts';
import { newAccount, newSuppression } from './samples.ts';
import { eachStore } from './stores.ts';

eachStore('a row keeps its reason, but a stronger one replaces manual', async (store, account) => {
  const email = 'ann@example.org';
  const manual = newSuppression(account.id, email, { note: 'asked' });
  expect(await store.addSuppression(manual)).toEqual(manual);
  const bounce = newSuppression(account.id, email, { reason: 'hard_bounce' });
  const upgraded = { ...bounce, createdAt: manual.createdAt };
  expect(await store.addSuppression(bounce)).toEqual(upgraded);
  const again = newSuppression(account.id, email, { reason: 'manual' });
  expect(await store.addSuppression(again)).toEqual(upgraded);
  expect(await store.suppression(account.id, email)).toEqual(upgraded);
});

eachStore(
  'a removed address is no longer found, and can be added again',
  async (store, account) => {
    const email = 'ann@example.org';
    const first = newSuppression(account.id, email, { reason: 'complaint' });
    await store.addSuppression(first);
    expect(await store.suppressionById(account.id, first.id)).toEqual(first);
    expect(await store.removeSuppression(account.id, email, Date.now())).toBe(true);
    expect(await store.removeSuppression(account.id, email, Date.now())).toBe(false);
    expect(await store.suppression(account.id, email)).toBeNull();
    expect(await store.suppressionById(account.id, first.id)).toBeNull();
    expect((await store.suppressed(account.id, [email])).size).toBe(0);
    const back = newSuppression(account.id, email);
    expect(await store.addSuppression(back)).toEqual(back);
    expect(await store.suppressed(account.id, [email, 'bob@example.org'])).toEqual(
      new Map([[email, back]]),
    );
  },
);

eachStore('accounts have lists of their own', async (store, account) => {
  const other = newAccount('other');
  await store.createAccount(other);
  await store.addSuppression(newSuppression(account.id, 'ann@example.org'));
  expect(await store.suppression(other.id, 'ann@example.org')).toBeNull();
  expect(await store.removeSuppression(other.id, 'ann@example.org', Date.now())).toBe(false);
});

eachStore(
  'a cursor works when its row has been removed, and while rows arrive',
  async (store, account) => {
    const emails = Array.from({ length: 30 }, (_, at) => `u${String(at).padStart(2, '0')}@x.org`);
    await store.addSuppressions(emails.map((email) => newSuppression(account.id, email)));
    const newestFirst = emails.toReversed();
    const seen: string[] = [];
    for (let added = 0; ; added += 1) {
      const after = seen.at(-1) ?? null;
      const page = await store.suppressions(account.id, null, { limit: 4, after, before: null });
      seen.push(...page.rows.map(({ email }) => email));
      if (!page.hasMore) break;
      await store.removeSuppression(account.id, seen.at(-1) ?? '', Date.now());
      await store.addSuppression(newSuppression(account.id, `new${added}@x.org`));
    }
    expect(seen).toEqual(newestFirst);
    const before = { limit: 3, after: null, before: 'u05@x.org' };
    const page = await store.suppressions(account.id, null, before);
    // u06 was the last of a page, and removed.
    expect(page.rows.map(({ email }) => email)).toEqual(['u09@x.org', 'u08@x.org', 'u07@x.org']);
  },
);

eachStore(
  'a cursor may be the id of a row, and the list can be cut to one reason',
  async (store, account) => {
    const reasons = ['manual', 'hard_bounce', 'complaint', 'unsubscribe'] as const;
    const rows = Array.from({ length: 40 }, (_, at) => {
      const reason = reasons[at % 4] ?? 'manual';
      return newSuppression(account.id, `u${at}@${at % 8 < 4 ? 'x' : 'y'}.org`, { reason });
    });
    await store.addSuppressions(rows);
    const removed = new Set<string>();
    for (const reason of ['hard_bounce', 'unsubscribe'] as const) {
      for (const q of [null, 'Y.org']) {
        const wanted = rows
          .filter((row) => row.reason === reason && row.email.includes(q?.toLowerCase() ?? ''))
          .filter(({ id }) => !removed.has(id))
          .map(({ id }) => id)
          .toReversed();
        const seen: string[] = [];
        for (let hasMore = true; hasMore;) {
          const page = { limit: 3, after: seen.at(-1) ?? null, before: null };
          const found = await store.suppressions(account.id, q, page, reason);
          seen.push(...found.rows.map(({ id }) => id));
          ({ hasMore } = found);
          if (removed.size > 0) continue;
          // The cursor holds although its row has gone.
          const last = found.rows.at(-1);
          removed.add(last?.id ?? '');
          await store.removeSuppression(account.id, last?.email ?? '', Date.now());
        }
        expect([reason, q, seen]).toEqual([reason, q, wanted]);
      }
    }
    const page = { limit: 2, after: null, before: rows[5]?.id ?? '' };
    const newer = await store.suppressions(account.id, null, page, 'hard_bounce');
    expect(newer.rows.map(({ id }) => id)).toEqual([rows[13]?.id ?? '', rows[9]?.id ?? '']);
  },
);

eachStore(
  'behind a cursor that never was in the list there is nothing; before it the list begins with its oldest rows',
  async (store, account) => {
    const other = newAccount('other');
    await store.createAccount(other);
    const emails = ['a', 'b', 'c'].map((name) => `${name}@x.example`);
    await store.addSuppressions(emails.map((email) => newSuppression(account.id, email)));
    const foreign = await store.addSuppression(newSuppression(other.id, 'f@x.example'));
    const page = async (change: { after: string } | { before: string }) => {
      const where = { limit: 2, after: null, before: null, ...change };
      const { rows, hasMore } = await store.suppressions(account.id, null, where);
      return [rows.map(({ email }) => email), hasMore];
    };
    for (const cursor of [foreign.id, foreign.email, other.id, 'no@x.example', 'no id', '']) {
      expect([cursor, await page({ after: cursor })]).toEqual([cursor, [[], false]]);
      expect([cursor, await page({ before: cursor })]).toEqual([
        cursor,
        [['b@x.example', 'a@x.example'], true],
      ]);
    }
  },
);

eachStore(
  'a list larger than one step of the writer is added whole, and other writes run between steps',
  async (store, account) => {
    const rows: Suppression[] = Array.from({ length: 3500 }, (_, at) =>
      newSuppression(account.id, `u${at % 3000}@x.org`),
    );
    const order: string[] = [];
    const adding = store.addSuppressions(rows).then((count) => {
      order.push('added');
      return count;
    });
    const setting = store.setSetting('halt', 'yes').then(() => order.push('set'));
    await Promise.all([adding, setting]);
    expect(await adding).toBe(3000);
    expect(order).toEqual(['set', 'added']);
  },
);
