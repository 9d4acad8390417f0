/** Lists of messages: order, cursors that hold while rows arrive, page numbers, status filters. */
import { describe, expect } from 'bun:test';

import type { NewMessage } from '../../src/store/journey.ts';
import type { EmailFilter } from '../../src/store/messages.ts';
import type { Store } from '../../src/store/store.ts';
import { accepted, finishOf, newAccount, newMessage } from './samples.ts';
import { eachStore } from './stores.ts';

const PAGE: EmailFilter = { limit: 10, after: null, before: null, q: null, status: null };

/** Follows the cursor to the end; `between` runs before every page but the first. */
async function walk(
  store: Store,
  accountId: string,
  filter: Partial<EmailFilter>,
  between: () => Promise<unknown> = async () => {},
): Promise<string[]> {
  const seen: string[] = [];
  for (;;) {
    const after = seen.at(-1) ?? null;
    const page = await store.emails(accountId, { ...PAGE, ...filter, after });
    seen.push(...page.rows.map(({ id }) => id));
    if (!page.hasMore) return seen;
    await between();
  }
}

describe('lists of messages', () => {
  eachStore(
    'a walk while rows arrive meets every older row once, and no newer one',
    async (store, account) => {
      const before: string[] = [];
      for (let at = 0; at < 45; at += 1) {
        before.unshift((await accepted(store, newMessage(account.id))).message.id);
      }
      const arriving = () =>
        Promise.all(Array.from({ length: 5 }, () => accepted(store, newMessage(account.id))));
      expect(await walk(store, account.id, { limit: 7 }, arriving)).toEqual(before);
    },
  );

  eachStore(
    'before pages towards the newest, newest first within the page',
    async (store, account) => {
      const ids: string[] = [];
      for (let at = 0; at < 9; at += 1) {
        ids.unshift((await accepted(store, newMessage(account.id))).message.id);
      }
      const page = await store.emails(account.id, { ...PAGE, limit: 3, before: ids[5] ?? '' });
      expect(page.rows.map(({ id }) => id)).toEqual(ids.slice(2, 5));
      expect(page.hasMore).toBe(true);
      const last = await store.emails(account.id, { ...PAGE, limit: 3, before: ids[2] ?? '' });
      expect(last.rows.map(({ id }) => id)).toEqual(ids.slice(0, 2));
      expect(last.hasMore).toBe(false);
    },
  );

  eachStore(
    'a cursor that is not a row of the account counts by its time',
    async (store, account) => {
      const other = newAccount('other');
      await store.createAccount(other);
      const ids: string[] = [];
      const foreign: string[] = [];
      for (let at = 0; at < 6; at += 1) {
        ids.unshift((await accepted(store, newMessage(account.id))).message.id);
        foreign.unshift((await accepted(store, newMessage(other.id))).message.id);
      }
      for (const [at, cursor] of foreign.entries()) {
        const page = await store.emails(account.id, { ...PAGE, after: cursor });
        // The account's own row of that moment was committed just before the foreign one: it is older.
        expect(page.rows.map(({ id }) => id)).toEqual(ids.slice(at));
      }
    },
  );

  eachStore('a status is a filter that follows the message', async (store, account) => {
    const sent: NewMessage[] = [];
    for (let at = 0; at < 12; at += 1) sent.unshift(await accepted(store, newMessage(account.id)));
    const done = sent.filter((_, at) => at % 3 === 0);
    for (const message of done) {
      const [recipient] = message.recipients;
      if (recipient !== undefined) await store.finish(finishOf(message, recipient));
    }
    const idsOf = (messages: NewMessage[]): string[] => messages.map(({ message }) => message.id);
    expect(await walk(store, account.id, { status: 'delivered', limit: 2 })).toEqual(idsOf(done));
    const queued = sent.filter((message) => !done.includes(message));
    expect(await walk(store, account.id, { status: 'queued', limit: 3 })).toEqual(idsOf(queued));
  });

  eachStore('pages by number cover the list, and end', async (store, account) => {
    const other = newAccount('other');
    await store.createAccount(other);
    const ids: string[] = [];
    for (let at = 0; at < 23; at += 1) {
      ids.unshift((await accepted(store, newMessage(account.id))).message.id);
      if (at % 2 === 0) await accepted(store, newMessage(other.id));
    }
    const pages = [];
    for (let page = 1; page <= 4; page += 1) {
      pages.push((await store.emailsByPage(account.id, page, 10)).map(({ id }) => id));
    }
    expect(pages).toEqual([ids.slice(0, 10), ids.slice(10, 20), ids.slice(20), []]);
    for (const far of [1_000_000, 2 ** 31, Number.MAX_SAFE_INTEGER]) {
      expect(await store.emailsByPage(account.id, far, 100)).toEqual([]);
    }
  });
});
