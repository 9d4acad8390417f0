/**
 * Opens the store that the config names: files in the data directory, or a PostgreSQL database.
 *
 * Promises that the data directory is this process's alone either way: the secret key and the control socket are in it.
 * Fails with `OperatorError`.
 */
import { chmodSync } from 'node:fs';

import type { Startup } from '../base/config.ts';
import type { Log } from '../base/log.ts';
import { lockDirectory } from '../store/directory-lock.ts';
import { makeDataDir } from '../store/key-file.ts';
import type { Nodes } from '../store/nodes.ts';
import type { DecodeText } from '../store/postgres/content.ts';
import type { OnCommit } from '../store/postgres/store.ts';
import { openStore as openSqlite } from '../store/sqlite/store.ts';
import type { Store } from '../store/store.ts';

interface Parts {
  /** Epoch milliseconds. */
  now: number;
  log: Log;
  onCommit: OnCommit;
  /** For long texts of a database; default: on the calling thread. */
  decodeText?: DecodeText;
}

export interface OpenedStore {
  store: Store;
  /** Null: the store is this process's alone. */
  nodes: Nodes | null;
}

/** Opens it, and makes what is missing. */
export async function openStore(
  { dataDir, store: { url, passwordFile, requireStandby } }: Pick<Startup, 'dataDir' | 'store'>,
  { now, log, onCommit, decodeText }: Parts,
): Promise<OpenedStore> {
  if (url === '') return { store: await openSqlite({ dataDir, now, log, onCommit }), nodes: null };
  const { openPostgres } = await import('../store/postgres/store.ts');
  const store = await inDirectory(dataDir, () =>
    openPostgres({
      url,
      passwordFile,
      now,
      onCommit,
      onSchemaStep: (step) => log.info('schema_step', { ...step }),
      ...(requireStandby && { requireStandby: { log } }),
      ...(decodeText && { decodeText }),
    }),
  );
  return { store, nodes: store.nodes };
}

/** The store with the lock of the directory, which goes when it closes. */
async function inDirectory<S extends Store>(dataDir: string, open: () => Promise<S>): Promise<S> {
  makeDataDir(dataDir);
  chmodSync(dataDir, 0o700);
  const lock = lockDirectory(dataDir);
  try {
    const store = await open();
    return {
      ...store,
      async close() {
        await store.close();
        lock.release();
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}
