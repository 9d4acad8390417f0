/** The password of the file is what a server that asks for one is given, whatever opens the database. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { databaseAddress } from '../../../src/store/postgres/address.ts';
import { Database } from '../../../src/store/postgres/database.ts';
import { inspectDatabase } from '../../../src/store/postgres/inspection.ts';
import { part } from '../../../src/store/postgres/statement.ts';
import { openPostgres } from '../../../src/store/postgres/store.ts';
import { PostgresServer } from '../../rig/postgres.ts';

const PASSWORD = 'Wörter & "Zeichen"';

let server: PostgresServer;
let dir: string;
let url: string;
let [passwordFile, wrongFile]: [string, string] = ['', ''];

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'postrider-password-'));
  const rules = join(dir, 'hba');
  // Without one for whoever looks from outside.
  writeFileSync(rules, 'local all postrider trust\nlocal all all scram-sha-256\n');
  [passwordFile, wrongFile] = [join(dir, 'right'), join(dir, 'wrong')];
  writeFileSync(passwordFile, `${PASSWORD}\n`);
  writeFileSync(wrongFile, PASSWORD.toLowerCase());
  server = await PostgresServer.start({
    settings: [`hba_file=${rules}`],
    ownFiles: [dir, rules],
  });
  const admin = server.admin();
  await admin.unsafe(`CREATE ROLE mailer LOGIN PASSWORD '${PASSWORD}'`);
  await admin.unsafe('CREATE DATABASE mail OWNER mailer');
  await admin.close();
  url = server.url('mail').replace('postrider@', 'mailer@');
}, 60_000);

afterAll(async () => {
  await server.stop();
  rmSync(dir, { recursive: true, force: true });
});

const saidBy = (work: Promise<unknown>): Promise<string> => work.then(() => 'opened', String);

test('a store is opened with it, and the host check looks with it', async () => {
  const now = Date.now();
  const store = await openPostgres({ url, passwordFile, now });
  await store.setSetting('a', 'b');
  expect(await store.setting('a')).toBe('b');
  expect(await inspectDatabase({ url, passwordFile }, () => now)).toMatchObject({ nodes: [] });
  await store.close();
  const database = new Database(databaseAddress(url, passwordFile));
  expect(await database.first(part('SELECT current_user::text AS role'))).toEqual({
    role: 'mailer',
  });
  await database.close();
});

test('another is refused at once, and so is none', async () => {
  for (const file of [wrongFile, '']) {
    const options = { url, passwordFile: file, now: Date.now() };
    expect(await saidBy(openPostgres(options))).toContain('The database cannot be used');
    expect(await saidBy(inspectDatabase(options, Date.now))).not.toBe('opened');
  }
});
