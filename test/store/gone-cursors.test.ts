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
