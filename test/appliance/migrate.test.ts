/** Moving everything from files into a database and back: all of it, compared, with the source as it was. */
import { afterAll, describe, expect, test } from 'bun:test';
import { Database } from 'bun:sqlite';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { unlock } from '../../src/flow/data-key.ts';
import type { Account } from '../../src/store/rows.ts';
import type { Store } from '../../src/store/store.ts';
import { testServer } from '../rig/postgres.ts';
import { dueRequest, newAccount } from '../store/samples.ts';
import { openTestStore } from '../store/test-store.ts';
import {
  NOW,
  fill,
  filledDirectory,
  hashes,
  newDir,
  openDatabase,
  refusal,
  removeDirs,
  run,
  toDatabase,
  toDirectory,
} from './migrate-rig.ts';

afterAll(removeDirs);

/** Every file's name and hash. */
function filesOf(dir: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(dir)
      .filter((name) => name !== 'postrider.pid')
      .map((name) => [
        name,
        createHash('sha256')
          .update(readFileSync(join(dir, name)))
          .digest('hex'),
      ]),
  );
}

const LAST_DAY = { from: NOW - 86_400_000, until: NOW + 86_400_000, bucket: 'day' } as const;
const PAGE = { limit: 100, after: null, before: null };

/** What the verbs of a store say of an account. */
async function seen(store: Store, { id }: Account): Promise<unknown> {
  const { rows } = await store.emails(id, { ...PAGE, q: null, status: null });
  return {
    emails: rows,
    found: (await store.emails(id, { ...PAGE, q: 'ÜMLÄUT', status: null })).rows.map(
      (row) => row.id,
    ),
    contents: await Promise.all(rows.map((row) => store.body(id, row.id))),
    recipients: await Promise.all(rows.map((row) => store.recipients(row.id))),
    events: await Promise.all(rows.map((row) => store.events(row.id))),
    suppressions: await store.suppressions(id, null, PAGE),
    endpoints: await store.endpoints(id),
    domains: await store.domains(id),
    keys: await store.keys(id),
    bytes: await store.storedBytes(id),
    statuses: await store.countsByStatus(id, 0),
    harm: await store.harm(id, 0),
    outcomes: await Promise.all(
      [id, null].map((accountId) => store.outcomes({ accountId, ...LAST_DAY })),
    ),
    logs: await store.logs(id, { ...PAGE, q: null, method: null, status: null }),
    secrets: (await store.sealedSecrets()).toSorted((a, b) => (a.id < b.id ? -1 : 1)),
  };
}

describe('from files into a database, and back', () => {
  test('everything is carried, the source stays as it was, and both say the same', async () => {
    const { dir, accounts } = await filledDirectory();
    const before = filesOf(dir);
    const url = await (await testServer()).freshDatabase();
    const there = await run(dir, '', toDatabase(url));
    expect(filesOf(dir)).toEqual(before);
    expect(there.changes).toEqual({ 'store.url': url, 'store.password_file': '' });
    for (const { table, rows } of there.tables) expect([table, rows > 0]).toEqual([table, true]);

    const back = newDir();
    const home = await run(dir, url, toDirectory(back));
    expect(hashes(home)).toEqual(hashes(there));
    expect(home.changes).toMatchObject({ data_dir: back, 'store.url': '' });
    for (const { table, rows } of home.tables) expect([table, rows > 0]).toEqual([table, true]);
    expect(filesOf(back)['secret.key']).toBe(before['secret.key'] ?? '');
    // Files have no standby that could be required.
    const required = 'require_standby = true\n';
    const again = await run(dir, url, toDirectory(newDir()), () => undefined, required);
    expect(again.changes).toMatchObject({ 'store.url': '', 'store.require_standby': false });

    const stores = [await openTestStore(dir), await openDatabase(url), await openTestStore(back)];
    for (const account of accounts) {
      const [first, ...others] = await Promise.all(stores.map((store) => seen(store, account)));
      for (const other of others) expect(other).toEqual(first);
    }
    for (const store of stores) await store.close();
  }, 60_000);
});

describe('from a database that was written as one', () => {
  test('files hold the same: sums without slots, what waits and what is in an attempt', async () => {
    const url = await (await testServer()).freshDatabase();
    const dir = newDir();
    const store = await openDatabase(url);
    await unlock(dir, store);
    const accounts = await fill(store);
    const now = Date.now();
    const taken = await store.takeDue(dueRequest('me', now + 1e9));
    const [recipientId = ''] = taken.ours.map(({ id }) => id);
    const lease = { owner: 'me', leaseUntil: now + 1e6, nextAttemptAt: now + 1e6 };
    const [begun] = await store.begin([{ recipientId, ...lease }], now);
    await store.close();

    // The data directory itself, which holds the key.
    const home = await run(dir, url, toDirectory(dir));
    expect(home.changes).toEqual({ 'store.url': '', 'store.password_file': '' });
    const files = await openTestStore(dir);
    expect(await files.recipientById(recipientId)).toEqual(begun ?? null);
    const again = await openDatabase(url);
    for (const account of accounts) {
      expect(await seen(files, account)).toEqual(await seen(again, account));
    }
    // A lease is nobody's any more.
    const { ours } = await files.takeDue(dueRequest('you', now + 2e6));
    expect(ours.map(({ id }) => id)).toContain(recipientId);
    await files.close();
    await again.close();
    const there = await (await testServer()).freshDatabase();
    const second = await run(dir, '', toDatabase(there));
    // Taking it has changed the row of its owner, and nothing that is carried.
    expect(hashes(second)).toEqual(hashes(home));
  }, 60_000);

  test('content of a message that does not exist ends it', async () => {
    const { dir } = await filledDirectory();
    const server = await testServer();
    const url = await server.freshDatabase();
    await run(dir, '', toDatabase(url));
    const admin = server.admin(new URL(url).pathname.slice(1));
    await admin.unsafe(
      `INSERT INTO bodies (message_id, bytes) VALUES ('00000000-0000-7000-8000-000000000000', 1)`,
    );
    await admin.close();
    const back = newDir();
    expect(await refusal(run(dir, url, toDirectory(back)))).toMatch(/00000000-0000-7000-8000/);
    expect(existsSync(join(back, 'mail.db'))).toBe(false);
  }, 60_000);
});

describe('what is refused', () => {
  test('a target with rows, of either kind, and the kind that the data have already', async () => {
    const { dir } = await filledDirectory();
    const url = await (await testServer()).freshDatabase();
    const full = await openDatabase(url);
    await full.createAccount(newAccount('there'));
    await full.close();
    expect(await refusal(run(dir, '', toDatabase(url)))).toMatch(
      /holds rows already .table accounts/,
    );
    const empty = await (await testServer()).freshDatabase();
    await run(dir, '', toDatabase(empty));
    const before = filesOf(dir);
    expect(await refusal(run(dir, empty, toDirectory(dir)))).toMatch(/mail\.db exists already/);
    expect(filesOf(dir)).toEqual(before);
    expect(await refusal(run(dir, empty, toDatabase(url)))).toMatch(
      /in a PostgreSQL database already/,
    );
    expect(await refusal(run(dir, '', toDirectory(newDir())))).toMatch(/in files of the data/);
  }, 60_000);

  test('an address that is none, named as it was written', async () => {
    const { dir } = await filledDirectory();
    expect(await refusal(run(dir, '', toDatabase('postgres://x:secret@db/mail')))).toBe(
      '1 --to is not the URL of a database',
    );
    const to = { ...toDatabase('postgres://x@db/mail'), passwordFile: join(dir, 'none') };
    expect(await refusal(run(dir, '', to))).toStartWith('1 --password-file cannot be read');
  });

  test('a server on the source or on the target', async () => {
    const { dir } = await filledDirectory();
    const url = await (await testServer()).freshDatabase();
    const files = await openTestStore(dir);
    expect(await refusal(run(dir, '', toDatabase(url)))).toMatch(
      /another process .* uses the data/,
    );
    await files.close();
    const there = await openDatabase(url);
    expect(await refusal(run(dir, '', toDatabase(url)))).toMatch(/has this database open/);
    expect(await refusal(run(dir, url, toDirectory(newDir())))).toMatch(/has this database open/);
    await there.close();
  }, 60_000);

  test('a key that is missing or another one, on either side', async () => {
    const { dir } = await filledDirectory();
    const url = await (await testServer()).freshDatabase();
    const key = join(dir, 'secret.key');
    const right = readFileSync(key);
    writeFileSync(key, Buffer.alloc(right.length, 1));
    expect(await refusal(run(dir, '', toDatabase(url)))).toMatch(/^78 /);
    rmSync(key);
    expect(await refusal(run(dir, '', toDatabase(url)))).toMatch(/secret\.key is missing/);
    writeFileSync(key, right, { mode: 0o600 });
    await run(dir, '', toDatabase(url));
    const other = newDir();
    writeFileSync(join(other, 'secret.key'), Buffer.alloc(right.length, 1), { mode: 0o600 });
    expect(await refusal(run(dir, url, toDirectory(other)))).toMatch(/another key/);
    expect(readdirSync(other)).not.toContain('mail.db');
  }, 60_000);

  test('files of an earlier release, or with counters that are still being computed', async () => {
    const { dir } = await filledDirectory();
    const url = await (await testServer()).freshDatabase();
    const change = (sql: string): void => {
      const mail = new Database(join(dir, 'mail.db'));
      mail.run(sql);
      mail.close();
    };
    change("INSERT INTO recounts (name, seq) VALUES ('harm', 1)");
    expect(await refusal(run(dir, '', toDatabase(url)))).toMatch(/still being computed/);
    change('DELETE FROM recounts');
    change('DELETE FROM migrations WHERE version = (SELECT max(version) FROM migrations)');
    expect(await refusal(run(dir, '', toDatabase(url)))).toMatch(/earlier release/);
  }, 60_000);

  test('a column that the other kind of store does not have', async () => {
    const { dir } = await filledDirectory();
    const server = await testServer();
    const url = await server.freshDatabase();
    const admin = server.admin(new URL(url).pathname.slice(1));
    await admin.unsafe(
      'ALTER TABLE recipients ADD COLUMN colour text; CREATE TABLE paints (id int4)',
    );
    await admin.close();
    expect(await refusal(run(dir, '', toDatabase(url)))).toMatch(
      /carry over: paints, recipients\.colour/,
    );
  }, 60_000);
});
