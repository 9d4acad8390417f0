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
    const read = (text: string): string => {
      writeFileSync(file, text);
      return databaseAddress('postgres://mail@db/mail', file).password;
    };
    expect([' se:cret@ \n', 'a\r\n', 'a\n\n', 'a', '\n', 'a\nb'].map(read)).toEqual([
      ' se:cret@ ',
      'a',
      'a\n',
      'a',
      '',
      'a\nb',
    ]);
  });

  test('is percent-encoded where it must be, and its own authority and the check of the name are read of it', () => {
    const encoded = databaseAddress('postgres://m%40x%3A@d%62:1/p%3Fq%2F', '');
    expect(encoded).toMatchObject({ username: 'm@x:', database: 'p?q/' });
    expect(encoded.hosts).toEqual([{ hostname: 'db', port: 1 }]);
    expect(databaseAddress('postgres://m@[::1],db:65535/x', '').hosts).toEqual([
      { hostname: '::1', port: 5432 },
      { hostname: 'db', port: 65_535 },
    ]);
    const ca = join(mkdtempSync(join(tmpdir(), 'postrider-ca-')), 'ca.pem');
    writeFileSync(ca, 'an authority');
    const tls = (options: string) => databaseAddress(`postgres://m@db/x${options}`, '').tls;
    const full = { ca: 'an authority', rejectUnauthorized: true } as const;
    expect(tls(`?sslrootcert=${ca}`)).toEqual(full);
    expect(tls(`?application_name=x&sslmode=verify-full`)).toEqual({ rejectUnauthorized: true });
    expect(tls(`?sslmode=disable&sslrootcert=/nowhere`)).toBe(false);
    const chain = tls(`?sslrootcert=${ca}&sslmode=verify-ca`);
    expect(chain).toEqual({ ...full, checkServerIdentity: expect.any(Function) as never });
    expect(chain !== false && chain.checkServerIdentity?.()).toBeUndefined();
  });

  const SHAPE = [
    '[store] url is not the URL of a database',
    'Write it as postgres://USER@HOST:5432,HOST2:5432/DATABASE?sslmode=verify-full and put the password into password_file.',
  ];
  const notHost = (text: string) => [
    `[store] url: "${text}" is not a host with a port`,
    SHAPE[1] ?? '',
  ];
  const notMode = (mode: string) => [
    `[store] url: sslmode=${mode} is not supported`,
    'Use verify-full, verify-ca, or disable on a network that nobody else can reach.',
  ];
  const notRead = (what: string, file: string) => [
    `[store] ${what} cannot be read: ENOENT: no such file or directory, open '${file}'`,
    'Check the path and the mode of the file.',
  ];
  for (const [url, told, file = ''] of [
    ['postgres://mail:secret@db/mail', SHAPE],
    ['mysql://mail@db/mail', SHAPE],
    ['x postgres://mail@db/mail', SHAPE],
    ['postgres://mail@db', SHAPE],
    ['postgres://mail@db/', SHAPE],
    ['postgres://mail@db/mail/other', SHAPE],
    ['postgres://db/mail', SHAPE],
    ['postgres://@db/mail', SHAPE],
    ['postgres://mail@/mail', SHAPE],
    ['postgres://mail@db:port/mail', notHost('db:port')],
    ['postgres://mail@db:/mail', notHost('db:')],
    ['postgres://mail@db:123456/mail', notHost('db:123456')],
    ['postgres://mail@db:5432x/mail', notHost('db:5432x')],
    ['postgres://mail@db,,other/mail', notHost('')],
    ['postgres://mail@:5432/mail', notHost(':5432')],
    ['postgres://mail@db/mail?sslmode=require', notMode('require')],
    ['postgres://mail@db/mail?sslmode=', notMode('')],
    ['postgres://mail@db/mail?sslmode=DISABLE', notMode('DISABLE')],
    [
      'postgres://mail@db/mail?sslrootcert=/nowhere/ca.pem',
      notRead('sslrootcert', '/nowhere/ca.pem'),
    ],
    ['postgres://mail@db/mail', notRead('password_file', '/nowhere/word'), '/nowhere/word'],
  ] as const) {
    const beside = file === '' ? '' : ` with ${file}`;
    test(`refuses ${url}${beside}, says what to write, and repeats no password`, () => {
      let refused: unknown = null;
      try {
        databaseAddress(url, file);
      } catch (error) {
        refused = error;
      }
      expect(refused).toBeInstanceOf(OperatorError);
      const { message, hint } = refused as OperatorError;
      expect([message, hint]).toEqual([...told]);
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
