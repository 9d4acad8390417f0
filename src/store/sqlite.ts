/**
 * The store on SQLite: two files in the data directory, one writer thread, reads on the caller's thread.
 *
 * Promises what `store.ts` promises. Opening takes the directory's lock, brings both files to the newest
 * schema and checks that the settings which durability rests on are in force. Fails with `OperatorError`.
 */
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { BackgroundClient } from './background-client.ts';
import { openForReading } from './database.ts';
import { SEARCH_FILE } from './indexer.ts';
import { makeDataDir } from './key-file.ts';
import { lockDirectory } from './lock.ts';
import { purges } from './purges.ts';
import { accountReads } from './read-accounts.ts';
import { retryCounter } from './read-retry.ts';
import { emailLists } from './read-emails.ts';
import { logReads } from './read-logs.ts';
import { messageReads } from './read-messages.ts';
import { accountsWithEndpoints, queueReads } from './read-queue.ts';
import { suppressionReads } from './read-suppressions.ts';
import type { Store } from './store.ts';
import { WRITE_NAMES } from './verbs.ts';
import type { Reads, WriteName } from './verbs.ts';
import { WriterClient } from './writer-client.ts';
import type { OnCommit } from './writer-client.ts';

export interface StoreOptions {
  dataDir: string;
  clock: Clock;
  log: Log;
  /** Hears how long each durable commit took. */
  onCommit?: OnCommit;
}

/** Rows of one step of a long write: it holds the writer for some milliseconds. */
const ROWS_PER_STEP = 1000;

/** Opens (and makes, when new) the store in `dataDir`. Throws `OperatorError`. */
export async function openStore({
  dataDir,
  clock,
  log,
  onCommit = () => undefined,
}: StoreOptions): Promise<Store> {
  makeDataDir(dataDir);
  chmodSync(dataDir, 0o700);
  const lock = lockDirectory(dataDir);
  const writer = new WriterClient(log, onCommit);
  // Both threads start at the same time; the second opens what the first has made.
  const background = new BackgroundClient(log);
  try {
    await writer.open(dataDir, clock.now());
    await background.open(dataDir, clock.now());
  } catch (error) {
    background.abandon();
    writer.abandon();
    lock.release();
    throw error;
  }
  const mail = openForReading(join(dataDir, 'mail.db'));
  const logs = openForReading(join(dataDir, 'log.db'));
  const search = openForReading(join(dataDir, SEARCH_FILE));
  const reads: Reads = { ...accountReads(mail), ...messageReads(mail), ...queueReads(mail) };
  const countRetried = retryCounter(mail);
  const writes = writing(writer);
  const withEndpoints = new Set(accountsWithEndpoints(mail));

  return {
    ...promised(reads),
    ...writes,
    ...emailLists(mail, search),
    ...suppressionReads(mail, search),
    ...logReads(logs, search),
    async accept(batch) {
      const result = await writes.accept(batch);
      background.noteRows();
      return result;
    },
    async addSuppression(row) {
      const kept = await writes.addSuppression(row);
      background.noteRows();
      return kept;
    },
    async finish(result) {
      const finished = await writes.finish(result);
      if (result.suppress !== null) background.noteRows();
      return finished;
    },
    createEndpoint(endpoint, maxEndpoints) {
      // Before it is written: what happens from now on may come to the writer behind it.
      withEndpoints.add(endpoint.accountId);
      return writes.createEndpoint(endpoint, maxEndpoints);
    },
    mayHaveEndpoints: (accountId) => withEndpoints.has(accountId),
    backUpTo: (file) => background.backUp(dataDir, file),
    begin: (attempts) => writer.write('begin', attempts, clock.now()),
    beginCalls: (calls) => writer.write('beginCalls', calls, clock.now()),
    async addSuppressions(rows) {
      let added = 0;
      for (let at = 0; at < rows.length; at += ROWS_PER_STEP) {
        added += await writer.write('addSuppressions', rows.slice(at, at + ROWS_PER_STEP));
      }
      background.noteRows();
      return added;
    },
    async retryNow(target, now) {
      const total = countRetried(target, now);
      for (;;) {
        const changed = await writer.write('retrySome', target, now, ROWS_PER_STEP);
        if (changed < ROWS_PER_STEP) return total;
      }
    },
    async appendLogs(records) {
      await writer.writeLog('appendLogs', records);
      background.noteRows();
    },
    ...purges(writer),
    async close() {
      // Readers first: an open reader keeps the last checkpoint from emptying the WAL.
      for (const db of [mail, logs, search]) db.close();
      await background.close();
      await writer.close();
      lock.release();
    },
  };
}

type Promised<T> = {
  [K in keyof T]: T[K] extends (...args: infer A) => infer R ? (...args: A) => Promise<R> : never;
};

/** The same reads behind promises: an error of a read rejects, as another store's would. */
function promised(reads: Reads): Promised<Reads> {
  const entries = Object.entries(reads).map(([name, read]) => {
    const call = read as (...args: unknown[]) => unknown;
    return [name, async (...args: unknown[]) => call(...args)] as const;
  });
  return Object.fromEntries(entries) as Promised<Reads>;
}

function writing(writer: WriterClient): Pick<Store, WriteName> {
  const entries = WRITE_NAMES.map(
    (name) => [name, (...args: unknown[]) => writer.perform({ name, args })] as const,
  );
  return Object.fromEntries(entries) as unknown as Pick<Store, WriteName>;
}
