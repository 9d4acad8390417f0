/** What a migration hands to each side, and the search index that it leaves in a directory. */
import { afterAll, afterEach, beforeAll, expect, jest, spyOn, test } from 'bun:test';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { unlock } from '../../src/flow/data-key.ts';
import { lockDirectory } from '../../src/store/directory-lock.ts';
import * as databaseReading from '../../src/store/postgres/transfer-reading.ts';
import * as databaseWriting from '../../src/store/postgres/transfer-writing.ts';
import { Indexer } from '../../src/store/sqlite/indexer.ts';
import * as filesReading from '../../src/store/sqlite/transfer-reading.ts';
import * as filesWriting from '../../src/store/sqlite/transfer-writing.ts';
import * as transferring from '../../src/store/transfer-run.ts';
import { openTestStore } from '../store/test-store.ts';
import { NOW, newDir, refusal, removeDirs, run, toDirectory } from './migrate-rig.ts';

/** A data directory without a row. */
let dir: string;
let fingerprint: string | null;
beforeAll(async () => {
  dir = newDir();
  const store = await openTestStore(dir);
  await unlock(dir, store);
  fingerprint = await store.setting('key_fingerprint');
  await store.close();
});
afterAll(removeDirs);
afterEach(() => jest.restoreAllMocks());

const URL = 'postgres://me@db.example/mail?sslmode=disable';

const ADDRESS = {
  hosts: [{ hostname: 'db.example', port: 5432 }],
  database: 'mail',
  username: 'me',
  password: 'opens',
  tls: false,
};

/** What is called of both sides, in order, where no side is there; `fault`: of the transfer. */
function sides(fault: Error | null = null) {
  const called: unknown[] = [];
  const ended = (name: string) => async () => {
    await new Promise((resolve) => setImmediate(resolve));
    called.push(`${name} closed`);
  };
  const source = { setting: async () => fingerprint, close: ended('source') };
  const target = { close: ended('target') };
  const open = (module: object, name: string, side: object): void => {
    const spied = module as Record<string, (...args: unknown[]) => unknown>;
    spyOn(spied, name).mockImplementation((...args) => {
      called.push([name, ...args]);
      return side;
    });
  };
  open(databaseReading, 'openDatabaseSource', source);
  open(filesReading, 'openFilesSource', source);
  open(databaseWriting, 'openDatabaseTarget', target);
  open(filesWriting, 'openFilesTarget', target);
  spyOn(transferring, 'transfer').mockImplementation(async (from, to) => {
    called.push([from === (source as unknown), to === (target as unknown)]);
    if (fault !== null) throw fault;
    return [];
  });
  return called;
}

function passwordFile(): string {
  const file = join(newDir(), 'password');
  writeFileSync(file, 'opens', { mode: 0o600 });
  return file;
}

test('a database that is written to has the address and the password that were given, and the time', async () => {
  const called = sides();
  const file = passwordFile();
  const done = await run(dir, '', { kind: 'database', url: URL, passwordFile: file });
  expect(called).toEqual([
    ['openFilesSource', dir],
    ['openDatabaseTarget', ADDRESS, NOW],
    [true, true],
    'target closed',
    'source closed',
  ]);
  expect(done).toEqual({
    tables: [],
    changes: { 'store.url': URL, 'store.password_file': file },
  });
});

test('a database that is read is the one of the config; both sides are closed and free when it fails', async () => {
  const called = sides(new Error('the power goes'));
  const target = newDir();
  const settings = `password_file = "${passwordFile()}"\n`;
  const job = run(dir, URL, toDirectory(target), () => undefined, settings);
  expect(await refusal(job)).toBe('fault the power goes');
  expect(called).toEqual([
    ['openDatabaseSource', ADDRESS],
    ['openFilesTarget', target, NOW],
    [true, true],
    'target closed',
    'source closed',
  ]);
  for (const one of [dir, target]) lockDirectory(one).release();
  expect(existsSync(join(target, 'secret.key'))).toBe(false);
});

test('the search index of a directory is built to its end before the server starts', async () => {
  sides();
  const target = newDir();
  await (await openTestStore(target)).close();
  const told: unknown[] = [];
  const order: unknown[] = [];
  const { step, close } = Indexer.prototype as { step: () => boolean; close: () => void };
  spyOn(Indexer.prototype, 'step').mockImplementation(function (this: Indexer) {
    const isMore = step.call(this);
    order.push(isMore);
    return isMore;
  });
  spyOn(Indexer.prototype, 'close').mockImplementation(function (this: Indexer) {
    close.call(this);
    order.push('closed');
  });
  await run(dir, URL, toDirectory(target), (progress) => void told.push(progress));
  expect(told).toEqual([{ step: 'index' }]);
  expect([order.slice(-2), new Set(order.slice(0, -2))]).toEqual([
    [false, 'closed'],
    new Set([true]),
  ]);
  expect([existsSync(join(target, 'search.db')), readFileSync(join(target, 'secret.key'))]).toEqual(
    [true, readFileSync(join(dir, 'secret.key'))],
  );
});
