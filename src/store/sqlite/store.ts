/**
 * The store on SQLite: three files in the data directory, one writer thread, one background thread, reads of single rows
 * on the caller's thread.
 *
 * A write goes to the writer (`writer-client.ts`), which gathers what waits into one commit (`write-queue.ts`,
 * `group-commit.ts`) and reports it after the commit is on disk. Reads (`../sql/`, which other engines share, and
 * SQLite's own, `read-….ts`) see every such commit, since all connections share the files in WAL mode; those whose time
 * may grow with the data run on the background thread (`long-reads.ts`). `mail.db` holds the mail and is synced at every
 * commit; `log.db` holds the request log and may lose its last rows with the power; `search.db` holds the substring
 * index, can be rebuilt from the others and is brought up to date on the background thread. A backup has a thread of its
 * own while it lasts.
 *
 * Promises what `store.ts` above promises: a crash at any moment leaves whole commits. Opening takes the directory's
 * lock, brings the files to the newest schema and checks that the settings which durability rests on are in force.
 * Fails with `OperatorError`.
 */
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from 'bun:sqlite';
import type { Log } from '../../base/log.ts';
import { lockDirectory } from '../directory-lock.ts';
import { makeDataDir } from '../key-file.ts';
import { wholeOf } from '../parts.ts';
import type { Store } from '../store.ts';
import { accountReads } from '../sql/accounts.ts';
import { dkimKeyReads, domainReads } from '../sql/domains.ts';
import { messageReads } from '../sql/messages.ts';
import { operatorReads } from '../sql/people.ts';
import { logReads } from '../sql/request-logs.ts';
import { settingReads } from '../sql/settings.ts';
import { suppressionReads } from '../sql/suppressions.ts';
import { endpointReads, messageCallReads } from '../sql/webhooks.ts';
import { BackgroundClient } from './background-client.ts';
import { openForReading } from './database.ts';
import { accountDeletions } from './account-deletion.ts';
import { erasures } from './erasure.ts';
import { KeptStatements } from './kept-statements.ts';
import type { LongReads } from './long-reads.ts';
import { HARM_KEPT_MS, OUTCOMES_KEPT_MS, purges } from './purges.ts';
import { contentReads, deliveryReads } from './read-messages.ts';
import type { DeliveryVerbs } from './read-messages.ts';
import { dueReads } from './read-queue.ts';
import { dueCallReads } from './read-webhooks.ts';
import { startRecounting } from './recounting.ts';
import { takingDue } from '../take-due.ts';
import { refuseHalfTransfer } from './transfer-writing.ts';
import { WriterClient } from './writer-client.ts';
import type { OnCommit } from './writer-client.ts';
import { oneStepWrites, retrySteps, suppressionSteps } from './writes.ts';

export interface StoreOptions {
  dataDir: string;
  /** Epoch milliseconds: when a step of the schema's history is recorded as applied. */
  now: number;
  log: Log;
  /** Hears how long each durable commit took. */
  onCommit?: OnCommit;
}

interface Files {
  mail: Database;
  logs: Database;
}

type ContentOfStore = Pick<Store, 'body' | 'listedBody' | 'messageForDelivery'>;

interface Threads {
  writer: WriterClient;
  background: BackgroundClient;
}

/** Opens (and makes, when new) the store in `dataDir`. Throws `OperatorError`. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { dataDir } = options;
  makeDataDir(dataDir);
  chmodSync(dataDir, 0o700);
  const lock = lockDirectory(dataDir);
  const threads = await startThreads(options).catch((error: unknown) => {
    lock.release();
    throw error;
  });
  const files: Files = {
    mail: openForReading(join(dataDir, 'mail.db')),
    logs: openForReading(join(dataDir, 'log.db')),
  };
  const oldest = {
    outcomes: options.now - OUTCOMES_KEPT_MS,
    harm: options.now - HARM_KEPT_MS,
  };
  const recounting = startRecounting(files.mail, threads.writer, options.log, oldest);
  const { dueRows, ...reads } = readsOf(files);
  const {
    dueRows: longDueRows,
    body,
    listedBody,
    messageForDelivery,
    domains,
    ...longReads
  } = threads.background.reads();
  return {
    ...reads,
    ...longReads,
    ...contentBySize(
      { ...reads, ...deliveryReads(files.mail) },
      { body, listedBody, messageForDelivery },
    ),
    ...inPartsAcross({ domains }),
    ...writesOf(threads),
    ...takingDue({
      // For one destination it passes over all that is due for others.
      dueRows: (request) => (request.of === undefined ? dueRows : longDueRows)(request),
      takeStep: (...of) => threads.writer.write('takeStep', ...of),
    }),
    backUpTo: (file, tell = () => undefined) => threads.background.backUp(dataDir, file, tell),
    databaseState: () => Promise.resolve(null),
    // Its directory is locked: nobody else changes what this process remembers.
    revision: () => Promise.resolve(null),
    storeTime: () => Promise.resolve(null),
    exchangeTakes: () => Promise.resolve(null),
    takeJob: () => Promise.resolve(true),
    endJob: () => Promise.resolve(),
    async close() {
      await recounting.stop();
      // Readers first: an open reader keeps the last checkpoint from emptying the WAL.
      for (const db of [files.mail, files.logs]) db.close();
      await threads.background.close();
      await threads.writer.close();
      lock.release();
    },
  };
}

async function startThreads({
  dataDir,
  now,
  log,
  onCommit = () => undefined,
}: StoreOptions): Promise<Threads> {
  refuseHalfTransfer(dataDir);
  const writer = new WriterClient(log, onCommit);
  // Both threads start at the same time; the second opens what the first has made.
  const background = new BackgroundClient(log);
  try {
    await writer.open(dataDir, now);
    await background.open(dataDir, now);
    return { writer, background };
  } catch (error) {
    background.abandon();
    writer.abandon();
    throw error;
  }
}

function readsOf({ mail, logs }: Files) {
  const sql = new KeptStatements(mail);
  return {
    ...accountReads(sql),
    ...domainReads(sql),
    ...dkimKeyReads(sql),
    ...messageReads(sql),
    ...endpointReads(sql),
    ...messageCallReads(sql),
    ...operatorReads(sql),
    ...settingReads(sql),
    ...suppressionReads(sql),
    ...logReads(new KeptStatements(logs)),
    ...contentReads(mail),
    ...dueReads(mail),
    ...dueCallReads(mail),
  };
}

/** A whole list crosses threads in parts: as one it would take long to arrive. */
function inPartsAcross({ domains }: Pick<LongReads, 'domains'>): Pick<Store, 'domains'> {
  return {
    domains: (accountId, part) =>
      part === undefined ? wholeOf((one) => domains(accountId, one)) : domains(accountId, part),
  };
}

/** Large content is read on the background thread: to make 13 MB of text of a row can take a tenth of a second. */
function contentBySize(
  here: Pick<Store, 'body' | 'listedBody'> & Pick<DeliveryVerbs, 'deliveryBelow'>,
  there: ContentOfStore,
): ContentOfStore {
  return {
    async messageForDelivery(id, largeFrom = Infinity) {
      const found = here.deliveryBelow(id, largeFrom);
      return found === 'large' ? there.messageForDelivery(id) : found;
    },
    body: (accountId, id, isLarge = false) => (isLarge ? there : here).body(accountId, id),
    listedBody: (accountId, id, isLarge = false) =>
      (isLarge ? there : here).listedBody(accountId, id),
  };
}

/** What adds searched rows tells the index of them. */
function writesOf({ writer, background }: Threads) {
  const writes = { ...oneStepWrites(writer), ...suppressionSteps(writer) };
  const added = <T>(result: T): T => {
    background.noteRows();
    return result;
  };
  const changes: Pick<
    Store,
    'accept' | 'finish' | 'addSuppression' | 'addSuppressions' | 'appendLogs'
  > = {
    accept: async (batch) => added(await writes.accept(batch)),
    async finish(result, mayWait = false) {
      const finished = mayWait
        ? await writer.writeWithNext('finish', result)
        : await writes.finish(result);
      return result.suppress === null ? finished : added(finished);
    },
    addSuppression: async (row) => added(await writes.addSuppression(row)),
    addSuppressions: async (rows) => added(await writes.addSuppressions(rows)),
    appendLogs: async (records) => added(await writer.writeLog('appendLogs', records)),
  };
  return {
    ...writes,
    ...changes,
    ...retrySteps(writer, (target, now) => background.reads().retryCount(target, now)),
    ...purges(writer),
    ...erasures(writer),
    ...accountDeletions(writer),
  };
}
