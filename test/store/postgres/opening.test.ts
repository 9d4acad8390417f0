/** Opening a database: by several at once, with another schema, and what the operator is told when it cannot be. */
import { expect, test } from 'bun:test';

import { OperatorError } from '../../../src/base/errors.ts';
import { openPostgres } from '../../../src/store/postgres/store.ts';
import type { PostgresOptions } from '../../../src/store/postgres/store.ts';
import { testServer } from '../../rig/postgres.ts';
import { batchOf, newAccount, newLogRecord, newMessage } from '../samples.ts';

const open = (url: string, change: Partial<PostgresOptions> = {}) =>
  openPostgres({ url, passwordFile: '', now: Date.now(), patienceMs: 500, ...change });
const refusal = async (url: string, change: Partial<PostgresOptions> = {}): Promise<string> => {
  const error = await open(url, change).then(
    () => null,
    (cause: unknown) => cause,
  );
  expect(error).toBeInstanceOf(OperatorError);
  return error instanceof OperatorError ? `${error.message} ${error.hint}` : '';
};
const nameIn = (url: string): string => url.slice(url.lastIndexOf('/') + 1, url.indexOf('?'));

test('several nodes that open an empty database at once make one schema', async () => {
  const server = await testServer();
  const admin = server.admin();
  await admin.unsafe('CREATE DATABASE empty');
  await admin.close();
  const stores = await Promise.all(Array.from({ length: 4 }, () => open(server.url('empty'))));
  const account = newAccount('default');
  await stores[0]?.createAccount(account);
  expect(await stores[3]?.accounts()).toEqual([account]);
  await Promise.all(stores.map((store) => store.close()));
});

test('a database of a newer release, or of another history, is left alone', async () => {
  const server = await testServer();
  const url = await server.freshDatabase();
  const admin = server.admin(nameIn(url));
  await admin.unsafe("INSERT INTO migrations VALUES (99, 'later', 'x', 0)");
  expect(await refusal(url)).toContain('A newer release has changed this database');
  await admin.unsafe(
    "DELETE FROM migrations WHERE version = 99; UPDATE migrations SET checksum = 'x'",
  );
  expect(await refusal(url)).toContain("Step 1 of this database's schema is another one");
  await admin.close();
});

test('a server that is not there, a database that is not there and missing rights are told plainly', async () => {
  const server = await testServer();
  expect(await refusal('postgres://x@%2Fnowhere/x?sslmode=disable')).toContain('cannot be reached');
  expect(await refusal(server.url('missing'))).toContain('database "missing" does not exist');
  const admin = server.admin();
  await admin.unsafe('CREATE DATABASE bare; ');
  await admin.unsafe('CREATE ROLE poor LOGIN');
  await admin.close();
  const url = server.url('bare').replace('postrider@', 'poor@');
  expect(await refusal(url)).toContain('The role needs the right to create tables');
});

test('closing waits for every write that was asked for', async () => {
  const url = await (await testServer()).freshDatabase();
  const store = await open(url);
  const account = newAccount('default');
  await store.createAccount(account);
  const writes = [
    // More than one transaction takes.
    ...Array.from({ length: 450 }, () => store.accept(batchOf(account.id, newMessage(account.id)))),
    store.appendLogs([newLogRecord(account.id)]),
    store.setSetting('a', '1'),
    store.setSetting('b', '2'),
    store.touchKeys([]),
  ];
  await store.close();
  await Promise.all(writes);
  const again = await open(url);
  expect((await again.countsByStatus(account.id, 0)).queued).toBe(450);
  expect([await again.setting('a'), await again.setting('b')]).toEqual(['1', '2']);
  await again.close();
});
