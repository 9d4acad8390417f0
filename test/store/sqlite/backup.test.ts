/** Backups taken while writes go on, and what a restore does and refuses, on real files. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { Database } from 'bun:sqlite';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { OperatorError } from '../../../src/base/errors.ts';
import { createLog } from '../../../src/base/log.ts';
import { masterKey } from '../../../src/store/key-file.ts';
import { restoreBackup } from '../../../src/store/sqlite/restore.ts';
import { openStore } from '../../../src/store/sqlite/store.ts';
import type { Recipient } from '../../../src/store/rows.ts';
import type { Store } from '../../../src/store/store.ts';
import {
  accepted,
  batchOf,
  finishOf,
  newAccount,
  newDomain,
  newEvent,
  newKey,
  newMessage,
  newSuppression,
} from '../samples.ts';

const log = createLog(
  () => undefined,
  () => Date.now(),
);

let root: string;
let dataDir: string;
let store: Store;

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'backup-'));
  dataDir = join(root, 'data');
  store = await openStore({ dataDir, now: Date.now(), log });
  masterKey(dataDir);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** Accepts without pause until told to end; returns the ids acknowledged so far. */
function sendWithoutPause(accountId: string): { acknowledged: string[]; end(): Promise<void> } {
  const acknowledged: string[] = [];
  let isEnding = false;
  const lane = async (): Promise<void> => {
    // oxlint-disable-next-line no-unmodified-loop-condition -- `end` below sets it
    while (!isEnding) {
      const message = newMessage(accountId, {});
      await store.accept(batchOf(accountId, message));
      acknowledged.push(message.message.id);
    }
  };
  const lanes = Promise.all([lane(), lane(), lane(), lane()]);
  return {
    acknowledged,
    async end() {
      isEnding = true;
      await lanes;
    },
  };
}

describe('backup', () => {
  test('20 taken under load: each restores elsewhere with every id acknowledged before the call', async () => {
    const account = newAccount('default');
    await store.createAccount(account);
    const load = sendWithoutPause(account.id);
    for (let round = 0; round < 20; round += 1) {
      const before = [...load.acknowledged];
      const file = join(root, `${round}.backup`);
      await store.backUpTo(file);
      expect(statSync(file).mode & 0o077).toBe(0);
      const elsewhere = join(root, `restored-${round}`);
      restoreBackup(file, elsewhere, Date.now());
      const copy = new Database(join(elsewhere, 'mail.db'));
      const has = copy.prepare<{ id: string }, [string]>('SELECT id FROM messages WHERE id = ?');
      const missing = before.filter((id) => has.get(id) === null);
      copy.close();
      expect(missing).toEqual([]);
      rmSync(elsewhere, { recursive: true });
      rmSync(file);
    }
    await load.end();
    expect(load.acknowledged.length).toBeGreaterThan(20);
    await store.close();
  }, 60_000);

  test('tells how many rows of each kind it holds', async () => {
    const accounts = [newAccount('one'), newAccount('two')];
    for (const account of accounts) await store.createAccount(account);
    const id = accounts[0]?.id ?? '';
    for (const at of [1, 2, 3]) await store.createKey(newKey(id), Buffer.of(at), 10);
    for (const at of [1, 2, 3, 4]) await store.createDomain(newDomain(id, `d${at}.example`), 10);
    const sent = newMessage(id, {}, ['ann@example.org', 'bob@example.org']);
    await accepted(store, sent);
    for (let more = 0; more < 4; more += 1) await accepted(store, newMessage(id));
    const events = [1, 2].map(() => newEvent(sent.message, null, 'email.sent'));
    await store.finish({ ...finishOf(sent, sent.recipients[0] as Recipient), events });
    for (let at = 0; at < 8; at += 1) {
      await store.addSuppression(newSuppression(id, `s${at}@example.org`));
    }
    const file = join(root, 'counted.backup');
    expect(await store.backUpTo(file)).toEqual({
      file,
      bytes: statSync(file).size,
      rows: {
        accounts: 2,
        api_keys: 3,
        domains: 4,
        messages: 5,
        recipients: 6,
        events: 7,
        suppressions: 8,
      },
    });
    await store.close();
  });

  test('is refused where a file exists, and leaves nothing behind when it fails', async () => {
    const file = join(root, 'taken.backup');
    writeFileSync(file, 'mine');
    expect(await refusalOf(store.backUpTo(file))).toContain('already exists');
    expect(readFileSync(file, 'utf8')).toBe('mine');
    const nowhere = join(root, 'no-such-folder', 'x.backup');
    expect(await refusalOf(store.backUpTo(nowhere))).not.toBe('');
    expect(existsSync(nowhere)).toBe(false);
    await store.close();
  });
});

describe('restore', () => {
  async function backupOf(...names: string[]): Promise<string> {
    for (const name of names) await store.createAccount({ ...newAccount('default'), name });
    const file = join(root, 'one.backup');
    await store.backUpTo(file);
    return file;
  }

  test('brings back data and key, takes the key out of the file, sets the old files aside', async () => {
    const file = await backupOf('kept');
    const key = Buffer.from(masterKey(dataDir));
    await store.createAccount({ ...newAccount('default'), name: 'later' });
    await store.close();
    chmodSync(join(dataDir, 'secret.key'), 0o600);
    writeFileSync(join(dataDir, 'secret.key'), Buffer.alloc(32, 1));

    const report = restoreBackup(file, dataDir, Date.now());
    expect(report.rows['accounts']).toBe(1);
    expect(Buffer.from(masterKey(dataDir)).equals(key)).toBe(true);
    expect(readFileSync(join(dataDir, 'mail.db')).includes(key)).toBe(false);
    expect(statSync(join(dataDir, 'mail.db')).mode & 0o077).toBe(0);
    const keyAside = readFileSync(join(report.setAside ?? '', 'secret.key'));
    expect(keyAside.equals(Buffer.alloc(32, 1))).toBe(true);
    const aside = new Database(join(report.setAside ?? '', 'mail.db'), { readonly: true });
    const names = aside.prepare<{ name: string }, []>('SELECT name FROM accounts').all();
    aside.close();
    expect(names.map(({ name }) => name).toSorted()).toEqual(['kept', 'later']);

    store = await openStore({ dataDir, now: Date.now(), log });
    expect((await store.accounts()).map(({ name }) => name)).toEqual(['kept']);
    await store.close();
  });

  test('twice within a second: each sets the files before it aside in a folder of its own', async () => {
    const file = await backupOf('kept');
    await store.close();
    const at = Date.UTC(2026, 0, 15, 12);
    const asides = [1, 2, 3].map(() => restoreBackup(file, dataDir, at).setAside ?? '');
    const first = join(dataDir, 'before-restore-20260115T120000Z');
    expect(asides).toEqual([first, `${first}-2`, `${first}-3`]);
    for (const aside of asides) {
      expect(statSync(aside).mode & 0o777).toBe(0o700);
      expect(readdirSync(aside).toSorted()).toEqual(['mail.db', 'secret.key']);
    }
  });

  test('over the files of a killed server: their WAL goes aside with them, not into what is restored', async () => {
    const file = await backupOf('kept');
    await store.createAccount({ ...newAccount('default'), name: 'in the WAL' });
    const killed = join(root, 'killed');
    mkdirSync(killed);
    for (const name of readdirSync(dataDir)) copyFileSync(join(dataDir, name), join(killed, name));
    await store.close();
    expect(statSync(join(killed, 'mail.db-wal')).size).toBeGreaterThan(0);

    const { setAside } = restoreBackup(file, killed, Date.now());
    const aside = new Database(join(setAside ?? '', 'mail.db'), { readonly: true });
    const names = aside.prepare<{ name: string }, []>('SELECT name FROM accounts').all();
    aside.close();
    expect(names.map(({ name }) => name).toSorted()).toEqual(['in the WAL', 'kept']);
    store = await openStore({ dataDir: killed, now: Date.now(), log });
    expect((await store.accounts()).map(({ name }) => name)).toEqual(['kept']);
    await store.close();
  });

  test('over a damaged file: what cannot be folded into it is kept beside it', async () => {
    const file = await backupOf('kept');
    await store.close();
    const damaged = join(root, 'damaged');
    mkdirSync(damaged);
    for (const name of ['mail.db', 'mail.db-wal']) writeFileSync(join(damaged, name), 'torn');

    const { setAside } = restoreBackup(file, damaged, Date.now());
    expect(readFileSync(join(setAside ?? '', 'mail.db'), 'utf8')).toBe('torn');
    expect(readFileSync(join(damaged, 'mail.db.damaged-wal'), 'utf8')).toBe('torn');
    store = await openStore({ dataDir: damaged, now: Date.now(), log });
    expect((await store.accounts()).map(({ name }) => name)).toEqual(['kept']);
    await store.close();
  });

  test('of a backup that others may read: only the owner may read what it restores', async () => {
    const file = await backupOf('one');
    await store.close();
    chmodSync(file, 0o644);
    const before = process.umask(0);
    const elsewhere = join(root, 'elsewhere');
    restoreBackup(file, elsewhere, Date.now());
    process.umask(before);
    expect(statSync(elsewhere).mode & 0o077).toBe(0);
    for (const name of readdirSync(elsewhere)) {
      expect([name, statSync(join(elsewhere, name)).mode & 0o077]).toEqual([name, 0]);
    }
  });

  test('is refused while a server uses the directory', async () => {
    const file = await backupOf('kept');
    expect(() => restoreBackup(file, dataDir, Date.now())).toThrow('another process');
    await store.close();
  });

  test.each([
    ['a file that is not there', () => undefined],
    ['text', (file: string) => writeFileSync(file, 'no database')],
    ['a torn backup', (file: string, whole: Buffer) => writeFileSync(file, tornOf(whole))],
    ['another program’s database', (file: string) => otherDatabase(file)],
    ['a newer schema', (file: string, whole: Buffer) => newerSchema(file, whole)],
    [
      'a trigger',
      changed('CREATE TRIGGER late AFTER INSERT ON messages BEGIN DELETE FROM suppressions; END'),
    ],
    ['a view', changed('CREATE VIEW extra AS SELECT 1')],
    ['a table more', changed('CREATE TABLE extra (text TEXT)')],
    ['an index more', changed('CREATE INDEX extra ON accounts (name DESC)')],
    ['a virtual table', changed('CREATE VIRTUAL TABLE extra USING fts5 (text)')],
    [
      'a column that computes',
      changed('ALTER TABLE accounts ADD COLUMN extra TEXT AS (hex(name))'),
    ],
    ['a table less', changed('DROP TABLE confirmed_recipients')],
    ['an index less', changed('DROP INDEX recipients_by_due')],
    ['a column less', changed('ALTER TABLE endpoints DROP COLUMN last_failure_at')],
    ['a view without end for its key', changed('DROP TABLE backup_key', ENDLESS)],
    ['a view without end for the history', changed('DROP TABLE migrations', ENDLESS_HISTORY)],
    [
      'a schema whose pages point to each other',
      (file: string, whole: Buffer) => tangled(file, whole),
    ],
    [
      'a backup with something after it',
      (file: string, whole: Buffer) =>
        writeFileSync(file, Buffer.concat([whole, Buffer.alloc(4096)])),
    ],
    ['a pipe', (file: string) => void Bun.spawnSync(['mkfifo', file])],
    ['a directory', (file: string) => mkdirSync(file)],
    [
      'a file of holes, longer than the disk',
      (file: string, whole: Buffer) => {
        writeFileSync(file, whole);
        truncateSync(file, 2 ** 43);
      },
    ],
  ] as [string, (file: string, whole: Buffer) => void][])(
    'refuses %s and changes nothing',
    async (_, make) => {
      const whole = readFileSync(await backupOf('kept'));
      await store.close();
      const before = readFileSync(join(dataDir, 'mail.db'));
      const bad = join(root, 'bad.backup');
      make(bad, whole);
      const begun = performance.now();
      expect(() => restoreBackup(bad, dataDir, Date.now())).toThrow(OperatorError);
      expect(performance.now() - begun).toBeLessThan(5_000);
      expect(readFileSync(join(dataDir, 'mail.db')).equals(before)).toBe(true);
      expect(existsSync(join(dataDir, 'mail.db.restoring'))).toBe(false);
    },
  );
});

const ENDLESS =
  'CREATE VIEW backup_key AS WITH RECURSIVE n(key) AS (SELECT 1 UNION ALL SELECT key + 1 FROM n) SELECT zeroblob(32) AS key FROM n WHERE key < 0';
const ENDLESS_HISTORY =
  "CREATE VIEW migrations AS WITH RECURSIVE n(v) AS (SELECT 1 UNION ALL SELECT v + 1 FROM n) SELECT v AS version, '' AS name, '' AS checksum FROM n WHERE v < 0";

/** A whole backup after these statements. */
function changed(...statements: string[]): (file: string, whole: Buffer) => void {
  return (file, whole) => {
    writeFileSync(file, whole);
    const db = new Database(file);
    for (const statement of statements) db.run(statement);
    db.close();
  };
}

/** Page 1 as a page above others, whose children are all page 2, which is one itself and points to itself. */
function tangled(file: string, whole: Buffer): void {
  const size = whole.readUInt16BE(16);
  for (const [page, start] of [
    [0, 100],
    [1, 0],
  ] as const) {
    const at = page * size;
    whole.writeUInt8(5, at + start);
    whole.writeUInt16BE(100, at + start + 3);
    whole.writeUInt32BE(2, at + start + 8);
    for (let cell = 0; cell < 100; cell += 1) {
      whole.writeUInt16BE(size - 600 + cell * 6, at + start + 12 + cell * 2);
      whole.writeUInt32BE(2, at + size - 600 + cell * 6);
    }
  }
  writeFileSync(file, whole);
}

/** The message it is rejected with; empty when it is not. */
function refusalOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => '',
    (error: Error) => error.message,
  );
}

/** The pages of the second half zeroed, as after a copy that was cut off. */
function tornOf(whole: Buffer): Buffer {
  return Buffer.concat([whole.subarray(0, whole.length / 2), Buffer.alloc(whole.length / 2)]);
}

function otherDatabase(file: string): void {
  const db = new Database(file, { create: true });
  db.run('CREATE TABLE notes (text TEXT)');
  db.close();
}

function newerSchema(file: string, whole: Buffer): void {
  writeFileSync(file, whole);
  const db = new Database(file);
  db.run("INSERT INTO migrations VALUES (9999, 'future', 'x', 0)");
  db.close();
}
