/** What `rekey`, `backup` and `restore` print, whole, and what `check` reads beside the config file. */
import { afterAll, afterEach, beforeAll, expect, jest, spyOn, test } from 'bun:test';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

import * as restoring from '../../src/store/sqlite/restore.ts';
import * as rekeying from '../../src/flow/rekey.ts';
import { testAuthority } from '../rig/certificates.ts';
import { Console } from './console.ts';

let shop: Console;
beforeAll(async () => {
  shop = await Console.make();
});
afterAll(() => shop.close());
afterEach(() => jest.restoreAllMocks());

const shown = (text: string): string => text.replaceAll(shop.folder, 'DIR');

const BACKUPS = `Take a backup now: it holds the new key. Backups from before hold the old key
and still restore, each with the data and the key of its time. Copies of the old
secret.key alone are of no use to this data any more.
`;
const LEAKED = `Who has the old key and a copy of the database can read the DKIM keys and
webhook secrets that were in it: replace those too, and delete backups and
before-restore folders that hold the old key.
`;

test('rekey tells how many secrets there are, which were not opened, and what to do', async () => {
  const unreadable: rekeying.RekeyReport['unreadable'] = [
    { kind: 'dkim', id: 'dom-1' },
    { kind: 'webhook', id: 'end-1' },
  ];
  const replaced = spyOn(rekeying, 'rekey');
  replaced.mockResolvedValueOnce({ sealed: 12, unreadable: [] });
  expect(await shop.run('rekey')).toEqual({
    code: 0,
    out: `sealed under the new key  12\n\n${BACKUPS}`,
    err: '',
  });
  replaced.mockResolvedValue({ sealed: 3, unreadable });
  expect((await shop.run('rekey', '--leaked')).out).toBe(
    `sealed under the new key  3
the old key did not open  dkim dom-1, webhook end-1

${BACKUPS}${LEAKED}`,
  );
  expect(await shop.json('rekey')).toEqual([0, { sealed: 3, unreadable, ended_links: false }]);
  expect(replaced.mock.calls.map(([, options]) => options)).toEqual([
    { endsLinks: false },
    { endsLinks: true },
    { endsLinks: false },
  ]);
}, 60_000);

test('restore tells the rows of each table and where the old files are, if there were any', async () => {
  const restored = spyOn(restoring, 'restoreBackup');
  const rows = { accounts: 2, suppressions: 30 } as unknown as restoring.RestoreReport['rows'];
  restored.mockReturnValueOnce({ rows, setAside: null });
  expect(shown((await shop.run('restore', 'file')).out)).toBe(
    'Restored into DIR/data. Rows:\naccounts      2\nsuppressions  30\n',
  );
  restored.mockReturnValue({ rows, setAside: '/aside' });
  const { code, out } = await shop.run('restore', 'file');
  expect([code, shown(out)]).toEqual([
    0,
    'Restored into DIR/data. Rows:\naccounts      2\nsuppressions  30\nThe old files are in /aside.\n',
  ]);
  expect(await shop.json('restore', 'file')).toEqual([
    0,
    { data_dir: shop.dataDir, rows, set_aside: '/aside' },
  ]);
  const [file, dataDir, now] = restored.mock.calls[0] ?? [];
  expect([file, dataDir]).toEqual([resolve('file'), shop.dataDir]);
  expect(Math.abs((now ?? 0) - Date.now())).toBeLessThan(60_000);
});

test('restore --key-only says where the key from before is, and that the data open', async () => {
  await shop.run('webhook', 'add', 'https://8.8.8.8/h');
  const backup = join(shop.folder, 'backup');
  await shop.run('backup', backup);
  const key = join(shop.dataDir, 'secret.key');
  const same = await shop.run('restore', '--key-only', backup);
  const opens = 'The secret key of DIR/data opens its data.\n';
  expect([same.code, shown(same.out), same.err]).toEqual([0, opens, '']);
  const own = readFileSync(key);
  writeFileSync(key, Buffer.alloc(32, 9), { mode: 0o600 });
  const { code, out } = await shop.run('restore', '--key-only', backup);
  expect([code, shown(out)]).toEqual([
    0,
    `${opens}The key file from before is DIR/data/secret.key.set-aside.\n`,
  ]);
  expect(readFileSync(key)).toEqual(own);
  expect(readFileSync(`${key}.set-aside`)).toEqual(Buffer.alloc(32, 9));
  expect(existsSync(`${key}.next`)).toBe(false);
}, 60_000);

test('check reads the certificates of both tables and the private CA, and names what is wrong', async () => {
  const ca = testAuthority();
  const [mine, other] = [ca.issue(['mail.shop.example']), ca.issue(['other.example'])];
  const checked = async (...lines: string[]): Promise<[number, string]> => {
    const head = `hostname = "mail.shop.example"\ndata_dir = "${shop.dataDir}"\n`;
    writeFileSync(shop.config, `${head}${lines.join('\n')}\n`);
    const { code, out, err } = await shop.run('check');
    return [code, shown(out + err.split('\n')[0])];
  };
  const pair = (table: string, cert: string, key: string): string =>
    `[${table}]\ntls_cert = "${cert}"\ntls_key = "${key}"`;
  const extra = (file: string): string => `[tls]\nextra_ca_file = "${file}"`;
  const before = readFileSync(shop.config, 'utf8');
  const right = ['http', 'smtp'].map((table) => pair(table, mine.certFile, mine.keyFile));
  expect(await checked(...right, extra(ca.certFile))).toEqual([
    0,
    'DIR/etc/postrider.toml has no problems.\n',
  ]);
  for (const table of ['http', 'smtp']) {
    expect(await checked(pair(table, mine.certFile, other.keyFile))).toEqual([
      78,
      `${table}.tls_cert, tls_key: the private key does not match the certificate in ${mine.certFile}`,
    ]);
  }
  expect(await checked(extra(mine.keyFile))).toEqual([
    78,
    'tls.extra_ca_file contains no certificate',
  ]);
  writeFileSync(shop.config, before);
});
