/** What a migration that is refused says, whole: what is wrong, what to do, and the exit code; and what it leaves. */
import { afterAll, afterEach, beforeAll, expect, jest, spyOn, test } from 'bun:test';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { OperatorError } from '../../src/base/errors.ts';
import { unlock } from '../../src/flow/data-key.ts';
import { lockDirectory } from '../../src/store/directory-lock.ts';
import * as transferring from '../../src/store/transfer-run.ts';
import { testServer } from '../rig/postgres.ts';
import { openTestStore } from '../store/test-store.ts';
import { newDir, openDatabase, removeDirs, run, toDatabase, toDirectory } from './migrate-rig.ts';

/** A data directory without a row, and an empty database. */
let dir: string;
let url: string;
beforeAll(async () => {
  dir = newDir();
  const store = await openTestStore(dir);
  await unlock(dir, store);
  await store.close();
  url = await (await testServer()).freshDatabase();
}, 60_000);
afterAll(removeDirs);
afterEach(() => jest.restoreAllMocks());

/** Message, hint and exit code, with DIR for the data directory. */
async function refusal(work: Promise<unknown>): Promise<unknown[]> {
  const error: unknown = await work.catch((caught: unknown) => caught);
  if (!(error instanceof OperatorError)) throw new Error('no refusal', { cause: error });
  const shown = (text: string): string => text.replaceAll(dir, 'DIR');
  return [shown(error.message), shown(error.hint), error.exitCode];
}

test('to the kind of store that the data are in already', async () => {
  expect(await refusal(run(dir, '', toDirectory(newDir())))).toEqual([
    'The data are in files of the data directory already',
    'Copy them with postrider backup and restore. Here name the URL of a PostgreSQL database.',
    1,
  ]);
  expect(await refusal(run(dir, url, toDatabase(url)))).toEqual([
    'The data are in a PostgreSQL database already',
    'Copy a database with its own tools, such as pg_dump. Here name a directory, to go back to files.',
    1,
  ]);
});

const WRITE =
  'Write it as postgres://USER@HOST:5432,HOST2:5432/DATABASE?sslmode=verify-full and put the password into --password-file.';
const CHECK = 'Check the path and the mode of the file.';
const NO_FILE = "cannot be read: ENOENT: no such file or directory, open '/none'";

test.each<[string, string, string, string]>([
  ['postgres://db/mail', '', '--to is not the URL of a database', WRITE],
  ['postgres://x@db:port/mail', '', '--to: "db:port" is not a host with a port', WRITE],
  [
    'postgres://x@db/mail?sslmode=prefer',
    '',
    '--to: sslmode=prefer is not supported',
    'Use verify-full, verify-ca, or disable on a network that nobody else can reach.',
  ],
  ['postgres://x@db/mail', '/none', `--password-file ${NO_FILE}`, CHECK],
  ['postgres://x@db/mail?sslrootcert=/none', '', `--to: sslrootcert ${NO_FILE}`, CHECK],
])('to %s with the password in %p', async (to, passwordFile, message, hint) => {
  const job = run(dir, '', { kind: 'database', url: to, passwordFile });
  expect(await refusal(job)).toEqual([message, hint, 1]);
});

test('without a word of the key in the data, without the key, and with another one', async () => {
  const fresh = newDir();
  await (await openTestStore(fresh)).close();
  expect(await refusal(run(fresh, '', toDatabase(url)))).toEqual([
    'The data say nothing of their secret key: no server of this release has opened them yet',
    'Start the server once, stop it, then migrate.',
    1,
  ]);
  const store = await openTestStore(fresh);
  await unlock(fresh, store);
  await store.close();
  const key = join(fresh, 'secret.key');
  const back =
    'Bring the key back: copy secret.key from a copy of the data directory or from another node, or run `postrider restore --key-only FILE` with a backup, which holds it. A new key cannot open the secrets in the database.';
  rmSync(key);
  expect(await refusal(run(fresh, '', toDatabase(url)))).toEqual([
    `${key} is missing, and the database beside it holds secrets that only this key opens.`,
    back,
    78,
  ]);
  writeFileSync(key, Buffer.alloc(32), { mode: 0o600 });
  expect(await refusal(run(fresh, '', toDatabase(url)))).toEqual([
    `${key} is not the key of the database beside it: another key, or damaged.`,
    back,
    78,
  ]);
});

test('on a full disk it says whose, and what was read is as it was', async () => {
  const full = Object.assign(new Error('no space'), { code: 'ENOSPC' });
  spyOn(transferring, 'transfer').mockRejectedValue(full);
  const hint =
    'Free about as much space as the data take, and run it again. Nothing was changed on the side that was read.';
  expect(await refusal(run(dir, '', toDatabase(url)))).toEqual([
    'The disk of this machine is full',
    hint,
    1,
  ]);
  const source = await (await testServer()).freshDatabase();
  const [keys, target] = [newDir(), newDir()];
  const store = await openDatabase(source);
  await unlock(keys, store);
  await store.close();
  expect(await refusal(run(keys, source, toDirectory(target)))).toEqual([
    `The disk of ${target} is full`,
    hint,
    1,
  ]);
  // Both are free again, the key is staged and not yet the directory's.
  for (const one of [dir, keys, target]) lockDirectory(one).release();
  expect(readdirSync(target).filter((name) => name.startsWith('secret'))).toEqual([
    'secret.key.next',
  ]);
  writeFileSync(join(target, 'secret.key'), Buffer.alloc(32), { mode: 0o600 });
  expect(await refusal(run(keys, source, toDirectory(target)))).toEqual([
    `${join(target, 'secret.key')} is another key than that of the data`,
    'Name a directory without a key, or the one that data_dir names.',
    1,
  ]);
}, 60_000);

test('beside a server on the target, whose directory is for its owner alone from then on', async () => {
  const target = newDir();
  mkdirSync(join(target, 'data'), { mode: 0o755 });
  const lock = lockDirectory(join(target, 'data'));
  const [message, hint, code] = await refusal(run(dir, url, toDirectory(join(target, 'data'))));
  lock.release();
  expect([message, hint, code]).toEqual([
    `another process (pid ${process.pid}) uses the data directory ${join(target, 'data')}`,
    'Stop the running server first, or give this one a data_dir of its own.',
    1,
  ]);
  expect(statSync(join(target, 'data')).mode & 0o777).toBe(0o700);
  lockDirectory(dir).release();
  expect(existsSync(join(target, 'data', 'mail.db'))).toBe(false);
});
