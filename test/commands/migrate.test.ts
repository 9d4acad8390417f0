/** `migrate`: where it is sent by its words, what it says on the way and at the end, and how often. */
import { afterAll, afterEach, beforeAll, expect, jest, spyOn, test } from 'bun:test';
import { resolve } from 'node:path';

import * as appliance from '../../src/appliance/migrate.ts';
import type { Migrated } from '../../src/appliance/migrate.ts';
import { loadConfig } from '../../src/base/config-file.ts';
import { Console } from './console.ts';

let shop: Console;
beforeAll(async () => {
  shop = await Console.make();
});
afterAll(() => shop.close());
afterEach(() => jest.restoreAllMocks());

type Job = Parameters<typeof appliance.migrateStore>[0];

const TABLES = [
  { table: 'accounts', rows: 1, sha256: '0123456789abcdef0123' },
  { table: 'messages', rows: 1_234_567, sha256: 'fedcba9876543210fedc' },
  { table: 'events', rows: 0, sha256: 'aaaabbbbccccddddeeee' },
];

/** Stands in for the transfer; `work` may report. */
function replace(changes: Migrated['changes'], work: (job: Job) => void = () => undefined): Job[] {
  const jobs: Job[] = [];
  spyOn(appliance, 'migrateStore').mockImplementation((job) => {
    jobs.push(job);
    work(job);
    return Promise.resolve({ tables: TABLES, changes });
  });
  return jobs;
}

test('it says what was carried, that both sides agree, and which lines of the config are to change', async () => {
  const changes = {
    'store.url': 'postgres://mail@db/mail',
    data_dir: '/srv/"mail"',
    'store.password_file': '',
    'store.require_standby': false,
  };
  replace(changes);
  const { code, out, err } = await shop.run('migrate', '--to', '/srv/mail');
  expect([code, err]).toEqual([0, '']);
  expect(out.replaceAll(shop.config, 'CONFIG')).toBe(
    `accounts  1 row, sha256 0123456789abcdef
messages  1,234,567 rows, sha256 fedcba9876543210
events    0 rows, sha256 aaaabbbbccccdddd

1,234,568 rows are there, the same on both sides.
Now change these lines of CONFIG:

data_dir = "/srv/\\"mail\\""
[store]
url = "postgres://mail@db/mail"
password_file = ""
require_standby = false

Then run postrider check and start the server. The source is as it was; from
that start on it is old.
`,
  );
  const json = await shop.json('migrate', '--to', '/srv/mail');
  expect(json).toEqual([0, { tables: TABLES, config: changes }]);
});

test.each<[string[], Job['to']]>([
  [['--to', 'postgres://a@b/c'], { kind: 'database', url: 'postgres://a@b/c', passwordFile: '' }],
  [
    ['--to', 'postgresql:///c', '--password-file', 'p'],
    { kind: 'database', url: 'postgresql:///c', passwordFile: resolve('p') },
  ],
  [['--to', 'there'], { kind: 'directory', dataDir: resolve('there') }],
  [['--to', 'postgres-data'], { kind: 'directory', dataDir: resolve('postgres-data') }],
  [['--to', 'postgresql'], { kind: 'directory', dataDir: resolve('postgresql') }],
  [['--to', './postgres:x'], { kind: 'directory', dataDir: resolve('postgres:x') }],
])('%j', async (words, to) => {
  const jobs = replace({});
  const before = Date.now();
  expect((await shop.run('migrate', ...words)).code).toBe(0);
  const [job] = jobs;
  expect([jobs.length, job?.to, job?.config]).toEqual([1, to, loadConfig(shop.config)]);
  expect(job?.now).toBeWithin(before, Date.now() + 1);
});

test.each([
  [['--to', 'there', '--password-file', 'p'], '--password-file goes with the URL of a database.'],
  [['--to', 'MySQL://a/b'], '--to must be a directory or a URL that begins with postgres://.'],
  [['--to', 'a+b.c-1://x'], '--to must be a directory or a URL that begins with postgres://.'],
  [[], 'Missing option --to URL|DIR.'],
])('%j is wrong usage', async (words, message) => {
  const jobs = replace({});
  const { code, out, err } = await shop.run('migrate', ...words);
  expect([code, out, err, jobs]).toEqual([
    64,
    '',
    `${message}\nUsage: postrider migrate --to URL|DIR [--password-file FILE]\n`,
    [],
  ]);
});

test('progress is told every 2 seconds, and at the end of a table that was not told whole', async () => {
  let nowMs = 1_000;
  spyOn(performance, 'now').mockImplementation(() => nowMs);
  replace({}, ({ report }) => {
    const at = (ms: number, step: 'copy' | 'compare', table: string, rows: number, of: number) => {
      nowMs = 1_000 + ms;
      report({ step, table, rows, of });
    };
    at(1_999, 'copy', 'accounts', 1, 1);
    at(2_000, 'copy', 'messages', 1_000, 5_000);
    at(2_100, 'copy', 'messages', 2_000, 5_000);
    at(2_200, 'copy', 'messages', 5_000, 5_000);
    at(2_300, 'copy', 'events', 9, 9);
    at(4_199, 'compare', 'accounts', 1, 1);
    at(4_200, 'compare', 'messages', 5_000, 5_000);
    at(4_300, 'compare', 'events', 9, 9);
    report({ step: 'index' });
  });
  const { err } = await shop.run('migrate', '--to', 'there', '--json');
  expect(err.split('\n')).toEqual([
    'Copying messages: 1,000 of 5,000 rows',
    'Copying messages: 5,000 of 5,000 rows',
    'Comparing messages: 5,000 of 5,000 rows',
    'Building the search index',
    '',
  ]);
});
