/**
 * A store on SQLite, in a directory that goes afterwards: for tests of its files, and for tests of the floors above.
 *
 * Tests of the port, which must hold for any kind of store, open theirs through `stores.ts`.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Log } from '../../src/base/log.ts';
import type { Account } from '../../src/store/rows.ts';
import { openStore } from '../../src/store/sqlite/store.ts';
import type { Store } from '../../src/store/store.ts';
import { newAccount } from './samples.ts';

const QUIET: Log = { info() {}, warn() {}, error() {} };

/** Opens (and makes, when new) the store in `dataDir`. */
export function openTestStore(dataDir: string, log: Log = QUIET): Promise<Store> {
  return openStore({ dataDir, now: Date.now(), log });
}

/** Runs `body` with a new directory, removed afterwards. */
export async function withDir<T>(body: (dir: string) => Promise<T> | T): Promise<T> {
  const dir = mkdtempSync(join(tmpdir(), 'postrider-store-'));
  try {
    return await body(dir);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Runs `body` with a new store and an account in it. */
export function withStore(
  body: (store: Store, account: Account, dir: string) => Promise<void>,
): Promise<void> {
  return withDir(async (dir) => {
    const store = await openTestStore(dir);
    try {
      const account = newAccount('default');
      await store.createAccount(account);
      await body(store, account, dir);
    } finally {
      await store.close();
    }
  });
}
