/** A database as the source of a transfer: nobody else may have it open, not when it is opened and not at the end. */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { OperatorError } from '../../../src/base/errors.ts';
import { databaseAddress } from '../../../src/store/postgres/address.ts';
import { Database } from '../../../src/store/postgres/database.ts';
import { part } from '../../../src/store/postgres/statement.ts';
import { openDatabaseSource } from '../../../src/store/postgres/transfer-reading.ts';
import { PostgresServer } from '../../rig/postgres.ts';

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
