/** Cursors whose row was erased: every list goes on from the position where it stood, and leaves no row out. */
import { expect } from 'bun:test';

import type { Page } from '../../src/store/pages.ts';
import { sent } from './person.ts';
import { accepted, finishOf, newLogRecord, newMessage, recipientOf } from './samples.ts';
import { eachStore } from './stores.ts';

const GONE = 3;
const ADDRESS = 'erika@person.example';
type List = (page: Page) => Promise<{ rows: readonly { id: string }[]; hasMore: boolean }>;

/** `ids`: the oldest first, with the one that is gone. */
async function expectPages(what: object, ids: readonly string[], list: List): Promise<void> {
  const cursor = ids[GONE] ?? '';
  const older = ids.slice(0, GONE).toReversed();
  const newer = ids.slice(GONE + 1).toReversed();
  for (const limit of [1, 2, 3, 9]) {
    const pages = [
      await list({ limit, after: cursor, before: null }),
      await list({ limit, after: null, before: cursor }),
    ];
    const shown = pages.map(({ rows, hasMore }) => ({ ids: rows.map(({ id }) => id), hasMore }));
    expect({ what, limit, shown }).toEqual({
      what,
      limit,
      shown: [
        { ids: older.slice(0, limit), hasMore: limit < older.length },
        { ids: newer.slice(-limit), hasMore: limit < newer.length },
      ],
    });
  }
}

for (const isSandbox of [false, true]) {
  eachStore(
    `an erased ${isSandbox ? 'sandbox' : 'live'} email as a cursor`,
    async (store, { id }) => {
      const ids: string[] = [];
      for (let n = 0; n < 7; n += 1) {
        const to = [n === GONE ? ADDRESS : 'ann@example.org'];
        const message = await accepted(store, newMessage(id, { isSandbox, to }, to));
        await store.finish(finishOf(message, recipientOf(message), { events: [] }));
        ids.push(message.message.id);
      }
      expect((await store.eraseAddress(ADDRESS, id)).messages).toBe(1);
      for (const q of [null, 'order']) {
        for (const status of [null, 'delivered'] as const) {
          const filter = { q, status, isSandboxOnly: isSandbox };
          await expectPages(filter, ids, (page) => store.emails(id, { ...filter, ...page }));
        }
      }
    },
  );
}

eachStore('an erased row of the request log as a cursor', async (store, { id }) => {
  // The store keeps the newest message of all.
  await sent(store, id, ['ann@example.org']);
  const records = Array.from({ length: 7 }, (_, n) =>
    newLogRecord(id, { isSandbox: true, path: `/emails/${n === GONE ? ADDRESS : n}` }),
  );
  await store.appendLogs(records);
  expect((await store.eraseAddress(ADDRESS, id)).log_rows).toBe(1);
  const ids = records.map((record) => record.id);
  for (const q of [null, 'mail']) {
    for (const method of [null, 'POST']) {
      for (const isSandboxOnly of [false, true]) {
        const filter = { q, method, status: null, isSandboxOnly };
        await expectPages(filter, ids, (page) => store.logs(id, { ...filter, ...page }));
      }
    }
  }
});

/** Ids of the first moment of all, and of the last. */
const [FIRST, LAST] = [
  '00000000-0000-7000-8000-000000000000',
  'ffffffff-ffff-7fff-bfff-ffffffffffff',
];

/** What comes after or before a cursor that is older than every row, or newer. `ids`: the newest first. */
async function expectAllOrNone(what: object, ids: readonly string[], list: List): Promise<void> {
  for (const limit of [2, 9]) {
    const shown = async (after: string | null, before: string | null): Promise<unknown> => {
      const { rows, hasMore } = await list({ limit, after, before });
      return { ids: rows.map(({ id }) => id), hasMore };
    };
    const hasMore = limit < ids.length;
    expect({
      what,
      limit,
      afterLast: await shown(LAST, null),
      beforeFirst: await shown(null, FIRST),
      afterFirst: await shown(FIRST, null),
      beforeLast: await shown(null, LAST),
    }).toEqual({
      what,
      limit,
      afterLast: { ids: ids.slice(0, limit), hasMore },
      beforeFirst: { ids: ids.slice(-limit), hasMore },
      afterFirst: { ids: [], hasMore: false },
      beforeLast: { ids: [], hasMore: false },
    });
  }
}

eachStore(
  'a cursor that is older than every row, or newer, has all of them on one side',
  async (store, { id }) => {
    const emails: string[] = [];
    const requests: string[] = [];
    for (let n = 0; n < 3; n += 1) {
      const { message } = await accepted(
        store,
        newMessage(id, { isSandbox: true, status: 'delivered' }),
      );
      emails.unshift(message.id);
      const record = newLogRecord(id, { isSandbox: true });
      await store.appendLogs([record]);
      requests.unshift(record.id);
    }
    for (const isSandboxOnly of [false, true]) {
      for (const isFiltered of [false, true]) {
        for (const isSearch of [false, true]) {
          const status = isFiltered ? ('delivered' as const) : null;
          const filter = { q: isSearch ? 'order' : null, status, isSandboxOnly };
          await expectAllOrNone(filter, emails, (page) => store.emails(id, { ...filter, ...page }));
          const method = isFiltered ? 'POST' : null;
          const asked = { q: isSearch ? 'mail' : null, method, status: null, isSandboxOnly };
          await expectAllOrNone(asked, requests, (page) => store.logs(id, { ...asked, ...page }));
        }
      }
    }
  },
);
