/**
 * Moves everything that the appliance keeps to the other kind of store: from the files of the data directory into a
 * PostgreSQL database, or back, while no server runs.
 *
 * Promises that the source stays as it is, that the target holds the same when this returns, compared table by table, and
 * that the key beside the data is the one that opens their secrets; into another directory it is copied. What a crash
 * leaves is refused by `serve` and may be begun again. Never changes the config. Fails with `OperatorError`.
 */
import { chmodSync } from 'node:fs';
import { join } from 'node:path';

import type { Config } from '../base/config.ts';
import type { Written } from '../base/config-node.ts';
import { OperatorError } from '../base/errors.ts';
import { SecretBox } from '../base/secret-box.ts';
import { lockDirectory } from '../store/directory-lock.ts';
import {
  FINGERPRINT_SETTING,
  foreignKey,
  keyIn,
  makeDataDir,
  missingKey,
  promoteKey,
  stageKey,
} from '../store/key-file.ts';
import { isDiskFull } from '../store/full-disk.ts';
import { databaseAddress } from '../store/postgres/address.ts';
import type { DatabaseAddress } from '../store/postgres/address.ts';
import { forOperator } from '../store/postgres/failures.ts';
import { openDatabaseSource } from '../store/postgres/transfer-reading.ts';
import { openDatabaseTarget } from '../store/postgres/transfer-writing.ts';
import { Indexer } from '../store/sqlite/indexer.ts';
import { openFilesSource } from '../store/sqlite/transfer-reading.ts';
import { openFilesTarget } from '../store/sqlite/transfer-writing.ts';
import { transfer } from '../store/transfer-run.ts';
import type { Carried, TransferProgress } from '../store/transfer-run.ts';
import type { TransferSource, TransferTarget } from '../store/transfer.ts';

/** Where everything is to go. */
export type Destination =
  | { kind: 'database'; url: string; passwordFile: string }
  | { kind: 'directory'; dataDir: string };

export interface Migrated {
  tables: Carried[];
  /** Keys of the config by their path, with the values that the next start needs. */
  changes: Record<string, Written>;
}

interface Job {
  config: Config;
  to: Destination;
  /** Epoch milliseconds. */
  now: number;
  report: (progress: TransferProgress | { step: 'index' }) => void;
}

/** Does all of it. Throws `OperatorError`. */
export async function migrateStore(job: Job): Promise<Migrated> {
  try {
    return await migrateAlone(job);
  } catch (error) {
    throw isDiskFull(error) ? diskFull(job.to) : forOperator(error);
  }
}

function diskFull(to: Destination): OperatorError {
  const where = to.kind === 'directory' ? to.dataDir : 'this machine';
  return new OperatorError(
    `The disk of ${where} is full`,
    'Free about as much space as the data take, and run it again. Nothing was changed on the side that was read.',
  );
}

async function migrateAlone(job: Job): Promise<Migrated> {
  const { dataDir } = job.config.startup;
  refuseSameKind(job);
  const release = lockAll(job);
  try {
    const source = await openSource(job.config);
    try {
      const key = await keyOf(dataDir, source);
      return job.to.kind === 'database'
        ? await intoDatabase(job, job.to, source)
        : await intoDirectory(job, job.to.dataDir, source, key);
    } finally {
      await source.close();
    }
  } finally {
    release();
  }
}

function refuseSameKind({ config, to }: Job): void {
  const isDatabase = config.startup.store.url !== '';
  if (isDatabase === (to.kind === 'directory')) return;
  throw new OperatorError(
    isDatabase
      ? 'The data are in a PostgreSQL database already'
      : 'The data are in files of the data directory already',
    isDatabase
      ? 'Copy a database with its own tools, such as pg_dump. Here name a directory, to go back to files.'
      : 'Copy them with postrider backup and restore. Here name the URL of a PostgreSQL database.',
  );
}

/** No server runs on the data directory, nor on the one to come. */
function lockAll({ config, to }: Job): () => void {
  const dirs = new Set([config.startup.dataDir]);
  if (to.kind === 'directory') {
    makeDataDir(to.dataDir);
    chmodSync(to.dataDir, 0o700);
    dirs.add(to.dataDir);
  }
  const locks: { release(): void }[] = [];
  const release = (): void => {
    for (const lock of locks) lock.release();
  };
  try {
    for (const dir of dirs) locks.push(lockDirectory(dir));
    return release;
  } catch (error) {
    release();
    throw error;
  }
}

async function openSource({ startup: { dataDir, store } }: Config): Promise<TransferSource> {
  if (store.url === '') return openFilesSource(dataDir);
  return openDatabaseSource(databaseAddress(store.url, store.passwordFile));
}

/** The key in `dataDir`, when it is the source's. Throws `OperatorError`. */
async function keyOf(dataDir: string, source: TransferSource): Promise<Uint8Array> {
  const fingerprint = await source.setting(FINGERPRINT_SETTING);
  if (fingerprint === null) {
    throw new OperatorError(
      'The data say nothing of their secret key: no server of this release has opened them yet',
      'Start the server once, stop it, then migrate.',
    );
  }
  const key = keyIn(dataDir);
  if (key === null) throw missingKey(dataDir);
  if (new SecretBox(key).fingerprint !== fingerprint) throw foreignKey(dataDir);
  return key;
}

/** The address that the command was given, whose faults are named as it was written there. */
function givenAddress(url: string, passwordFile: string): DatabaseAddress {
  try {
    return databaseAddress(url, passwordFile);
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    const given = (text: string): string =>
      text
        .replace('[store] url', '--to')
        .replace(/\[store\] (?=sslrootcert)/, '--to: ')
        .replace(/(?:\[store\] )?password_file/, '--password-file');
    throw new OperatorError(given(error.message), given(error.hint), error.exitCode);
  }
}

async function intoDatabase(
  { now, report }: Job,
  { url, passwordFile }: Destination & { kind: 'database' },
  source: TransferSource,
): Promise<Migrated> {
  const target = await openDatabaseTarget(givenAddress(url, passwordFile), now);
  const tables = await carried(source, target, report);
  return { tables, changes: { 'store.url': url, 'store.password_file': passwordFile } };
}

async function intoDirectory(
  { config, now, report }: Job,
  dataDir: string,
  source: TransferSource,
  key: Uint8Array,
): Promise<Migrated> {
  const beside = keyIn(dataDir);
  if (beside !== null && !Buffer.from(beside).equals(key)) {
    throw new OperatorError(
      `${join(dataDir, 'secret.key')} is another key than that of the data`,
      'Name a directory without a key, or the one that data_dir names.',
    );
  }
  const target = openFilesTarget(dataDir, now);
  if (beside === null) stageKey(dataDir, key);
  const tables = await carried(source, target, report);
  if (beside === null) promoteKey(dataDir);
  report({ step: 'index' });
  buildSearch(dataDir, now);
  const isOther = dataDir !== config.startup.dataDir;
  return {
    tables,
    changes: {
      ...(isOther && { data_dir: dataDir }),
      'store.url': '',
      'store.password_file': '',
      ...(config.startup.store.requireStandby && { 'store.require_standby': false }),
    },
  };
}

async function carried(
  source: TransferSource,
  target: TransferTarget,
  report: Job['report'],
): Promise<Carried[]> {
  try {
    return await transfer(source, target, report);
  } finally {
    await target.close();
  }
}

/** Fills the search index, which a server would else do beside its mail. */
function buildSearch(dataDir: string, now: number): void {
  const indexer = new Indexer(dataDir, now);
  try {
    while (indexer.step());
  } finally {
    indexer.close();
  }
}
