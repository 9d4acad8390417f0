/** Backups taken while writes go on, and what a restore does and refuses, on real files. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { Database } from 'bun:sqlite';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { systemClock } from '../../src/base/clock.ts';
import { createLog } from '../../src/base/log.ts';
import { masterKey } from '../../src/store/key-file.ts';
import { restoreBackup } from '../../src/store/restore.ts';
import { openStore } from '../../src/store/sqlite.ts';
import type { Store } from '../../src/store/store.ts';
import { batchOf, newAccount, newMessage } from './samples.ts';

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
  store = await openStore({ dataDir, clock: systemClock, log });
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
  });

  test('is refused where a file is in the way, and leaves nothing behind when it fails', async () => {
    const file = join(root, 'taken.backup');
    writeFileSync(file, 'mine');
    expect(await refusalOf(store.backUpTo(file))).toContain('exists already');
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
    const aside = new Database(join(report.setAside ?? '', 'mail.db'), { readonly: true });
    const names = aside.prepare<{ name: string }, []>('SELECT name FROM accounts').all();
    aside.close();
    expect(names.map(({ name }) => name).toSorted()).toEqual(['kept', 'later']);

    store = await openStore({ dataDir, clock: systemClock, log });
    expect((await store.accounts()).map(({ name }) => name)).toEqual(['kept']);
    await store.close();
  });

  test('of a backup that others may read: what it restores is the owner’s alone again', async () => {
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

  test('is refused while a server has the directory', async () => {
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
  ] as [string, (file: string, whole: Buffer) => void][])(
    'refuses %s and changes nothing',
    async (_, make) => {
      const whole = readFileSync(await backupOf('kept'));
      await store.close();
      const before = readFileSync(join(dataDir, 'mail.db'));
      const bad = join(root, 'bad.backup');
      make(bad, whole);
      expect(() => restoreBackup(bad, dataDir, Date.now())).toThrow();
      expect(readFileSync(join(dataDir, 'mail.db')).equals(before)).toBe(true);
      expect(existsSync(join(dataDir, 'mail.db.restoring'))).toBe(false);
    },
  );
});

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
