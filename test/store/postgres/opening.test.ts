/** Opening a database: by several at once, with another schema, and what the operator is told when it cannot be. */
import { expect, spyOn, test } from 'bun:test';

import { EXIT_CONFIG, OperatorError } from '../../../src/base/errors.ts';
import { migrate } from '../../../src/store/postgres/schema.ts';
import { StandbyWatch } from '../../../src/store/postgres/standby.ts';
import { openPostgres } from '../../../src/store/postgres/store.ts';
import type { Access } from '../../../src/store/postgres/database.ts';
import type { PostgresOptions } from '../../../src/store/postgres/store.ts';
import type { SchemaStep } from '../../../src/store/schema-step.ts';
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
  const hint = 'Run the release that wrote this database, or a newer one.';
  expect(await refusal(url)).toBe(`A newer release has changed this database ${hint}`);
  await admin.unsafe(
    "DELETE FROM migrations WHERE version = 99; UPDATE migrations SET checksum = 'x'",
  );
  expect(await refusal(url)).toBe(`Step 1 of this database's schema is another one ${hint}`);
  await admin.close();
});

test('a step that a database lacks is told before it is taken; of a new database nothing is', async () => {
  const server = await testServer();
  const admin = server.admin();
  await admin.unsafe('CREATE DATABASE told');
  await admin.close();
  const url = server.url('told');
  const told: SchemaStep[] = [];
  const onSchemaStep = (step: SchemaStep): void => void told.push(step);
  await (await open(url, { onSchemaStep })).close();
  expect(told).toEqual([]);
  const inside = server.admin('told');
  await inside.unsafe('DELETE FROM migrations WHERE version > 1');
  await inside.close();
  await (await open(url, { onSchemaStep })).close();
  expect(told).toEqual([{ database: 'PostgreSQL', step: 2, of: 2, name: 'checks_by_account' }]);
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

test('the schema is written down with the time that was given, and days are made from that time on', async () => {
  const server = await testServer();
  const admin = server.admin();
  await admin.unsafe('CREATE DATABASE later');
  await admin.close();
  const now = Date.UTC(2031, 4, 6, 7);
  await (await open(server.url('later'), { now })).close();
  // Whoever opens it later changes nothing of that.
  await (await open(server.url('later'), { now: now + 1 })).close();
  const there = server.admin('later');
  const steps: unknown = await there.unsafe(
    'SELECT version, name, length(checksum) AS checksum, applied_at::text AS at FROM migrations ORDER BY version',
  );
  const days = (await there.unsafe(
    "SELECT c.relname AS name FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid WHERE i.inhparent = 'events'::regclass ORDER BY 1",
  )) as { name: string }[];
  await there.close();
  expect([...(steps as unknown[])]).toEqual([
    { version: 1, name: 'initial', checksum: 64, at: String(now) },
    { version: 2, name: 'checks_by_account', checksum: 64, at: String(now) },
  ]);
  expect(days.map(({ name }) => name)).toEqual([
    'events_20310506',
    'events_20310507',
    'events_20310508',
    'events_20310509',
    'events_other',
  ]);
});

test('each commit of a group is told with its writes; a backup is somebody else’s work', async () => {
  const url = await (await testServer()).freshDatabase();
  const commits: [commitMs: number, writes: number][] = [];
  const store = await open(url, { onCommit: (...commit) => void commits.push(commit) });
  const account = newAccount('default');
  await store.createAccount(account);
  expect(commits).toEqual([]);
  const send = () => store.accept(batchOf(account.id, newMessage(account.id)));
  await Promise.all([send(), send(), send()]);
  expect(commits).toEqual([[expect.any(Number), 3]]);
  await store.appendLogs([newLogRecord(account.id)]);
  expect(commits).toHaveLength(2);
  // Two that are large do not share one.
  await Promise.all(
    [1, 2].map(() => {
      const message = newMessage(account.id);
      message.body.html = 'x'.repeat(3 * 1024 * 1024);
      return store.accept(batchOf(account.id, message));
    }),
  );
  expect(commits.slice(2).map(([, writes]) => writes)).toEqual([1, 1]);
  expect(Math.min(...commits.map(([ms]) => ms))).toBeGreaterThan(0);
  const backup = await store.backUpTo('/nowhere', () => undefined).catch((error: unknown) => error);
  expect(backup).toBeInstanceOf(OperatorError);
  const { message, hint } = backup as OperatorError;
  expect([message, hint]).toEqual([
    'This store is on PostgreSQL, which Postrider does not back up',
    'Back up the database with pgBackRest or pg_basebackup, and the file secret.key.',
  ]);
  await store.close();
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

/** Resolves when no session of ours has the database open: the server's side of one ends a moment later. */
async function untilLeft(url: string): Promise<void> {
  const admin = (await testServer()).admin(nameIn(url));
  const ours =
    "SELECT 1 FROM pg_stat_activity WHERE application_name = 'postrider' AND datname = current_database()";
  while ((await admin.unsafe(ours)).length > 0);
  await admin.close();
}

test('closing waits for changes that wait for each other, stops the look for standbys, and leaves no connection', async () => {
  const url = await (await testServer()).freshDatabase();
  const stop = spyOn(StandbyWatch.prototype, 'stop');
  const log = { info() {}, warn() {}, error() {} };
  const store = await open(url, { requireStandby: { log } });
  await store.nodes.begin({
    id: crypto.randomUUID(),
    name: 'one',
    directory: '/one',
    addresses: [],
    version: '1',
  });
  await store.nodes.beat();
  const changes = Array.from({ length: 20 }, (_, at) => store.setSetting('s', String(at)));
  await store.close();
  expect(await Promise.all(changes)).toHaveLength(20);
  expect(stop).toHaveBeenCalledTimes(1);
  stop.mockRestore();
  await untilLeft(url);
}, 20_000);

test('a database that cannot be opened is left alone, without a connection', async () => {
  const server = await testServer();
  const url = await server.freshDatabase();
  const admin = server.admin(nameIn(url));
  await admin.unsafe("INSERT INTO settings (name, value) VALUES ('migration', '1')");
  await admin.close();
  const { message, hint, exitCode } = (await open(url).catch(
    (error: unknown) => error,
  )) as OperatorError;
  expect([message, hint, exitCode]).toEqual([
    'A migration into this database was interrupted, or is under way',
    'Run postrider migrate again, with the config that it was run with: its source is untouched.',
    EXIT_CONFIG,
  ]);
  await untilLeft(url);
}, 20_000);

test('a database in another encoding and a server that is too old are told plainly, before anything is made', async () => {
  const server = await testServer();
  const admin = server.admin();
  await admin.unsafe(
    "CREATE DATABASE ascii TEMPLATE template0 ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'",
  );
  await admin.close();
  expect(await refusal(server.url('ascii'))).toBe(
    'The database is not encoded in UTF8 Create it with ENCODING UTF8.',
  );
  const of = async (version: string): Promise<unknown> => {
    const said: string[] = [];
    const session = {
      first: async () => ({ version, encoding: 'UTF8' }),
      run: async ({ text }: { text: string }) => {
        said.push(text);
        throw new Error('it goes on');
      },
    };
    const access = { transaction: (work: (of: unknown) => unknown) => work(session) };
    const told = await migrate(access as unknown as Access, 0).then(
      () => 'nothing',
      (error: Error) => error.message,
    );
    return [told, said];
  };
  expect(await of('149999')).toEqual(['The PostgreSQL server is too old', []]);
  expect(await of('150000')).toEqual(['it goes on', ['SELECT pg_advisory_xact_lock($1)']]);
});
