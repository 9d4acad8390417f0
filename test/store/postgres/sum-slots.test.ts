/** Slots of sums: new ones for each period, and what is added up stays the same sum. */
import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test';

import { databaseAddress } from '../../../src/store/postgres/address.ts';
import { Database } from '../../../src/store/postgres/database.ts';
import { migrate } from '../../../src/store/postgres/schema.ts';
import { openPostgres } from '../../../src/store/postgres/store.ts';
import { insertInto, part, together } from '../../../src/store/postgres/statement.ts';
import {
  SumPeriods,
  addUpRest,
  addUpPeriod,
  slotOf,
} from '../../../src/store/postgres/sum-slots.ts';
import type { SumKind } from '../../../src/store/postgres/sum-slots.ts';
import { STORED_BYTES } from '../../../src/store/postgres/sum-tables.ts';
import { Sums } from '../../../src/store/postgres/sums.ts';
import { newId } from '../../rig/ids.ts';
import { testServer } from '../../rig/postgres.ts';
import { batchOf, newAccount, newMessage } from '../samples.ts';

const NOW = Date.UTC(2026, 10, 23, 12);
const TABLES = {
  status_days: 'count',
  usage_days: 'count',
  stored_bytes: 'bytes',
  outcome_hours: 'delivered',
  harm_hours: 'hard_bounces',
};
/** What the charts count: each event for its account, and for all together. */
const ROWS = { status_days: 1, usage_days: 1, stored_bytes: 1, outcome_hours: 2, harm_hours: 1 };

let database: Database;
beforeAll(async () => {
  const server = await testServer();
  database = new Database(databaseAddress(await server.freshDatabase(), ''));
  await migrate(database, NOW);
});
afterAll(() => database.close());

/** One of each sum, by the node in the period. */
async function addOne(
  accountId: string,
  node: number,
  period: number | null,
  kind: SumKind = 'finish',
): Promise<void> {
  const sums = new Sums({ node, period }, kind);
  sums.status(accountId, NOW, 'delivered', 1);
  sums.usage(accountId, '2026-11-23', 1);
  sums.stored(accountId, 1);
  const event = { accountId, occurredAt: NOW, domain: 'example.net', host: 'mx.example.net' };
  sums.outcome({ ...event, type: 'email.delivered' });
  sums.harm({ accountId, reason: 'hard_bounce', createdAt: NOW });
  await database.run(together(sums.parts()));
}

async function rowsOf(name: keyof typeof TABLES): Promise<{ slot: number; sum: number }[]> {
  return database.all(
    part(`SELECT slot, sum(${TABLES[name]})::int8 AS sum FROM ${name} GROUP BY slot ORDER BY slot`),
  );
}

describe('a slot', () => {
  test('is another one for each kind, node and period, below zero while the period lasts', () => {
    const slots = new Set<number>();
    for (const kind of ['accept', 'finish', 'sent', 'other'] as const) {
      for (const node of [0, 1, 4_095]) {
        for (const period of [0, 1, 65_535]) slots.add(slotOf(kind, node, period));
      }
    }
    expect(slots.size).toBe(36);
    expect(Math.max(...slots)).toBe(-1);
    expect(Math.min(...slots)).toBeGreaterThanOrEqual(-(2 ** 31));
    // Those beyond share some, and no number is too low for its column.
    expect(slotOf('accept', 0, 65_536)).toBe(slotOf('accept', 0, 0));
    expect(slotOf('accept', 4_096, 0)).toBe(slotOf('accept', 0, 0));
    expect(slotOf('accept', 2_048, 0)).not.toBe(slotOf('accept', 0, 0));
  });

  test('of no period is that of the kind and the node', () => {
    expect([slotOf('accept', 0, null), slotOf('other', 0, null)]).toEqual([0, 3]);
    expect(slotOf('finish', 2, null)).toBe(9);
  });
});

test('a period lasts 4,000 transactions, and is added up when the one after it is over', () => {
  const over: number[] = [];
  const periods = new SumPeriods((period) => over.push(period));
  const session = '019ac5a0-0000-7000-8000-00000000beef';
  const first = periods.next(session);
  expect(first).toBe(0xbeef);
  const taken = Array.from({ length: 15_999 }, () => periods.next(session) - first);
  expect([taken[3_998], taken[3_999], taken[7_999], taken[15_998]]).toEqual([0, 1, 2, 3]);
  expect(over.map((period) => period - first)).toEqual([0, 1]);
});

test('a period is added up into one row of its node, and nothing else is touched', async () => {
  const accountId = newId(NOW);
  await addOne(accountId, 1, 7);
  await addOne(accountId, 1, 7, 'sent');
  await addOne(accountId, 1, 8);
  await addOne(accountId, 2, 7);
  await addOne(accountId, 1, null);
  await addUpPeriod(database, 1, 7);
  for (const [name, each] of Object.entries(ROWS)) {
    expect([name, await rowsOf(name as keyof typeof TABLES)]).toEqual([
      name,
      [
        { slot: slotOf('finish', 1, 8), sum: each },
        { slot: slotOf('finish', 2, 7), sum: each },
        { slot: slotOf('accept', 1, null), sum: 2 * each },
        { slot: slotOf('finish', 1, null), sum: each },
      ],
    ]);
  }
  await addUpPeriod(database, 1, 8);
  await addUpRest(database);
  for (const [name, each] of Object.entries(ROWS)) {
    expect([name, await rowsOf(name as keyof typeof TABLES)]).toEqual([
      name,
      [
        { slot: 0, sum: each },
        { slot: slotOf('accept', 1, null), sum: 3 * each },
        { slot: slotOf('finish', 1, null), sum: each },
      ],
    ]);
  }
});

test('more rows than a step takes are added up, each for its account', async () => {
  await database.run(part('DELETE FROM stored_bytes'));
  const rows = Array.from({ length: 1_200 }, (_, at) => ({
    accountId: newId(NOW),
    slot: slotOf('other', 0, at % 3),
    bytes: at,
  }));
  await database.run(insertInto(STORED_BYTES, rows));
  await addUpRest(database);
  const kept = await database.all(
    part('SELECT account_id AS "accountId", slot, bytes FROM stored_bytes ORDER BY bytes'),
  );
  expect(kept).toEqual(rows.map((row) => ({ ...row, slot: 0 })));
});

test('what is written while all is added up stays in the sums', async () => {
  await database.run(part('DELETE FROM stored_bytes'));
  const accountId = newId(NOW);
  const row = { accountId, slot: slotOf('accept', 0, 5), bytes: 1 };
  const conflict =
    'ON CONFLICT (account_id, slot) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes';
  const writers = Array.from({ length: 4 }, async () => {
    for (let count = 0; count < 250; count += 1) {
      await database.run(insertInto(STORED_BYTES, [row], conflict));
      if (count % 5 === 0) await addUpRest(database);
    }
  });
  await Promise.all(writers);
  const sum = await database.first<{ sum: number }>(
    part('SELECT sum(bytes)::int8 AS sum FROM stored_bytes WHERE account_id = $1', accountId),
  );
  expect(sum?.sum).toBe(1_000);
});

test('a session writes into slots of its period, and retention adds up what is left', async () => {
  const server = await testServer();
  const url = await server.freshDatabase();
  const store = await openPostgres({ url, passwordFile: '', now: NOW });
  const reader = new Database(databaseAddress(url, ''));
  const id = newId(NOW);
  await store.nodes.begin({ id, name: 'a', directory: 'd', addresses: [], version: '1.0.0' });
  const account = newAccount('default');
  await store.createAccount(account);
  await store.accept(batchOf(account.id, newMessage(account.id)));
  const period = Number.parseInt(id.slice(-4), 16);
  const slots = (): Promise<{ slot: number; count: number }[]> =>
    reader.all(part('SELECT slot, count FROM status_days'));
  expect(await slots()).toEqual([{ slot: slotOf('accept', 0, period), count: 1 }]);
  await store.purgeExpired(NOW);
  expect(await slots()).toEqual([{ slot: 0, count: 1 }]);
  await Promise.all([store.close(), reader.close()]);
});

test('a node adds up what it wrote itself two periods ago', async () => {
  const url = await (await testServer()).freshDatabase();
  const reader = new Database(databaseAddress(url, ''));
  const open = () => openPostgres({ url, passwordFile: '', now: NOW });
  const stores = [await open(), await open()] as const;
  // Both begin with the same period, and differ in their numbers.
  const ids = stores.map(() => newId(NOW).slice(0, -4) + '0007');
  const account = newAccount('default');
  await stores[0].createAccount(account);
  const slots = async (): Promise<number[]> => {
    const rows = await reader.all<{ slot: number }>(
      part('SELECT slot FROM status_days ORDER BY slot'),
    );
    return rows.map(({ slot }) => slot);
  };
  const own = Object.getOwnPropertyDescriptor(SumPeriods.prototype, 'next')
    ?.value as SumPeriods['next'];
  const seen: SumPeriods[] = [];
  const next = spyOn(SumPeriods.prototype, 'next').mockImplementation(function (
    this: SumPeriods,
    id: string,
  ) {
    seen.push(this);
    return own.call(this, id);
  });
  for (const [at, store] of stores.entries()) {
    const session = { name: `n${at}`, directory: `d${at}`, addresses: [], version: '1.0.0' };
    await store.nodes.begin({ ...session, id: ids[at] ?? '' });
    await store.accept(batchOf(account.id, newMessage(account.id)));
  }
  next.mockRestore();
  const written = [slotOf('accept', 1, 7), slotOf('accept', 0, 7)];
  expect(await slots()).toEqual(written);
  for (let count = 0; count < 8_000; count += 1) seen.at(-1)?.next(ids[1] ?? '');
  while ((await slots()).length === 2 && (await slots())[0] === written[0]);
  expect(await slots()).toEqual([slotOf('accept', 0, 7), slotOf('accept', 1, null)]);
  await Promise.all([...stores.map((store) => store.close()), reader.close()]);
  // One whose rows cannot be added up, since the store is closed, is left to retention and no fault.
  const failed = spyOn(Database.prototype, 'transaction');
  for (let count = 0; count < 4_000; count += 1) seen.at(-1)?.next(ids[1] ?? '');
  expect(failed).toHaveBeenCalledTimes(1);
  const [asked] = failed.mock.results;
  failed.mockRestore();
  const end: unknown = await Promise.resolve(asked?.value).catch(String);
  expect(end).toContain('the store is closed');
});
