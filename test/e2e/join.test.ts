/** `init --secret-key`: a further node on a database that others use, or nothing at all when something is wrong. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { runBinary } from '../rig/binary.ts';
import type { Run } from '../rig/binary.ts';
import { PostgresServer } from '../rig/postgres.ts';

let server: PostgresServer;
let folder: string;
let url: string;
/** The key of the first node. */
let key: Buffer;

/** `init` for a node in a folder of its own. */
function initNode(name: string, words: readonly string[]): Promise<Run> {
  return runBinary([
    'init',
    '--json',
    '--hostname',
    `${name}.example.org`,
    '--config',
    join(folder, name, 'postrider.toml'),
    '--data-dir',
    join(folder, name, 'data'),
    ...words,
  ]);
}

const keyOf = (name: string): string => join(folder, name, 'data', 'secret.key');

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'postrider-join-'));
  server = await PostgresServer.start();
  url = await server.freshDatabase();
  expect(await initNode('first', ['--store', url])).toMatchObject({ code: 0 });
  key = readFileSync(keyOf('first'));
}, 60_000);

afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

/** Refused, and nothing of it is left: neither config nor key. */
async function expectRefused(name: string, words: readonly string[], code: number, why: string) {
  const run = await initNode(name, words);
  expect(run.code).toBe(code);
  expect(run.stderr).toContain(why);
  expect(existsSync(join(folder, name, 'postrider.toml'))).toBe(false);
  expect(existsSync(keyOf(name))).toBe(false);
}

test('a node with a copy of the key joins: it gets a config and the key, the database no second account', async () => {
  const copy = join(folder, 'copied.key');
  copyFileSync(keyOf('first'), copy);
  const run = await initNode('second', ['--store', url, '--secret-key', copy]);
  expect(run.stderr).toBe('');
  expect(JSON.parse(run.stdout)).toEqual({
    config: join(folder, 'second', 'postrider.toml'),
    data_dir: join(folder, 'second', 'data'),
    accounts: 1,
  });
  expect(readFileSync(keyOf('second')).equals(key)).toBe(true);
  expect(statSync(keyOf('second')).mode & 0o777).toBe(0o600);
  expect(readFileSync(join(folder, 'second', 'postrider.toml'), 'utf8')).toContain(url);
});

test('without the key, with another one, or with a damaged one nothing is made', async () => {
  await expectRefused('third', ['--store', url], 78, 'copy secret.key');
  const other = join(folder, 'other.key');
  writeFileSync(other, Buffer.alloc(32, 7), { mode: 0o600 });
  const withKey = (file: string): string[] => ['--store', url, '--secret-key', file];
  await expectRefused('fourth', withKey(other), 78, 'is not the key of the database');
  writeFileSync(other, 'short');
  await expectRefused('fifth', withKey(other), 78, 'has 5 bytes, not 32');
  await expectRefused('sixth', withKey(join(folder, 'none')), 78, 'does not exist');
});

test('there is nothing to join in an empty database: the first node can still be made there', async () => {
  const empty = await server.freshDatabase();
  const copy = keyOf('first');
  await expectRefused('seventh', ['--store', empty, '--secret-key', copy], 1, 'database is empty');
  expect(await initNode('seventh', ['--store', empty])).toMatchObject({ code: 0 });
});

test('a node in files has nobody to join', async () => {
  await expectRefused('eighth', ['--secret-key', keyOf('first')], 64, '--store');
});
