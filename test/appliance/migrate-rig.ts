/** Data directories with rows of every kind, and migrations of them, for the tests of `migrateStore`. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { migrateStore } from '../../src/appliance/migrate.ts';
import type { Destination, Migrated } from '../../src/appliance/migrate.ts';
import { parseConfig } from '../../src/base/config-file.ts';
import { unlock } from '../../src/flow/data-key.ts';
import { openPostgres } from '../../src/store/postgres/store.ts';
import type { TransferProgress } from '../../src/store/transfer-run.ts';
import type { Account } from '../../src/store/rows.ts';
import type { Store } from '../../src/store/store.ts';
import { furnish } from '../store/furnished-account.ts';
import {
  accepted,
  batchOf,
  newAccount,
  newLogRecord,
  newMessage,
  newSuppression,
} from '../store/samples.ts';
import { openTestStore } from '../store/test-store.ts';

export const NOW = Date.now();
const made: string[] = [];

/** Removes the directories that tests were given. */
export function removeDirs(): void {
  for (const dir of made.splice(0)) rmSync(dir, { recursive: true, force: true });
}

export function newDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'postrider-migrate-'));
  made.push(dir);
  return dir;
}

export function run(
  dataDir: string,
  url: string,
  to: Destination,
  report: (progress: TransferProgress | object) => void = () => undefined,
  storeSettings = '',
): Promise<Migrated> {
  const text = `hostname = "mail.example.com"\ndata_dir = "${dataDir}"\n[store]\nurl = "${url}"\n${storeSettings}`;
  return migrateStore({ config: parseConfig(text, 'test.toml'), to, now: NOW, report });
}

export const toDatabase = (url: string): Destination => ({
  kind: 'database',
  url,
  passwordFile: '',
});
export const toDirectory = (dataDir: string): Destination => ({ kind: 'directory', dataDir });

export const openDatabase = (url: string): Promise<Store> =>
  openPostgres({ url, passwordFile: '', now: NOW });

/** The exit code and the words that it ends with. */
export const refusal = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'it was not refused',
    (error: Error & { exitCode?: number }) => `${error.exitCode ?? 'fault'} ${error.message}`,
  );

/** What makes a line hard to write and to read. */
export const HARD = 'tab\there, line\nthere, \\N, \\, \b\f\r\v, "quoted", ümläut, 🐎, \u0001';

/** A row of every kind for two accounts, and content that is hard to carry. */
export async function fill(store: Store): Promise<Account[]> {
  const accounts = [newAccount('one'), newAccount('two')];
  for (const account of accounts) {
    await store.createAccount(account);
    await furnish(store, account);
    const hard = newMessage(account.id, { subject: HARD, failureReason: HARD });
    await store.accept({
      ...batchOf(account.id, {
        ...hard,
        body: {
          html: `<p>${HARD}\0${HARD}</p>`,
          text: '',
          headers: [['X-Hard', HARD]],
          raw: Buffer.from(Array.from({ length: 512 }, (_, at) => at % 256)),
          attachments: [
            {
              filename: HARD,
              contentType: 'a/b',
              contentId: null,
              content: Buffer.alloc(600_000, 7),
            },
            { filename: 'empty', contentType: 'a/b', contentId: 'c', content: Buffer.alloc(0) },
          ],
        },
      }),
    });
    await accepted(store, newMessage(account.id, { isSandbox: true }));
    await store.appendLogs([newLogRecord(account.id, { path: `/emails?${HARD}` })]);
    await store.addSuppression(newSuppression(account.id, 'back@x.example'));
    await store.addSuppression(newSuppression(account.id, 'again@x.example'));
    // Harm, by a message of the account.
    const { id } = hard.message;
    await store.addSuppression({
      ...newSuppression(account.id, 'harm@x.example'),
      reason: 'complaint',
      source: id,
    });
    await store.addAudit({
      at: NOW,
      via: 'command',
      who: HARD,
      action: 'account.create',
      target: account.name,
      accountId: account.id,
      address: null,
    });
  }
  return accounts;
}

/** A data directory with all of that, and its accounts. */
export async function filledDirectory(): Promise<{ dir: string; accounts: Account[] }> {
  const dir = newDir();
  const store = await openTestStore(dir);
  await unlock(dir, store);
  const accounts = await fill(store);
  await store.close();
  return { dir, accounts };
}

export const hashes = ({ tables }: Migrated): Record<string, string> =>
  Object.fromEntries(tables.map(({ table, rows, sha256 }) => [table, `${rows} ${sha256}`]));
