/** The request log by status, class of status and method, with a search text and without. */
import { expect } from 'bun:test';

import { newAccount, newLogRecord } from './samples.ts';
import { eachStore } from './stores.ts';

const ROWS: [method: string, status: number][] = [
  ['POST', 200],
  ['GET', 200],
  ['POST', 202],
  ['GET', 404],
  ['DELETE', 404],
  ['POST', 422],
  ['POST', 500],
  ['GET', 503],
];

eachStore(
  'a class means every status of it, a status itself, and a method goes with either',
  async (store, account) => {
    await store.appendLogs(
      ROWS.map(([method, status]) => newLogRecord(account.id, { method, status })),
    );
    for (const q of [null, 'mail']) {
      const found = async (status: number | null, method: string | null) => {
        const page = { limit: 50, after: null, before: null };
        const { rows } = await store.logs(account.id, { ...page, q, status, method });
        return rows.map((row) => `${row.method} ${row.status}`).toSorted();
      };
      const expected = (isWanted: (method: string, status: number) => boolean): string[] =>
        ROWS.filter(([method, status]) => isWanted(method, status))
          .map(([method, status]) => `${method} ${status}`)
          .toSorted();
      expect(await found(null, null)).toEqual(expected(() => true));
      for (const one of [2, 3, 4, 5]) {
        const isOne = (status: number): boolean => Math.floor(status / 100) === one;
        expect([q, one, await found(one, null)]).toEqual([q, one, expected((_, s) => isOne(s))]);
        expect(await found(one, 'GET')).toEqual(expected((m, s) => m === 'GET' && isOne(s)));
      }
      for (const one of [200, 404, 503, 504]) {
        expect(await found(one, null)).toEqual(expected((_, status) => status === one));
        expect(await found(one, 'POST')).toEqual(expected((m, s) => m === 'POST' && s === one));
      }
      expect(await found(null, 'DELETE')).toEqual(['DELETE 404']);
    }
  },
);

eachStore('the rows of sandbox keys alone go with every other filter', async (store, account) => {
  const other = newAccount('other');
  await store.createAccount(other);
  const records = [account, other].flatMap(({ id }) =>
    ROWS.flatMap(([method, status]) =>
      [true, false].map((isSandbox) => newLogRecord(id, { method, status, isSandbox })),
    ),
  );
  await store.appendLogs(records);
  const ids = (method: string | null, status: number | null): string[] =>
    records
      .filter((row) => row.accountId === account.id && row.isSandbox)
      .filter((row) => method === null || row.method === method)
      .filter((row) => status === null || row.status === status)
      .map(({ id }) => id)
      .toReversed();
  const page = { after: null, before: null, isSandboxOnly: true };
  for (const q of [null, 'mail']) {
    for (const method of [null, 'GET', 'DELETE']) {
      for (const status of [null, 404, 200]) {
        for (const limit of [1, 50]) {
          const filter = { ...page, q, status, method, limit };
          const { rows, hasMore } = await store.logs(account.id, filter);
          const wanted = ids(method, status);
          expect({ filter, hasMore, ids: rows.map(({ id }) => id) }).toEqual({
            filter,
            hasMore: wanted.length > limit,
            ids: wanted.slice(0, limit),
          });
        }
      }
    }
  }
});
