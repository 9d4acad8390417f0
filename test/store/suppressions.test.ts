/** The suppression list: what replaces what, cursors that outlive their rows, many at once. */
import { expect, test } from 'bun:test';

import type { Suppression } from '../../src/store/rows.ts';
import { newAccount, newSuppression, withStore } from './samples.ts';

test('a row keeps its reason, but a stronger one replaces manual', () =>
  withStore(async (store, account) => {
    const email = 'ann@example.org';
    const manual = newSuppression(account.id, email, { note: 'asked' });
    expect(await store.addSuppression(manual)).toEqual(manual);
    const bounce = newSuppression(account.id, email, { reason: 'hard_bounce' });
    const upgraded = { ...bounce, createdAt: manual.createdAt };
    expect(await store.addSuppression(bounce)).toEqual(upgraded);
    const again = newSuppression(account.id, email, { reason: 'manual' });
    expect(await store.addSuppression(again)).toEqual(upgraded);
    expect(await store.suppression(account.id, email)).toEqual(upgraded);
  }));

test('a removed row is gone from every look, and can come back', () =>
  withStore(async (store, account) => {
    const email = 'ann@example.org';
    await store.addSuppression(newSuppression(account.id, email, { reason: 'complaint' }));
    expect(await store.removeSuppression(account.id, email)).toBe(true);
    expect(await store.removeSuppression(account.id, email)).toBe(false);
    expect(await store.suppression(account.id, email)).toBeNull();
    expect((await store.suppressed(account.id, [email])).size).toBe(0);
    const back = newSuppression(account.id, email);
    expect(await store.addSuppression(back)).toEqual(back);
    expect(await store.suppressed(account.id, [email, 'bob@example.org'])).toEqual(
      new Map([[email, back]]),
    );
  }));

test('accounts have lists of their own', () =>
  withStore(async (store, account) => {
    const other = newAccount('other');
    await store.createAccount(other);
    await store.addSuppression(newSuppression(account.id, 'ann@example.org'));
    expect(await store.suppression(other.id, 'ann@example.org')).toBeNull();
    expect(await store.removeSuppression(other.id, 'ann@example.org')).toBe(false);
  }));

test('a cursor holds when its row has been removed, and while rows arrive', () =>
  withStore(async (store, account) => {
    const emails = Array.from({ length: 30 }, (_, at) => `u${String(at).padStart(2, '0')}@x.org`);
    await store.addSuppressions(emails.map((email) => newSuppression(account.id, email)));
    const newestFirst = emails.toReversed();
    const seen: string[] = [];
    for (let added = 0; ; added += 1) {
      const after = seen.at(-1) ?? null;
      const page = await store.suppressions(account.id, null, { limit: 4, after, before: null });
      seen.push(...page.rows.map(({ email }) => email));
      if (!page.hasMore) break;
      await store.removeSuppression(account.id, seen.at(-1) ?? '');
      await store.addSuppression(newSuppression(account.id, `new${added}@x.org`));
    }
    expect(seen).toEqual(newestFirst);
    const before = { limit: 3, after: null, before: 'u05@x.org' };
    const page = await store.suppressions(account.id, null, before);
    // u06 was the last of a page, and removed.
    expect(page.rows.map(({ email }) => email)).toEqual(['u09@x.org', 'u08@x.org', 'u07@x.org']);
  }));

test('a list larger than one step of the writer is added whole, and other writes get their turn', () =>
  withStore(async (store, account) => {
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
  }));
