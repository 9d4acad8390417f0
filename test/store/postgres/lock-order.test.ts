/** What a transaction locks or changes comes in one order, whoever asked first: so none waits for another in a circle. */
import { expect, test } from 'bun:test';

import { databaseAddress } from '../../../src/store/postgres/address.ts';
import { Database } from '../../../src/store/postgres/database.ts';
import { openPostgres } from '../../../src/store/postgres/store.ts';
import { Sums } from '../../../src/store/postgres/sums.ts';
import { acceptAll } from '../../../src/store/postgres/write-accept.ts';
import { transactingBy } from '../../../src/store/postgres/database.ts';
import type { Part } from '../../../src/store/postgres/statement.ts';
import { testServer } from '../../rig/postgres.ts';
import { batchOf, newAccount, newMessage } from '../samples.ts';

test('idempotency keys are locked in the order of their accounts and texts', async () => {
  const url = await (await testServer()).freshDatabase();
  const store = await openPostgres({ url, passwordFile: '', now: Date.now() });
  const accounts = [newAccount('one'), newAccount('two')];
  for (const account of accounts) await store.createAccount(account);
  const database = new Database(databaseAddress(url, ''));
  const asked: Part[] = [];
  const watched = transactingBy(database, (work) =>
    database.transaction((session) =>
      work({
        ...session,
        all: (statement) => {
          asked.push(statement);
          return session.all(statement);
        },
      }),
    ),
  );
  const [one = '', two = ''] = accounts.map(({ id }) => id).toSorted();
  const record = { route: 'POST /emails', bodyHash: 'h', status: 200, response: '{}' };
  const batches = [
    [two, 'a'],
    [one, 'z'],
    [two, 'A'],
    [one, 'b'],
  ].map(([accountId = '', key = '']) => ({
    ...batchOf(accountId, newMessage(accountId)),
    idempotency: { ...record, key, createdAt: 1, expiresAt: Date.now() + 60_000 },
  }));
  const answers = await acceptAll(watched, batches);
  expect(answers.map((answer) => 'kind' in answer && answer.kind)).toEqual(
    Array(4).fill('accepted'),
  );
  const locks = asked.find(({ text }) => text.includes('pg_advisory_xact_lock'));
  expect(locks?.params).toEqual([[`${one} b`, `${one} z`, `${two} A`, `${two} a`]]);
  await Promise.all([store.close(), database.close()]);
});

test('rows of sums are changed in the order of their keys', () => {
  const sums = new Sums({ node: 0, period: null }, 'other');
  for (const [account, day] of [
    ['b', '2026-01-02'],
    ['a', '2026-01-03'],
    ['b', '2026-01-01'],
    ['a', '2026-01-03'],
  ] as const)
    sums.usage(account, day, 1);
  for (const [account, bytes] of [
    ['b', 5],
    ['a', 7],
    ['c', 3],
    ['c', -3],
  ] as const)
    sums.stored(account, bytes);
  expect(sums.parts().map(({ params }) => params)).toEqual([
    [
      ['a', 'b', 'b'],
      ['2026-01-03', '2026-01-01', '2026-01-02'],
      [3, 3, 3],
      [2, 1, 1],
    ],
    // What adds up to nothing is not written.
    [
      ['a', 'b'],
      [3, 3],
      [7, 5],
    ],
  ]);
});
