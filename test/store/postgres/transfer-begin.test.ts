/** A database as the target of a transfer, before its rows: what it must not hold, and that it can be begun again. */
import { expect, test } from 'bun:test';

import { OperatorError } from '../../../src/base/errors.ts';
import { databaseAddress } from '../../../src/store/postgres/address.ts';
import { Database } from '../../../src/store/postgres/database.ts';
import { PARTITIONED, partitionsOf } from '../../../src/store/postgres/partitions.ts';
import { part } from '../../../src/store/postgres/statement.ts';
import { openDatabaseTarget } from '../../../src/store/postgres/transfer-writing.ts';
import { planTransfer } from '../../../src/store/transfer-tables.ts';
import { testServer } from '../../rig/postgres.ts';

const DAY_MS = 86_400_000;
/** Long ago: the database has days of now already. */
const NOW = Date.UTC(2020, 1, 23, 12);

const refusal = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'it was not refused',
    (error: unknown) => (error instanceof OperatorError ? error.message : `fault ${String(error)}`),
  );

test('one that was interrupted is begun again; a month has its days, and rows of others end it', async () => {
  const address = databaseAddress(await (await testServer()).freshDatabase(), '');
  const begin = async (): Promise<void> => {
    const target = await openDatabaseTarget(address, NOW);
    try {
      const catalog = await target.catalog();
      await target.begin(planTransfer(catalog, catalog));
    } finally {
      await target.close();
    }
  };
  for (let time = 0; time < 2; time += 1) {
    await begin();
    const database = new Database(address);
    // What is left of it keeps servers away.
    expect(await database.all(part('SELECT name, value FROM settings'))).toEqual([
      { name: 'migration', value: String(NOW) },
    ]);
    for (const table of PARTITIONED) {
      const days = (await partitionsOf(database, table))
        .flatMap(({ day }) => day?.from ?? [])
        .filter((from) => from < NOW + 9 * DAY_MS);
      const today = NOW - (NOW % DAY_MS);
      expect([table, days[0], days.at(-1), days.length]).toEqual([
        table,
        today - 31 * DAY_MS,
        today + 3 * DAY_MS,
        35,
      ]);
    }
    await database.close();
  }
  for (const [sql, table] of [
    ["INSERT INTO settings (name, value) VALUES ('other', '')", 'settings'],
    ["UPDATE settings SET name = 'another' WHERE name = 'other'", 'settings'],
    ["DELETE FROM settings WHERE name = 'another'", null],
  ] as const) {
    const database = new Database(address);
    await database.run(part(sql));
    await database.close();
    expect(await refusal(begin())).toBe(
      table === null
        ? 'it was not refused'
        : `The database holds rows already (table ${table}): the target of a migration must be empty`,
    );
  }
}, 30_000);

test('one that carried nothing has its indexes when it is settled, and numbers from one on', async () => {
  const address = databaseAddress(await (await testServer()).freshDatabase(), '');
  const looking = async <T>(look: (database: Database) => Promise<T>): Promise<T> => {
    const database = new Database(address);
    const seen = await look(database);
    await database.close();
    return seen;
  };
  const indexes = (database: Database) =>
    database.all<{ text: string }>(
      part(
        "SELECT indexdef AS text FROM pg_indexes WHERE schemaname = 'public' AND tablename !~ '_[0-9]+$'" +
          ' ORDER BY indexdef',
      ),
    );
  const before = await looking(indexes);
  const target = await openDatabaseTarget(address, NOW);
  const catalog = await target.catalog();
  await target.begin(planTransfer(catalog, catalog));
  await target.complete();
  await target.settle();
  await target.close();
  expect(before.length).toBeGreaterThan(10);
  // A partition's index is made with its table's, and named anew.
  const shapes = (list: readonly { text: string }[]): string[] =>
    list.map(({ text }) => text.replace(/INDEX \S+ ON (ONLY )?/, 'INDEX ON ')).toSorted();
  expect(shapes(await looking(indexes))).toEqual(shapes(before));
  for (const [table, column] of [
    ['audit', 'seq'],
    ['suppressions', 'seq'],
  ] as const) {
    const next = part(
      'SELECT nextval(pg_get_serial_sequence($1, $2))::int4 AS next',
      table,
      column,
    );
    expect([table, await looking((database) => database.first(next))]).toEqual([
      table,
      { next: 1 },
    ]);
  }
}, 30_000);
