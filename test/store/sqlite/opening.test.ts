/** Opening a data directory: one process at a time, known schemas only, settings in force, private files. */
import { describe, expect, test } from 'bun:test';
import { Database } from 'bun:sqlite';
import { chmodSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { OperatorError } from '../../../src/base/errors.ts';
import {
  expectSetting,
  openForReading,
  openForWriting,
} from '../../../src/store/sqlite/database.ts';
import { makeDataDir, masterKey } from '../../../src/store/key-file.ts';
import { MAIL_MIGRATIONS, migrate } from '../../../src/store/sqlite/migrations.ts';
import { bestOf, tookMs } from '../../rig/best-of.ts';
import { startChild } from './children.ts';
import { openTestStore, withDir } from '../test-store.ts';

/** The `OperatorError` that `work` fails with. */
async function refusal(work: () => unknown): Promise<OperatorError> {
  try {
    await work();
  } catch (error) {
    if (error instanceof OperatorError) return error;
    throw error;
  }
  throw new Error('it was not refused');
}

describe('the lock', () => {
  test('a second process is refused within a second, with the pid of the first', () =>
    withDir(async (dir) => {
      const first = startChild([dir, 1, 1_000_000]);
      await first.until((line) => line.startsWith('id '));
      const ms = await bestOf(1_000, () =>
        tookMs(async () => {
          const second = startChild([dir, 1, 1]);
          expect(await second.exited).toBe(1);
          expect(await second.errors()).toContain(`another process (pid ${first.pid})`);
        }),
      );
      expect(ms).toBeLessThan(1_000);
      first.kill();
      await first.exited;

      const store = await openTestStore(dir);
      const inside = await refusal(() => openTestStore(dir));
      expect(inside.message).toContain(`pid ${process.pid}`);
      expect(inside.hint).not.toBe('');
      await store.close();
      await (await openTestStore(dir)).close();
    }));
});

describe('the schema', () => {
  const open = (dir: string): Database => openForWriting(join(dir, 'mail.db'), 'full');

  test('of a newer release is refused', () =>
    withDir(async (dir) => {
      await (await openTestStore(dir)).close();
      const db = open(dir);
      db.run("INSERT INTO migrations VALUES (9999, 'future', 'x', 0)");
      db.close();
      const { message, hint } = await refusal(() => openTestStore(dir));
      expect(message).toContain('schema version 9999, newer');
      expect(hint).toContain('later');
    }));

  test('whose applied steps are not ours is refused', () =>
    withDir(async (dir) => {
      await (await openTestStore(dir)).close();
      const db = open(dir);
      db.run("UPDATE migrations SET checksum = 'other' WHERE version = 1");
      db.close();
      expect((await refusal(() => openTestStore(dir))).message).toContain('step 1 (initial)');
    }));

  test('is brought forward once, and a step that fails leaves nothing', () =>
    withDir((dir) => {
      const db = open(dir);
      const next = MAIL_MIGRATIONS.length + 1;
      const good = { version: next, name: 'good', sql: 'CREATE TABLE extra (x TEXT) STRICT' };
      const bad = {
        version: next + 1,
        name: 'bad',
        sql: 'CREATE TABLE half (x TEXT) STRICT; CREATE TABLE half (x TEXT) STRICT',
      };
      expect(() => migrate(db, [...MAIL_MIGRATIONS, good, bad], 0)).toThrow('half');
      migrate(db, [...MAIL_MIGRATIONS, good], 0);
      const versions = db.prepare('SELECT version FROM migrations ORDER BY version').values();
      expect(versions.flat()).toEqual([...MAIL_MIGRATIONS.map(({ version }) => version), next]);
      expect(db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'half'").get()).toBeNull();
      db.close();
    }));
});

test('the one password that there was is that of the operator admin', () =>
  withDir(async (dir) => {
    const before = openForWriting(join(dir, 'mail.db'), 'full');
    migrate(before, MAIL_MIGRATIONS.slice(0, 11), 0);
    before.run("INSERT INTO settings VALUES ('admin_password', 'the hash')");
    before.close();
    const store = await openTestStore(dir);
    expect(await store.operators()).toMatchObject([
      { name: 'admin', role: 'admin', accountId: null, passwordHash: 'the hash', sealedTotp: null },
    ]);
    expect(await store.setting('admin_password')).toBeNull();
    await store.close();
  }));

describe('settings', () => {
  test('are in force where durability rests on them', () =>
    withDir((dir) => {
      const db = openForWriting(join(dir, 'mail.db'), 'full');
      expectSetting(db, 'PRAGMA synchronous', 2);
      expectSetting(db, 'PRAGMA journal_mode', 'wal');
      db.close();
    }));

  test('that are not in force make opening fail', () =>
    withDir((dir) => {
      const db = openForWriting(join(dir, 'log.db'), 'normal');
      expect(() => expectSetting(db, 'PRAGMA synchronous', 2)).toThrow(OperatorError);
      db.close();
      // A file in another journal mode cannot be read as the store needs it.
      const other = new Database(join(dir, 'mail.db'));
      other.run('CREATE TABLE rows (x TEXT) STRICT');
      other.close();
      expect(() => openForReading(join(dir, 'mail.db'))).toThrow('journal_mode');
    }));
});

describe('files', () => {
  test('are for their owner alone', () =>
    withDir(async (dir) => {
      const dataDir = join(dir, 'data');
      const store = await openTestStore(dataDir);
      masterKey(dataDir);
      expect(statSync(dataDir).mode & 0o777).toBe(0o700);
      const names = readdirSync(dataDir);
      expect(names).toEqual(expect.arrayContaining(['mail.db', 'mail.db-wal', 'secret.key']));
      for (const name of names) {
        expect([name, statSync(join(dataDir, name)).mode & 0o077]).toEqual([name, 0]);
      }
      await store.close();
    }));

  test('the key is created once, complete, and kept', () =>
    withDir((dir) => {
      const key = masterKey(dir);
      expect(key).toHaveLength(32);
      expect(Buffer.from(masterKey(dir)).equals(key)).toBe(true);
      expect(readdirSync(dir)).toEqual(['secret.key']);
      expect(readFileSync(join(dir, 'secret.key')).equals(key)).toBe(true);
    }));

  test('a key that others may read, or of another length, is refused', () =>
    withDir(async (dir) => {
      makeDataDir(dir);
      const path = join(dir, 'secret.key');
      writeFileSync(path, Buffer.alloc(32), { mode: 0o600 });
      chmodSync(path, 0o640);
      expect((await refusal(() => masterKey(dir))).message).toContain('other users');
      writeFileSync(path, 'short');
      chmodSync(path, 0o600);
      expect((await refusal(() => masterKey(dir))).message).toContain('5 bytes');
    }));
});
