/** The host check's questions about a PostgreSQL database: what each finding says, and what to do. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { systemClock } from '../../src/base/clock.ts';
import { parseConfig } from '../../src/base/config-file.ts';
import { SecretBox } from '../../src/base/secret-box.ts';
import { examineDatabase } from '../../src/health/database.ts';
import { openPostgres } from '../../src/store/postgres/store.ts';
import type { PostgresStore } from '../../src/store/postgres/store.ts';
import { createResolver } from '../../src/wire/dns/dns.ts';
import { newId } from '../rig/ids.ts';
import { PostgresServer } from '../rig/postgres.ts';

let server: PostgresServer;
let url = '';
const dataDir = mkdtempSync(join(tmpdir(), 'database-finding-'));
const KEY = Buffer.alloc(32, 7);

beforeAll(async () => {
  server = await PostgresServer.start({ settings: ['fsync=on'] });
  url = await server.freshDatabase();
  const store = await openPostgres({ url, passwordFile: '', now: Date.now() });
  await store.setSetting('key_fingerprint', new SecretBox(KEY).fingerprint);
  await store.close();
}, 60_000);
afterAll(async () => {
  await server.stop();
  rmSync(dataDir, { recursive: true });
});

/** What is found, `check` by `check`, with the clock of this machine `aheadMs` ahead. */
async function found({ store = `url = "${url}"`, aheadMs = 0 } = {}): Promise<
  Map<string, { level: string; summary: string; advice: string | null }>
> {
  const text = `hostname = "mail.example.com"\ndata_dir = "${dataDir}"\n[store]\n${store}`;
  const clock = { ...systemClock, now: () => Date.now() + aheadMs };
  const resolver = createResolver({ servers: [], clock: systemClock });
  try {
    const findings = await examineDatabase({ config: parseConfig(text, 'c'), clock, resolver });
    return new Map(findings.map(({ check, ...finding }) => [check, finding]));
  } finally {
    resolver.close();
  }
}

/** Settings of the server, while `body` runs. */
async function withSettings(
  settings: Record<string, string>,
  body: () => Promise<void>,
): Promise<void> {
  const admin = server.admin();
  for (const [name, value] of Object.entries(settings)) {
    await admin.unsafe(`ALTER SYSTEM SET ${name} = '${value}'`);
  }
  await server.pause();
  await server.resume();
  try {
    await body();
  } finally {
    const after = server.admin();
    for (const name of Object.keys(settings)) await after.unsafe(`ALTER SYSTEM RESET ${name}`);
    await after.close();
    await server.pause();
    await server.resume();
  }
}

/** `body` gets the config of a role that owns the database and sees nothing of the server. */
async function asPlainRole(body: (store: string) => Promise<void>): Promise<void> {
  const admin = server.admin();
  const name = new URL(url).pathname.slice(1);
  await admin.unsafe('CREATE ROLE plain LOGIN');
  await admin.unsafe(`GRANT ALL ON DATABASE ${name} TO plain`);
  const inside = server.admin(name);
  await inside.unsafe('GRANT ALL ON ALL TABLES IN SCHEMA public TO plain');
  await body(`url = "${url.replace('postgres://postrider@', 'postgres://plain@')}"`);
  await inside.unsafe('DROP OWNED BY plain');
  await inside.close();
  await admin.unsafe('DROP OWNED BY plain');
  await admin.unsafe('DROP ROLE plain');
  await admin.close();
}

test('files are not asked about', async () => {
  expect((await found({ store: '' })).size).toBe(0);
});

test('a sound database lacks a standby alone', async () => {
  writeFileSync(join(dataDir, 'secret.key'), KEY, { mode: 0o600 });
  const findings = await found();
  const lacking = [...findings].filter(([, { level }]) => level !== 'ok');
  expect(lacking).toEqual([
    [
      'database_standby',
      {
        level: 'warning',
        summary: 'The database has no standby.',
        advice:
          'Set synchronous_standby_names on the primary (Patroni: synchronous_mode), so that COMMIT waits for a standby. Then set [store] require_standby = true.',
      },
    ],
  ]);
  expect([...findings.keys()]).toEqual([
    'database',
    'database_durability',
    'database_standby',
    'database_connections',
    'database_clock',
    'database_disk',
    'secret_key',
  ]);
  const required = await found({ store: `url = "${url}"\nrequire_standby = true` });
  expect(required.get('database_standby')?.level).toBe('error');
});

test('what can lose commits is an error', () =>
  withSettings({ full_page_writes: 'off' }, async () => {
    const durability = (await found()).get('database_durability');
    expect(durability?.level).toBe('error');
    expect(durability?.summary).toEndWith('with the power: full_page_writes = off.');
  }));

test('an asynchronous standby does not make a failover safe, a synchronous one does', async () => {
  const standby = await PostgresServer.start({ follows: { primary: server, name: 'second' } });
  const is = async (level: string): Promise<string> => {
    for (let left = 200; ; left -= 1) {
      const finding = (await found()).get('database_standby');
      if (finding?.level === level && !finding.summary.includes('no standby'))
        return finding.summary;
      if (left === 0) throw new Error(`it stays ${finding?.summary}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  expect(await is('warning')).toBe(
    'The database has asynchronous standbys only: emails that were answered with an id can be lost with a failover.',
  );
  await asPlainRole(async (store) => {
    const hidden = (await found({ store })).get('database_standby');
    expect(hidden).toMatchObject({
      level: 'warning',
      summary: 'Whether the standbys of the database are synchronous cannot be seen.',
    });
    expect(hidden?.advice).toStartWith(
      'Grant the role of [store] url the role pg_monitor: it may not see the standbys.',
    );
    const required = (await found({ store: `${store}\nrequire_standby = true` })).get(
      'database_standby',
    );
    expect(required?.level).toBe('error');
    expect(required?.summary).toEndWith('Sends are refused: [store] require_standby is true.');
  });
  const admin = server.admin();
  await admin.unsafe("ALTER SYSTEM SET synchronous_standby_names = 'second'");
  await admin.unsafe('SELECT pg_reload_conf()');
  expect(await is('ok')).toContain('A synchronous standby has');
  await admin.unsafe('ALTER SYSTEM RESET synchronous_standby_names');
  await admin.unsafe('SELECT pg_reload_conf()');
  await admin.close();
  await standby.stop();
}, 30_000);

/** A session of a node on the database, which beats once. */
async function joined(name: string, version: string, clockAheadMs: number): Promise<PostgresStore> {
  const store = await openPostgres({ url, passwordFile: '', now: Date.now() });
  const session = { id: newId(Date.now()), name, directory: name, addresses: [], version };
  await store.nodes.begin(session);
  await store.nodes.beat({ taken: 0, inDelivery: 0, clockAheadMs });
  return store;
}

test('nodes are compared with each other, and each wants its connections', async () => {
  const nodes = [await joined('a', '1.0.0', 0), await joined('b', '1.1.0', 2_600)];
  const findings = await found();
  expect(findings.get('node_versions')).toMatchObject({
    level: 'warning',
    summary: 'The nodes have different versions: 1.0.0 on a; 1.1.0 on b.',
  });
  expect(findings.get('node_clocks')?.summary).toContain(': b 2.6 s ahead.');
  expect(findings.get('node_names')?.level).toBe('ok');
  expect(findings.get('database_connections')?.level).toBe('ok');
  for (const name of ['c', 'd', 'e', 'f', 'g']) nodes.push(await joined(name, '1.1.0', 0));
  expect((await found()).get('database_connections')).toMatchObject({
    level: 'warning',
    advice: expect.stringMatching(/^Raise max_connections of the server by \d: each node/),
  });
  for (const node of nodes) {
    await node.nodes.end();
    await node.close();
  }
  expect((await found()).has('node_versions')).toBe(false);
}, 30_000);

test('few connections, and clocks that differ by more than two seconds', async () => {
  await withSettings({ superuser_reserved_connections: '45' }, async () => {
    const connections = (await found()).get('database_connections');
    expect(connections).toMatchObject({ level: 'warning' });
    expect(connections?.summary).toBe('The database can take 15 connections of nodes.');
  });
  const clock = async (aheadMs: number) => (await found({ aheadMs })).get('database_clock');
  expect((await clock(1_500))?.level).toBe('ok');
  expect(await clock(60_500)).toMatchObject({
    level: 'error',
    advice: expect.stringContaining('chrony'),
  });
  expect((await clock(60_500))?.summary).toMatch(
    /^The clock of the database is (?:59|60|61)\.\d s behind this one\.$/,
  );
  expect((await clock(-60_500))?.summary).toContain('ahead of this one');
}, 30_000);

test('a key that is missing, or another one than the database is sealed under', async () => {
  rmSync(join(dataDir, 'secret.key'), { force: true });
  expect((await found()).get('secret_key')?.summary).toContain('is missing');
  writeFileSync(join(dataDir, 'secret.key'), Buffer.alloc(32, 8), { mode: 0o600 });
  expect((await found()).get('secret_key')?.summary).toContain('is not the key of the database');
});

test('a database that cannot be reached is one error, with what to do', async () => {
  const findings = await found({
    store: 'url = "postgres://mail@%2Fnowhere/mail?sslmode=disable"',
  });
  expect([...findings.keys()]).toEqual(['database']);
  expect(findings.get('database')).toMatchObject({ level: 'error' });
  expect(findings.get('database')?.advice).toStartWith('Check url in [store]');
});
