/**
 * The kinds of store that tests of the port run against: each test once for each kind, with the same assertions.
 *
 * What a kind adds to the `Store` interface is storage that outlives the process which has it open. Tests of what one
 * kind alone promises (its files, its SQL, its threads) stand in a folder of its name.
 */
import { test } from 'bun:test';

import { databaseAddress } from '../../src/store/postgres/address.ts';
import { openDatabaseSource } from '../../src/store/postgres/transfer-reading.ts';
import type { Account } from '../../src/store/rows.ts';
import { openFilesSource } from '../../src/store/sqlite/transfer-reading.ts';
import type { Store } from '../../src/store/store.ts';
import type { TransferSource } from '../../src/store/transfer.ts';
import { newAccount } from './samples.ts';
import { openPostgres } from '../../src/store/postgres/store.ts';
import { testServer } from '../rig/postgres.ts';
import { openTestStore, withDir } from './test-store.ts';

/** What stays when a store is closed. */
export interface Storage {
  /** Opens the store, one at a time; whoever opens it closes it. */
  open(): Promise<Store>;
  /** As a transfer reads it, while no store is open; whoever opens it closes it. */
  source(): Promise<TransferSource>;
}

interface StoreKind {
  name: string;
  /** Runs `body` with new, empty storage, which goes afterwards. */
  withStorage(body: (storage: Storage) => Promise<void>): Promise<void>;
}

const stores: readonly StoreKind[] = [
  {
    name: 'SQLite',
    withStorage: (body) =>
      withDir((dir) =>
        body({ open: () => openTestStore(dir), source: async () => openFilesSource(dir) }),
      ),
  },
  {
    name: 'PostgreSQL',
    async withStorage(body) {
      const url = await (await testServer()).freshDatabase();
      await body({
        open: () => openPostgres({ url, passwordFile: '', now: Date.now() }),
        source: () => openDatabaseSource(databaseAddress(url, '')),
      });
    },
  },
];

/** Opens a new, empty store of every kind at the same time, and closes them. */
export async function withAllStores(
  body: (stores: readonly Store[]) => Promise<void>,
): Promise<void> {
  const opened: Store[] = [];
  const withRest = async ([kind, ...rest]: readonly StoreKind[]): Promise<void> => {
    if (kind === undefined) return body(opened);
    await kind.withStorage(async (storage) => {
      const store = await storage.open();
      opened.push(store);
      try {
        await withRest(rest);
      } finally {
        await store.close();
      }
    });
  };
  await withRest(stores);
}

/** A test of every kind of store, which opens and closes it itself. */
export function eachStorage(
  name: string,
  body: (storage: Storage) => Promise<void>,
  timeoutMs?: number,
): void {
  for (const kind of stores)
    test(`${name} (${kind.name})`, () => kind.withStorage(body), timeoutMs);
}

/** A test of every kind of store: open and new, with an account in it. */
export function eachStore(
  name: string,
  body: (store: Store, account: Account) => Promise<void>,
  timeoutMs?: number,
): void {
  const withStore = async (storage: Storage): Promise<void> => {
    const store = await storage.open();
    try {
      const account = newAccount('default');
      await store.createAccount(account);
      await body(store, account);
    } finally {
      await store.close();
    }
  };
  eachStorage(name, withStore, timeoutMs);
}
