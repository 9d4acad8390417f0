/** Where the database is: the URL's parts, encryption that is verified, and the primary among several hosts. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { chmodSync, copyFileSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { OperatorError } from '../../../src/base/errors.ts';
import { databaseAddress } from '../../../src/store/postgres/address.ts';
import { Database } from '../../../src/store/postgres/database.ts';
import { part } from '../../../src/store/postgres/statement.ts';
import { makeAuthority, testAuthority } from '../../rig/certificates.ts';
import { freePorts } from '../../rig/ports.ts';
import { PostgresServer } from '../../rig/postgres.ts';

describe('the URL', () => {
  test('names hosts, ports, role, database and how it is encrypted', () => {
    expect(
      databaseAddress('postgres://mail@db1,db2:6432,[2001:db8::7]:5433/post%2Frider', ''),
    ).toEqual({
      hosts: [
        { hostname: 'db1', port: 5432 },
        { hostname: 'db2', port: 6432 },
        { hostname: '2001:db8::7', port: 5433 },
      ],
      database: 'post/rider',
      username: 'mail',
      password: '',
      tls: { rejectUnauthorized: true },
    });
    const local = databaseAddress('postgresql://mail@%2Frun%2Fpostgresql/mail?sslmode=disable', '');
    expect(local).toMatchObject({ hosts: [{ path: '/run/postgresql/.s.PGSQL.5432' }], tls: false });
    const other = databaseAddress('postgresql://mail@%2Frun%2Fpg:6432/mail?sslmode=disable', '');
    expect(other.hosts).toEqual([{ path: '/run/pg/.s.PGSQL.6432' }]);
  });

  test('takes the password from a file, without its last line break', () => {
    const file = join(mkdtempSync(join(tmpdir(), 'postrider-password-')), 'password');
    writeFileSync(file, ' se:cret@ \n');
    expect(databaseAddress('postgres://mail@db/mail', file).password).toBe(' se:cret@ ');
  });

  for (const [url, says] of [
    ['postgres://mail:secret@db/mail', 'not the URL'],
    ['mysql://mail@db/mail', 'not the URL'],
    ['postgres://mail@db', 'not the URL'],
    ['postgres://mail@db:port/mail', '"db:port" is not a host'],
    ['postgres://mail@/mail', 'not the URL'],
    ['postgres://mail@db/mail?sslmode=require', 'sslmode=require is not supported'],
    ['postgres://mail@db/mail?sslrootcert=/nowhere/ca.pem', 'sslrootcert cannot be read'],
  ] as const) {
    test(`refuses ${url}, and repeats no password`, () => {
      expect(() => databaseAddress(url, '')).toThrow(OperatorError);
      expect(() => databaseAddress(url, '')).toThrow(says);
      expect(() => databaseAddress(url, '')).not.toThrow('secret');
    });
  }
});

/** What asking the server something ends with. */
async function asked(url: string): Promise<string> {
  const database = new Database(databaseAddress(url, ''), 0);
  try {
    const row = await database.first<{ cipher: string | null }>(
      part('SELECT cipher FROM pg_stat_ssl WHERE pid = pg_backend_pid()'),
    );
    return row?.cipher ?? 'plain';
  } catch {
    return 'refused';
  } finally {
    await database.close();
  }
}

describe('encryption', () => {
  let server: PostgresServer;
  let port = 0;

  beforeAll(async () => {
    [port = 0] = await freePorts(1);
    const folder = mkdtempSync(join(tmpdir(), 'postrider-pg-tls-'));
    chmodSync(folder, 0o755);
    const { certFile, keyFile } = testAuthority().issue(['localhost', 'db.rig.test']);
    for (const [from, name] of [
      [certFile, 'cert.pem'],
      [keyFile, 'key.pem'],
    ] as const) {
      copyFileSync(from, join(folder, name));
      chmodSync(join(folder, name), 0o600);
    }
    const settings = [
      'ssl=on',
      `ssl_cert_file=${folder}/cert.pem`,
      `ssl_key_file=${folder}/key.pem`,
    ];
    server = await PostgresServer.start({
      port,
      settings,
      ownFiles: [join(folder, 'cert.pem'), join(folder, 'key.pem')],
    });
  }, 30_000);

  afterAll(() => server.stop());

  const url = (host: string, options: string) =>
    `postgres://postrider@${host}:${port}/postgres?${options}`;
  const ca = testAuthority().certFile;

  test('is verified down to the name', async () => {
    expect(await asked(url('localhost', `sslrootcert=${ca}`))).toStartWith('TLS_');
    expect(await asked(url('127.0.0.1', `sslrootcert=${ca}`))).toBe('refused');
  });

  test('verifies the chain alone with verify-ca', async () => {
    expect(await asked(url('127.0.0.1', `sslmode=verify-ca&sslrootcert=${ca}`))).toStartWith(
      'TLS_',
    );
  });

  test('refuses a certificate of another authority, and one that nobody vouches for', async () => {
    for (const mode of ['verify-full', 'verify-ca']) {
      const foreign = makeAuthority().certFile;
      expect(await asked(url('localhost', `sslmode=${mode}&sslrootcert=${foreign}`))).toBe(
        'refused',
      );
      expect(await asked(url('localhost', `sslmode=${mode}`))).toBe('refused');
    }
  });

  test('never falls back to a plain connection', async () => {
    const [plainPort = 0] = await freePorts(1);
    const plain = await PostgresServer.start({ port: plainPort });
    expect(await asked(`postgres://postrider@localhost:${plainPort}/postgres`)).toBe('refused');
    expect(
      await asked(`postgres://postrider@localhost:${plainPort}/postgres?sslmode=disable`),
    ).toBe('plain');
    await plain.stop();
  }, 30_000);
});

describe('several hosts', () => {
  test('the one that takes writes is used, also when it is another one than before', async () => {
    const [first, second] = await Promise.all([PostgresServer.start(), PostgresServer.start()]);
    await second.makeStandby();
    const hosts = [second, first].map(({ directory }) => encodeURIComponent(directory)).join(',');
    const url = `postgres://postrider@${hosts}/postgres?sslmode=disable`;
    const database = new Database(databaseAddress(url, ''), 5_000);
    const directory = part("SELECT current_setting('unix_socket_directories') AS at");
    expect(await database.first<{ at: string }>(directory)).toEqual({ at: first.directory });
    // Each of these asks the standby first, and leaves no connection behind there.
    for (let count = 0; count < 3; count += 1) {
      const fresh = new Database(databaseAddress(url, ''), 5_000);
      expect(await fresh.first<{ at: string }>(directory)).toEqual({ at: first.directory });
      await fresh.close();
    }
    const standby = second.admin();
    const left = "SELECT pid FROM pg_stat_activity WHERE application_name = 'postrider'";
    while ((await standby.unsafe(left)).length > 0);
    await standby.close();
    await Promise.all([first.pause(), second.promote()]);
    expect(await database.first<{ at: string }>(directory)).toEqual({ at: second.directory });
    await database.close();
    await Promise.all([first.stop(), second.stop()]);
  }, 60_000);
});
