/**
 * `init` on a PostgreSQL database: the first node, a further one with a copy of its key, and what each failure says and
 * leaves behind.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import { loadConfig } from '../../src/base/config-file.ts';
import { testServer } from '../rig/postgres.ts';
import { Console } from './console.ts';

let url: string;
let first: Console;
/** A copy of the first node's key. */
let copy: string;

beforeAll(async () => {
  url = await (await testServer()).freshDatabase();
  first = new Console();
  const made = await first.init('--store', url);
  expect([made.code, made.err]).toEqual([0, '']);
  copy = join(first.folder, 'copied.key');
  copyFileSync(join(first.dataDir, 'secret.key'), copy);
}, 30_000);
afterAll(() => first.close());

/** What `init` with these words says in a console of its own, with `DIR` as its folder, and what is there afterwards. */
async function initElsewhere(words: string[], before: (one: Console) => void = () => undefined) {
  const one = new Console();
  try {
    before(one);
    const { code, out, err } = await one.init(...words);
    const there = [one.config, join(one.dataDir, 'secret.key')].map((path) => existsSync(path));
    const shown = (text: string): string => text.replaceAll(one.folder, 'DIR');
    return { code, out: shown(out), err: shown(err).replaceAll(first.folder, 'FIRST'), there };
  } finally {
    one.close();
  }
}

test('a further node gets config and key, and says how many accounts it serves', async () => {
  const second = new Console();
  const shown = await initElsewhere(['--store', url, '--secret-key', copy]);
  expect(shown).toEqual({
    code: 0,
    out: [
      'config                    DIR/etc/postrider.toml',
      'data directory            DIR/data',
      'accounts in the database  1',
      '',
      'The node has joined. Set [cluster] name in its config as on the other nodes.',
      'Next: postrider serve --config DIR/etc/postrider.toml',
      '',
    ].join('\n'),
    err: '',
    there: [true, true],
  });
  await first.run('account', 'create', 'second');
  const passwordFile = join(second.folder, 'password');
  writeFileSync(passwordFile, '', { mode: 0o600 });
  const words = ['--store', url, '--password-file', passwordFile, '--secret-key', copy];
  const done = await second.init(...words, '--json');
  const paths = { config: second.config, data_dir: second.dataDir };
  expect([done.err, done.code, JSON.parse(done.out)]).toEqual(['', 0, { ...paths, accounts: 2 }]);
  const key = join(second.dataDir, 'secret.key');
  expect(readFileSync(key)).toEqual(readFileSync(copy));
  expect(statSync(key).mode & 0o777).toBe(0o600);
  const { store } = loadConfig(second.config).startup;
  expect(store).toMatchObject({ url, passwordFile });
  expect(await second.json('account', 'list')).toMatchObject([
    0,
    [{ name: 'default' }, { name: 'second' }],
  ]);
  second.close();
}, 60_000);

const BACK =
  'Bring the key back: copy secret.key from a copy of the data directory or from another node, or run `postrider restore --key-only FILE` with a backup, which holds it. A new key cannot open the secrets in the database.';

test('a key that is another, damaged or open to others ends it, and config and key are gone', async () => {
  const refusedWith = async (key: string): Promise<unknown> =>
    await initElsewhere(['--store', url, '--secret-key', key]);
  const refusal = (code: number, ...lines: string[]): unknown => ({
    code,
    out: '',
    err: `${lines.join('\n')}\n`,
    there: [false, false],
  });
  const other = join(first.folder, 'other.key');
  writeFileSync(other, Buffer.alloc(32, 7), { mode: 0o600 });
  expect(await refusedWith(other)).toEqual(
    refusal(
      78,
      'DIR/data/secret.key is not the key of the database beside it: another key, or damaged.',
      BACK,
    ),
  );
  writeFileSync(other, Buffer.alloc(31));
  const damaged = `The file is damaged. ${BACK}`;
  expect(await refusedWith(other)).toEqual(
    refusal(78, 'FIRST/other.key has 31 bytes, not 32', damaged),
  );
  const open = join(first.folder, 'open.key');
  writeFileSync(open, Buffer.alloc(32), { mode: 0o640 });
  expect(await refusedWith(open)).toEqual(
    refusal(
      1,
      'FIRST/open.key may be read by other users',
      `Run: chmod 600 FIRST/open.key. If someone may have read it, rotate DKIM keys and webhook secrets.`,
    ),
  );
  expect(await refusedWith(join(first.folder, 'none'))).toEqual(
    refusal(78, 'FIRST/none does not exist', 'Name a copy of secret.key.'),
  );
});

test('an empty database has nobody to join, and is good for a first node then', async () => {
  const empty = await (await testServer()).freshDatabase();
  expect(await initElsewhere(['--store', empty, '--secret-key', copy])).toEqual({
    code: 1,
    out: '',
    err: 'The database is empty: there are no nodes to join.\nRun init without --secret-key to make the first node.\n',
    there: [false, false],
  });
  expect(await initElsewhere(['--store', empty])).toMatchObject({ code: 0, there: [true, true] });
  // It holds the secrets of that one now, and a node without its key is refused.
  const late = await initElsewhere(['--store', empty]);
  expect(late).toMatchObject({ code: 78, out: '', there: [false, false] });
}, 60_000);

test('a database that refuses is told, and nothing is left behind', async () => {
  const none = url.replace(/\/[^/]*$/, '/none');
  for (const words of [[], ['--secret-key', copy]]) {
    expect(await initElsewhere(['--store', none, ...words])).toEqual({
      code: 1,
      out: '',
      err: 'The database cannot be used: database "none" does not exist\nCheck role, password and database in [store]. The role needs the right to create tables and the extensions pg_trgm and btree_gin (package postgresql-contrib).\n',
      there: [false, false],
    });
  }
});

test('what is there already is never replaced, and who joins must say what', async () => {
  const exists = (path: string): unknown => ({
    code: 1,
    out: '',
    err: `${path} exists already, and init never overwrites.\nStart the server with \`postrider serve\`, or choose other paths with --config and --data-dir.\n`,
  });
  const words = ['--store', url, '--secret-key', copy];
  const withFile =
    (name: string, text: string) =>
    (one: Console): void => {
      mkdirSync(one.dataDir, { recursive: true });
      writeFileSync(join(one.dataDir, name), text);
    };
  expect(await initElsewhere(words, withFile('secret.key', 'mine'))).toMatchObject(
    exists('DIR/data/secret.key') as object,
  );
  expect(await initElsewhere([], withFile('mail.db', ''))).toMatchObject(
    exists('DIR/data/mail.db') as object,
  );
  expect(await initElsewhere(['--secret-key', copy])).toMatchObject({
    code: 64,
    out: '',
    err: expect.stringMatching(
      /^--secret-key is for a node that joins others: say their database with --store\.\nUsage: postrider init /,
    ) as string,
    there: [false, false],
  });
});
