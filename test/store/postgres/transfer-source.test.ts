/** A database as the source of a transfer: nobody else may have it open, not when it is opened and not at the end. */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { OperatorError } from '../../../src/base/errors.ts';
import { databaseAddress } from '../../../src/store/postgres/address.ts';
import { Database } from '../../../src/store/postgres/database.ts';
import { part } from '../../../src/store/postgres/statement.ts';
import { SUM_TABLES, keyColumnsOf } from '../../../src/store/postgres/sum-tables.ts';
import { openPostgres } from '../../../src/store/postgres/store.ts';
import { openDatabaseSource } from '../../../src/store/postgres/transfer-reading.ts';
import { rowsIn } from '../../../src/store/transfer-lines.ts';
import { planTransfer } from '../../../src/store/transfer-tables.ts';
import type { TransferSource } from '../../../src/store/transfer.ts';
import { PostgresServer } from '../../rig/postgres.ts';
import { accepted, newAccount, newMessage } from '../samples.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await PostgresServer.start();
}, 60_000);
afterAll(() => server.stop());

/** What the work is refused with: the words, and what to do. */
const refusal = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'it was not refused',
    (error: unknown) =>
      error instanceof OperatorError
        ? `${error.message} | ${error.hint}`
        : `fault ${String(error)}`,
  );

const OPEN =
  'A server or a command has this database open | ' +
  'Stop the servers of all nodes first, and wait for commands to end.';

test('a server that has it open, before or after the source was opened', async () => {
  const address = databaseAddress(await server.freshDatabase(), '');
  const other = new Database(address);
  const one = part('SELECT 1 AS one');
  await other.first(one);
  expect(await refusal(openDatabaseSource(address))).toBe(OPEN);
  await other.close();

  const source = await openDatabaseSource(address);
  expect(await source.checkQuiet()).toBeUndefined();
  const late = new Database(address);
  await late.first(one);
  expect(await refusal(source.checkQuiet())).toBe(OPEN);
  await late.close();
  // The other one's end of a connection needs a moment.
  expect(await source.checkQuiet()).toBeUndefined();
  await source.close();
}, 30_000);

test('what a refusal opened is closed', async () => {
  const url = await server.freshDatabase();
  const admin = server.admin(new URL(url).pathname.slice(1));
  await admin.unsafe(
    `INSERT INTO sessions (session, number, name, directory, addresses, version, lease_until)
     VALUES (gen_random_uuid(), 1, 'away', 'd', '[]', '0', now() + interval '40 seconds')`,
  );
  expect(await refusal(openDatabaseSource(databaseAddress(url, '')))).toBe(
    'The server "away" did not say that it has ended | ' +
      'Stop it. When it was killed, or its machine is gone, wait for a minute.',
  );
  const open = "SELECT 1 FROM pg_stat_activity WHERE application_name = 'postrider'";
  while ((await admin.unsafe(`${open} AND datname = current_database()`)).length > 0);
  await admin.close();
}, 30_000);

const ANOTHER =
  'The database has no data, or those of another release | ' +
  'Check url in [store], and start the server of this release on it once.';
const NEVER = 'it was not refused';

test('a database that is not whole, or of another release, or whose server may live still', async () => {
  const url = await server.freshDatabase();
  const admin = server.admin(new URL(url).pathname.slice(1));
  const session = (number: number, lease: string, ended: string): string =>
    'INSERT INTO sessions (session, number, name, directory, addresses, version, lease_until, ended_at)' +
    ` VALUES (gen_random_uuid(), ${number}, 'b', 'd${number}', '[]', '0', clock_timestamp() + interval '${lease} s', ${ended})`;
  const mark = (name: string): string =>
    `INSERT INTO settings (name, value) VALUES ('${name}', '1')`;
  const newest = 'WHERE version = (SELECT max(version) FROM migrations)';
  const opened = (): Promise<string> =>
    refusal(openDatabaseSource(databaseAddress(url, '')).then((source) => source.close()));
  for (const [change, words] of [
    [session(1, '-31', 'NULL'), NEVER],
    [session(2, '40', 'now()'), NEVER],
    [mark('migrations'), NEVER],
    [session(3, '-20', 'NULL'), 'The server "b" did not say that it has ended | Stop it.'],
    // By a newer release, after all that this one knows.
    ["INSERT INTO migrations VALUES (99, 'later', 'x', 0)", ANOTHER],
    ['DELETE FROM migrations WHERE version = 99', 'The server "b" did not say'],
    [
      mark('migration'),
      'A migration into this database was interrupted, or is under way | Run postrider',
    ],
    [`UPDATE migrations SET checksum = 'x' ${newest}`, ANOTHER],
    [`DELETE FROM migrations ${newest}`, ANOTHER],
    ['DROP TABLE migrations', ANOTHER],
  ] as const) {
    await admin.unsafe(change);
    expect([change, (await opened()).slice(0, words.length)]).toEqual([change, words]);
  }
  await admin.close();
}, 30_000);

/** The rows of a table as they are carried, and how many the source counts. */
async function carried(source: TransferSource, name: string) {
  const catalog = await source.catalog();
  const table = planTransfer(catalog, catalog).find((one) => one.name === name);
  if (table === undefined) throw new Error(`${name} is not carried`);
  const rows: Record<string, string>[] = [];
  for await (const piece of source.read(table)) {
    for (const fields of rowsIn(piece))
      rows.push(Object.fromEntries(table.columns.map((one, at) => [one.name, fields[at] ?? ''])));
  }
  expect(await source.count(table)).toBe(rows.length);
  return rows;
}

test('a sum is one row whatever its slots, texts are in the order of their bytes, and of two times the newer counts', async () => {
  const url = await server.freshDatabase();
  const store = await openPostgres({ url, passwordFile: '', now: 0 });
  const account = newAccount('default');
  await store.createAccount(account);
  for (const table of SUM_TABLES) await store.setSetting(table.name, '');
  const { recipients } = await accepted(
    store,
    newMessage(account.id, {}, ['a@x.example', 'b@x.example']),
  );
  await store.close();

  const admin = server.admin(new URL(url).pathname.slice(1));
  for (const { name, columns, sums } of SUM_TABLES) {
    await admin.unsafe(`DELETE FROM ${name}`);
    const kinds: Record<string, string> = columns;
    const keys = Object.keys(kinds).filter((one) => one !== 'slot' && !sums.includes(one));
    const values = keys.map((one) =>
      kinds[one] === 'uuid' ? `'${account.id}'` : kinds[one] === 'text' ? "'x'" : '7',
    );
    const named = [...keyColumnsOf({ name, columns, sums }), 'slot', ...sums.map(snake)];
    for (const slot of [0, 1, -9]) {
      const added = sums.map((_, at) => String(10 * (at + 1) + Math.abs(slot)));
      await admin.unsafe(
        `INSERT INTO ${name} (${named.join(', ')}) VALUES (${[...values, slot, ...added].join(', ')})`,
      );
    }
  }
  for (const name of ['a', 'B', '_'])
    await admin.unsafe(`INSERT INTO settings VALUES ('${name}', '')`);
  await admin.unsafe('ALTER TABLE settings ALTER COLUMN name TYPE text COLLATE "en-x-icu"');
  const [one, two] = recipients.map(({ id }) => id);
  for (const [table, id] of [
    [`recipients SET updated_at = 9000000000001 WHERE id`, one],
    [`queue SET updated_at = 9000000000002 WHERE recipient_id`, two],
  ] as const)
    await admin.unsafe(`UPDATE ${table} = '${id}'`);
  await admin.close();

  const source = await openDatabaseSource(databaseAddress(url, ''));
  for (const { name, sums } of SUM_TABLES) {
    const [row, ...others] = await carried(source, name);
    expect([name, others, sums.map((sum) => row?.[snake(sum)])]).toEqual([
      name,
      [],
      sums.map((_, at) => String(30 * (at + 1) + 10)),
    ]);
  }
  // One state for all tables, whatever others do.
  const late = server.admin(new URL(url).pathname.slice(1));
  await late.unsafe("INSERT INTO settings VALUES ('late', '')");
  await late.close();
  const names = (await carried(source, 'settings')).map((row) => row['name'] ?? '');
  expect(names).toEqual(names.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))));
  expect(names).not.toContain('late');
  expect(names.indexOf('B')).toBeLessThan(names.indexOf('a'));
  for (const table of ['recipients', 'queue'])
    expect((await carried(source, table)).map((row) => row['updated_at'])).toEqual([
      '9000000000001',
      '9000000000002',
    ]);
  await source.close();
}, 30_000);

const snake = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (sign) => `_${sign.toLowerCase()}`);
