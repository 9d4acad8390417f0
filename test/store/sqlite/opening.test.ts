/** Opening a data directory: one process at a time, known schemas only, settings in force, private files. */
import { describe, expect, spyOn, test } from 'bun:test';
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
import type { SchemaStep } from '../../../src/store/schema-step.ts';
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
      expect([message, hint]).toEqual([
        `${join(dir, 'mail.db')} has schema version 9999, newer than this program knows`,
        'Run the release that wrote it, or a later one; or restore the backup made before the upgrade.',
      ]);
    }));

  test('whose applied steps are not ours is refused', () =>
    withDir(async (dir) => {
      await (await openTestStore(dir)).close();
      const db = open(dir);
      db.run("UPDATE migrations SET checksum = 'other' WHERE version = 1");
      db.close();
      const { message, hint } = await refusal(() => openTestStore(dir));
      expect([message, hint]).toEqual([
        `${join(dir, 'mail.db')}: step 1 (initial) of its schema differs from the one in this program`,
        'Another build wrote the file. Run that build, or restore a backup made by a release.',
      ]);
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
      const told: SchemaStep[] = [];
      const tell = (step: SchemaStep): void => void told.push(step);
      migrate(db, MAIL_MIGRATIONS, 0, tell);
      expect(told).toEqual([]);
      const steps = [...MAIL_MIGRATIONS, good, bad];
      expect(() => migrate(db, steps, 0, tell)).toThrow('half');
      const [step, of] = [next, next + 1];
      expect(told).toEqual([
        { database: 'mail.db', step, of, name: 'good' },
        { database: 'mail.db', step: of, of, name: 'bad' },
      ]);
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
    const steps: unknown[] = [];
    const info = (event: string, fields = {}): void =>
      void (event === 'schema_step' && steps.push(fields));
    const store = await openTestStore(dir, { info, warn() {}, error() {} });
    // Of the other file, which is new, nothing is told.
    expect(steps).toEqual(
      MAIL_MIGRATIONS.slice(11).map(({ version, name }) => {
        return { database: 'mail.db', step: version, of: MAIL_MIGRATIONS.length, name };
      }),
    );
    expect(await store.operators()).toMatchObject([
      { name: 'admin', role: 'admin', accountId: null, passwordHash: 'the hash', sealedTotp: null },
    ]);
    expect(await store.setting('admin_password')).toBeNull();
    await store.close();
  }));

describe('settings', () => {
  /** What a connection answers for each of them, in the order of `NAMES`. */
  const settingsOf = (db: Database): unknown[] =>
    NAMES.map((name) => Object.values(db.prepare<object, []>(`PRAGMA ${name}`).get() ?? {})[0]);
  const NAMES = [
    'journal_mode',
    'synchronous',
    'busy_timeout',
    'foreign_keys',
    'secure_delete',
    'journal_size_limit',
    'temp_store',
    'cache_size',
    'query_only',
  ];

  test('are in force where durability rests on them, and how long others are waited for', () =>
    withDir((dir) => {
      const path = join(dir, 'mail.db');
      const of = (db: Database): unknown[] => {
        const settings = settingsOf(db);
        db.close();
        return settings;
      };
      // What is deleted is overwritten, and the log is cut back to 32 MiB; memory in KiB.
      const common = [5_000, 1, 1, 33_554_432, 2, -4_000, 0];
      expect(of(openForWriting(path, 'full'))).toEqual(['wal', 2, ...common]);
      expect(of(openForWriting(path, 'normal'))).toEqual(['wal', 1, ...common]);
      const reading = of(openForReading(path));
      expect([reading[0], ...reading.slice(-3)]).toEqual(['wal', 2, -4_000, 1]);
    }));

  test.each([
    ['journal_mode', 'delete, not wal'],
    ['synchronous', '2, not 1'],
    ['foreign_keys', '0, not 1'],
    ['secure_delete', '0, not 1'],
  ])('that the file system does not take are noticed, and the file is closed: %s', (name, said) =>
    withDir((dir) => {
      // oxlint-disable-next-line typescript/unbound-method -- called with its `this` below
      const { run } = Database.prototype;
      const ignoring = spyOn(Database.prototype, 'run').mockImplementation(function (
        this: Database,
        sql,
        ...rest
      ) {
        return run.call(this, sql.startsWith(`PRAGMA ${name} =`) ? 'SELECT 1' : sql, ...rest);
      });
      const closing = spyOn(Database.prototype, 'close');
      try {
        expect(() => openForWriting(join(dir, 'mail.db'), 'normal')).toThrow(
          `mail.db: "PRAGMA ${name}" is ${said}`,
        );
        expect(closing).toHaveBeenCalledTimes(1);
      } finally {
        for (const spy of [ignoring, closing]) spy.mockRestore();
      }
    }),
  );

  test('that are not in force make opening fail', () =>
    withDir((dir) => {
      const db = openForWriting(join(dir, 'log.db'), 'normal');
      expect(() => expectSetting(db, 'PRAGMA synchronous', 2)).toThrow(
        new OperatorError(
          `${db.filename}: "PRAGMA synchronous" is 1, not 2`,
          'Put data_dir on a local file system: NFS and SMB do not support the memory-mapped files that SQLite needs.',
        ),
      );
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
