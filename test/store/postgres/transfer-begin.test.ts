/** A database as the target of a transfer: what it must not hold, how it is begun again, and what it is in the end. */
import { expect, test } from 'bun:test';

import { OperatorError } from '../../../src/base/errors.ts';
import { databaseAddress } from '../../../src/store/postgres/address.ts';
import { Database } from '../../../src/store/postgres/database.ts';
import { PARTITIONED, partitionsOf } from '../../../src/store/postgres/partitions.ts';
import { part } from '../../../src/store/postgres/statement.ts';
import { openDatabaseTarget } from '../../../src/store/postgres/transfer-writing.ts';
import { openDatabaseSource } from '../../../src/store/postgres/transfer-reading.ts';
import { openPostgres } from '../../../src/store/postgres/store.ts';
import { transfer } from '../../../src/store/transfer-run.ts';
import { planTransfer } from '../../../src/store/transfer-tables.ts';
import type { Lines } from '../../../src/store/transfer.ts';
import { testServer } from '../../rig/postgres.ts';
import { accepted, newAccount, newMessage } from '../samples.ts';

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

test('carried emails are found by sender, recipient and subject, and nobody is at it when it is settled', async () => {
  const server = await testServer();
  const [from, to] = [await server.freshDatabase(), await server.freshDatabase()];
  const store = await openPostgres({ url: from, passwordFile: '', now: NOW });
  const account = newAccount('default');
  await store.createAccount(account);
  const { message } = await accepted(store, newMessage(account.id));
  await store.close();

  const source = await openDatabaseSource(databaseAddress(from, ''));
  const address = databaseAddress(to, '');
  const refused = await openDatabaseTarget(address, NOW);
  // Somebody opens it before the end.
  const other = new Database(address);
  await other.first(part('SELECT 1'));
  expect(await refusal(transfer(source, refused, () => undefined))).toBe(
    'A server or a command has this database open',
  );
  await other.close();
  await refused.close();

  const target = await openDatabaseTarget(address, NOW);
  await transfer(source, target, () => undefined);
  await Promise.all([target.close(), source.close()]);
  const there = await openPostgres({ url: to, passwordFile: '', now: NOW });
  const page = { limit: 9, after: null, before: null, status: null };
  for (const [q, found] of [
    ['shop@example.com', [message.id]],
    ['ann@example.org', [message.id]],
    ['your order', [message.id]],
    ['bob', []],
  ] as const) {
    const { rows } = await there.emails(account.id, { ...page, q });
    expect([q, rows.map(({ id }) => id)]).toEqual([q, [...found]]);
  }
  await there.close();
}, 30_000);

test('rows that break off end it with their own cause, and leave nothing', async () => {
  const server = await testServer();
  const url = await server.freshDatabase();
  const address = databaseAddress(url, '');
  const target = await openDatabaseTarget(address, NOW);
  const catalog = await target.catalog();
  const tables = planTransfer(catalog, catalog);
  await target.begin(tables);
  const settings = tables.find(({ name }) => name === 'settings');
  if (settings === undefined) throw new Error('settings are carried');
  const broken = async function* (): AsyncGenerator<Lines> {
    yield { bytes: Buffer.from('one\tvalue\n'), rows: 1 };
    await Promise.resolve();
    throw new RangeError('cut off');
  };
  expect(await refusal(target.write(settings, broken()))).toBe('fault RangeError: cut off');
  // The server does not go on waiting for rows.
  const admin = server.admin(new URL(url).pathname.slice(1));
  const copying =
    "SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'COPY %' AND datname = current_database()";
  while ((await admin.unsafe(copying)).length > 0);
  await admin.close();
  await target.close();
  const database = new Database(address);
  expect(await database.all(part('SELECT name FROM settings'))).toEqual([{ name: 'migration' }]);
  await database.close();
}, 30_000);
