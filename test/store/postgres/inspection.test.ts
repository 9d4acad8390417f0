/** What a database says of itself for the host check. */
import { expect, test } from 'bun:test';

import { inspectDatabase } from '../../../src/store/postgres/inspection.ts';
import { openPostgres } from '../../../src/store/postgres/store.ts';
import { FINGERPRINT_SETTING } from '../../../src/store/key-file.ts';
import { testServer } from '../../rig/postgres.ts';

const nameIn = (url: string): string => url.slice(url.lastIndexOf('/') + 1, url.indexOf('?'));

test('the server, its settings, who is connected, the key and the nodes', async () => {
  const server = await testServer();
  const url = await server.freshDatabase();
  const store = await openPostgres({ url, passwordFile: '', now: 0 });
  const node = { id: crypto.randomUUID(), name: 'one', directory: '/one', addresses: [] };
  await store.nodes.begin({ ...node, version: '1' });
  await store.setSetting(FINGERPRINT_SETTING, 'abc');
  const admin = server.admin(nameIn(url));
  const [said] = (await admin.unsafe(
    "SELECT current_setting('server_version_num')::int4 AS number, current_setting('server_version') AS version",
  )) as { number: number; version: string }[];
  const asked: number[] = [];
  const facts = await inspectDatabase({ url, passwordFile: '' }, () => {
    const at = Date.now() - 3_600_000;
    asked.push(at);
    return at;
  });
  expect(facts).toMatchObject({
    version: said?.version,
    versionNumber: said?.number,
    fsync: 'off',
    fullPageWrites: 'on',
    synchronousCommit: 'on',
    mostConnections: 57,
    fingerprint: 'abc',
    nodes: [{ id: node.id, name: 'one', version: '1', report: null }],
    names: '',
    connected: 0,
    synchronous: 0,
    hidden: 0,
  });
  // The one that asks here; of those that were closed a moment before some may be there still.
  expect(facts.otherConnections).toBeGreaterThan(0);
  expect(facts.bytes).toBeGreaterThan(1_000_000);
  expect(asked).toHaveLength(2);
  expect(Math.abs(facts.aheadMs - 3_600_000)).toBeLessThan(60_000);
  await store.close();
  const ours =
    "SELECT 1 FROM pg_stat_activity WHERE application_name = 'postrider' AND datname = current_database()";
  while ((await admin.unsafe(ours)).length > 0);
  await admin.close();
}, 20_000);

test('a database without a schema has neither key nor nodes, and one that is not there is not waited for', async () => {
  const server = await testServer();
  const admin = server.admin();
  await admin.unsafe('CREATE DATABASE bare');
  await admin.close();
  expect(
    await inspectDatabase({ url: server.url('bare'), passwordFile: '' }, Date.now),
  ).toMatchObject({ fingerprint: null, nodes: [] });
  const beganAt = performance.now();
  const away = inspectDatabase(
    { url: 'postgres://x@%2Fnowhere/x?sslmode=disable', passwordFile: '' },
    Date.now,
  );
  expect(
    await away.then(
      () => 'it answered',
      (error: Error) => error.message,
    ),
  ).toContain('does not answer');
  // A store would wait for five seconds.
  expect(performance.now() - beganAt).toBeLessThan(4_000);
}, 20_000);
