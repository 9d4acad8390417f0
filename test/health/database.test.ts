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
import { createResolver } from '../../src/wire/dns/dns.ts';
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
  expect(await is('warning')).toContain('asynchronous standbys only');
  const admin = server.admin();
  await admin.unsafe("ALTER SYSTEM SET synchronous_standby_names = 'second'");
  await admin.unsafe('SELECT pg_reload_conf()');
  expect(await is('ok')).toContain('A synchronous standby has');
  await admin.unsafe('ALTER SYSTEM RESET synchronous_standby_names');
  await admin.unsafe('SELECT pg_reload_conf()');
  await admin.close();
  await standby.stop();
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
    /^The clock of the database is 60\.\d s behind this one\.$/,
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
