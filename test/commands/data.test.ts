/** init, check, backup, restore, rekey and the log that commands leave: what is on disk afterwards, with which rights. */
import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, relative } from 'node:path';

import * as context from '../../src/appliance/context.ts';
import * as configFile from '../../src/base/config-file.ts';
import { loadConfig } from '../../src/base/config-file.ts';
import { OperatorError } from '../../src/base/errors.ts';
import * as keys from '../../src/flow/accounts/keys.ts';
import { authenticate } from '../../src/flow/accounts/keys.ts';
import { COMMANDS } from '../../src/commands/list.ts';
import { runProgram } from '../../src/commands/program.ts';
import { Console } from './console.ts';

let shop: Console;

beforeEach(() => {
  shop = new Console();
});
afterEach(() => shop.close());

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

test('init makes what the server needs, for its owner alone, and prints the secrets once', async () => {
  const done = await shop.init('--json');
  const made = JSON.parse(done.out) as Record<string, string>;
  expect([done.code, done.err]).toEqual([0, '']);
  expect(made).toEqual({
    config: shop.config,
    data_dir: shop.dataDir,
    account_id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
    admin_password: expect.stringMatching(/^\S{24}$/) as string,
    key: expect.stringMatching(/^pr_live_\w+$/) as string,
  });
  expect([modeOf(shop.config), modeOf(shop.dataDir)]).toEqual(['600', '700']);
  expect(modeOf(join(shop.dataDir, 'secret.key'))).toBe('600');
  const identity = await shop.open((ctx) => authenticate(ctx, made['key'] ?? ''));
  expect(identity).toMatchObject({
    account: { id: made['account_id'], name: 'default' },
    key: { name: 'first key', permission: 'full_access', isTest: false },
  });
  const before = readFileSync(shop.config, 'utf8');
  const again = await shop.init();
  expect([again.code, again.out]).toEqual([1, '']);
  expect(again.err).toStartWith(`${shop.config} exists already, and init never overwrites.\n`);
  expect(readFileSync(shop.config, 'utf8')).toBe(before);
});

test('init prints how to go on', async () => {
  const { out } = await shop.init();
  expect(out).toMatch(
    new RegExp(
      `^config +${shop.config}\ndata directory +${shop.dataDir}\naccount +default \\(\\S{36}\\)\ndashboard password +\\S{24}\nAPI key, full access +pr_live_\\w+\n\nStore the password and the key now: they are not shown again\\.\nNext: postrider serve --config ${shop.config}\n$`,
    ),
  );
});

test('init takes a name in any case, a prefix of keys, and --acme with the ports that it needs', async () => {
  const words = ['--key-prefix', 'shop', '--acme', 'ops@shop.example'];
  const data = ['--data-dir', shop.dataDir];
  const done = await shop.run('init', '--hostname', 'MAIL.Shop.example', ...data, ...words);
  expect(done.out).toContain(' shop_live_');
  const { startup, live } = loadConfig(shop.config);
  expect(startup.hostname).toBe('mail.shop.example');
  expect(startup.http.listen).toEqual({ host: '0.0.0.0', port: 443 });
  expect(startup.acme).toMatchObject({
    listen: { host: '0.0.0.0', port: 80 },
    email: 'ops@shop.example',
  });
  expect(live.http.publicUrl).toBe('https://mail.shop.example');
});

test.each([
  [['--hostname', 'no name'], '--hostname'],
  [['--hostname', 'mail.shop.example', '--key-prefix', 'A'], '--key-prefix'],
  [
    ['--hostname', 'mail.shop.example', '--acme', 'nobody'],
    '--acme needs a mail address, not "nobody".',
  ],
  [[], 'Missing option --hostname H.'],
])('init %p is wrong usage, named as it was written, and makes nothing', async (words, message) => {
  const { code, out, err } = await shop.run('init', '--data-dir', shop.dataDir, ...words);
  expect([code, out]).toEqual([64, '']);
  expect(err).toStartWith(message);
  expect(readdirSync(shop.folder)).toEqual([]);
});

test('init names every option that is wrong, and no file that does not exist', async () => {
  const words = ['--hostname', 'no name', '--key-prefix', 'A'];
  const { code, err } = await shop.run('init', '--data-dir', shop.dataDir, ...words);
  const named = err.split('\n').filter((line) => line.includes(' must '));
  expect([code, named.map((line) => line.split(' ')[0])]).toEqual([
    64,
    ['--hostname', '--key-prefix'],
  ]);
  expect(err).not.toContain(shop.folder);
});

test('init on a disk that fills up says how much it needs, and leaves nothing behind', async () => {
  const failure = Object.assign(new Error('no space'), { code: 'ENOSPC' });
  const creation = spyOn(keys, 'createKey').mockRejectedValue(failure);
  const { code, out, err } = await shop.init();
  creation.mockRestore();
  expect([code, out]).toEqual([1, '']);
  expect(err).toBe(
    `Cannot write ${shop.config} or ${shop.dataDir}: the disk is full.\nFree some space and run init again; sending needs 300 MiB. Nothing was left behind.\n`,
  );
  expect(readdirSync(shop.folder)).toEqual([]);
  expect((await shop.init()).code).toBe(0);
});

test('init writes the path of a password file so that it is found from everywhere', async () => {
  const parse = spyOn(configFile, 'parseConfig');
  const opening = spyOn(context, 'openContext').mockRejectedValue(new OperatorError('Away.', ''));
  const file = join(shop.folder, 'password');
  writeFileSync(file, 'word', { mode: 0o600 });
  const words = ['--store', 'postgres://mail@127.0.0.1:1/mail'];
  const done = await shop.init(...words, '--password-file', relative(process.cwd(), file));
  opening.mockRestore();
  expect([done.code, done.err]).toEqual([1, 'Away.\n']);
  expect(parse.mock.calls[0]?.[0]).toContain(`password_file = "${file}"`);
  parse.mockRestore();
});

test('init tells and writes whole paths, wherever it was called', async () => {
  const here = (path: string): string => relative(process.cwd(), path);
  const out: string[] = [];
  const silent = { write: () => true, say: () => undefined, note: () => undefined };
  const words = ['--config', here(shop.config), '--data-dir', here(shop.dataDir), '--json'];
  const code = await runProgram(COMMANDS, ['init', '--hostname', 'MAIL.shop.example', ...words], {
    ...silent,
    print: (text) => void out.push(text),
  });
  expect([code, out.length]).toEqual([0, 1]);
  expect(JSON.parse(out[0] ?? '')).toMatchObject({ config: shop.config, data_dir: shop.dataDir });
  expect(readFileSync(shop.config, 'utf8')).toContain(`\ndata_dir = "${shop.dataDir}"\n`);
});

test('check says that a config is right, warns, and names what is wrong with 78', async () => {
  await shop.init();
  const right = await shop.json('check');
  const shown = { ok: true, config: shop.config, hostname: 'mail.shop.example' };
  expect(right).toEqual([0, { ...shown, data_dir: shop.dataDir, warnings: [] }]);
  const text = readFileSync(shop.config, 'utf8');
  const open = 'listen = "0.0.0.0:8025"';
  writeFileSync(shop.config, text.replace('listen = "127.0.0.1:8025"', open));
  const warned = await shop.run('check');
  expect([warned.code, warned.out.split('\n').slice(0, 3)]).toEqual([
    0,
    [
      `${shop.config} has no problems.`,
      '',
      'Warning: The API listens without TLS on an address that other machines reach.',
    ],
  ]);
  expect(await shop.json('check')).toMatchObject([
    0,
    { warnings: [{ advice: expect.any(String) }] },
  ]);
  const pair = 'tls_cert = "/nowhere.pem"\ntls_key = "/nowhere.key"';
  writeFileSync(shop.config, text.replace('tls_cert = ""\n', '').replace('tls_key = ""', pair));
  const missing = await shop.run('check');
  expect([missing.code > 0, missing.out]).toEqual([true, '']);
  expect(missing.err).toContain('/nowhere.pem');
  // Files that can be read, and are no PEM.
  const file = join(shop.folder, 'no.pem');
  writeFileSync(file, 'no PEM');
  const least = `hostname = "mail.shop.example"\ndata_dir = "${shop.dataDir}"\n`;
  for (const table of [
    `[smtp]\ntls_cert = "${file}"\ntls_key = "${file}"`,
    `[tls]\nextra_ca_file = "${file}"`,
  ]) {
    writeFileSync(shop.config, `${least}${table}\n`);
    const { code, out, err } = await shop.run('check');
    expect([table, code > 0, out, err === '']).toEqual([table, true, '', false]);
  }
  writeFileSync(shop.config, 'hostname = 3\n');
  const wrong = await shop.run('check');
  expect([wrong.code, wrong.out]).toEqual([78, '']);
});

test('a data directory that is not there is a matter of the config: 78, and nothing is made', async () => {
  await shop.init();
  const elsewhere = join(shop.folder, 'elsewhere');
  const text = readFileSync(shop.config, 'utf8').replace(shop.dataDir, elsewhere);
  writeFileSync(shop.config, text);
  for (const words of [['account', 'list'], ['rekey'], ['restore', '--key-only', shop.config]]) {
    const { code, err } = await shop.run(...words);
    expect([words, code]).toEqual([words, 78]);
    expect(err).toStartWith(`data_dir: the directory ${elsewhere} does not exist.\n`);
  }
  expect(existsSync(elsewhere)).toBe(false);
});

test('a backup is one file for its owner alone, and restoring it brings back what was there then', async () => {
  await shop.init();
  await shop.run('account', 'create', 'second');
  const file = join(shop.folder, 'backup');
  const [code, report] = await shop.json('backup', file);
  const { bytes, rows } = report as { bytes: number; rows: Record<string, number> };
  expect([code, report]).toMatchObject([0, { file, bytes: statSync(file).size }]);
  expect(rows).toMatchObject({ accounts: 2, api_keys: 1 });
  expect([modeOf(file), bytes > 0]).toEqual(['600', true]);
  const again = await shop.run('backup', file);
  expect([again.code, again.out]).toEqual([1, '']);
  await shop.run('account', 'delete', 'second', '--yes');
  const restored = await shop.json('restore', file);
  const { set_aside: aside } = restored[1] as { set_aside: string };
  expect(restored).toEqual([0, { data_dir: shop.dataDir, rows, set_aside: aside }]);
  expect(aside).toStartWith(join(shop.dataDir, 'before-restore-'));
  expect([modeOf(aside), readdirSync(aside).includes('mail.db')]).toEqual(['700', true]);
  expect((await shop.json('account', 'list'))[1]).toHaveLength(2);
});

test('a backup file is not restored beside a database that holds the data', async () => {
  await shop.init();
  const file = join(shop.folder, 'backup');
  await shop.run('backup', file);
  const before = readdirSync(shop.dataDir).toSorted();
  const text = readFileSync(shop.config, 'utf8');
  const url = 'url = "postgres://postrider@127.0.0.1:9/mail"';
  writeFileSync(shop.config, text.replace(/(?<=\n\[store\][^[]*\n)url = ""/, url));
  const { code, out, err } = await shop.run('restore', file);
  expect([code, out]).toEqual([1, '']);
  expect(err).toStartWith('The data are in the database of [store] url');
  expect(readdirSync(shop.dataDir).toSorted()).toEqual(before);
});

test('a restore says in words what came back and where the old files are', async () => {
  await shop.init();
  const file = join(shop.folder, 'backup');
  const made = await shop.run('backup', file);
  expect(made.out).toMatch(
    new RegExp(`^Wrote ${file}: \\d+ bytes, verified\\. Rows:\naccounts +1\n`),
  );
  expect(made.err).toBe('Copying and verifying. Sending goes on meanwhile.\n');
  const { out } = await shop.run('restore', file);
  expect(out).toStartWith(`Restored into ${shop.dataDir}. Rows:\naccounts `);
  expect(out).toMatch(/\nThe old files are in \S+before-restore-\S+\.\n$/);
});

test('the key of other data is refused by restore --key-only and not left there; the own one comes back', async () => {
  await shop.init();
  await shop.run('domain', 'add', 'shop.example');
  const own = readFileSync(join(shop.dataDir, 'secret.key'));
  const file = join(shop.folder, 'backup');
  await shop.run('backup', file);
  const other = await Console.make();
  const foreign = join(other.folder, 'backup');
  await other.run('domain', 'add', 'shop.example');
  await other.run('backup', foreign);
  rmSync(join(shop.dataDir, 'secret.key'));
  const refused = await shop.run('restore', '--key-only', foreign);
  other.close();
  expect([refused.code, refused.out]).toEqual([78, '']);
  expect(readdirSync(shop.dataDir).filter((name) => name.startsWith('secret.key'))).toEqual([]);
  const taken = await shop.json('restore', '--key-only', file);
  expect(taken).toEqual([0, { data_dir: shop.dataDir, set_aside: null }]);
  expect(readFileSync(join(shop.dataDir, 'secret.key'))).toEqual(own);
});

test('rekey makes another key, says what to do, and with --leaked more of it', async () => {
  await shop.init();
  await shop.run('webhook', 'add', 'https://8.8.8.8/h');
  const path = join(shop.dataDir, 'secret.key');
  const before = readFileSync(path);
  const [code, done] = await shop.json('rekey');
  expect([code, done]).toEqual([
    0,
    { sealed: expect.any(Number), unreadable: [], ended_links: false },
  ]);
  expect(readFileSync(path)).not.toEqual(before);
  expect(modeOf(path)).toBe('600');
  const quiet = (await shop.run('rekey')).out;
  expect(quiet).toMatch(/^sealed under the new key +[1-9]\d*\n\nTake a backup now/);
  expect(quiet).not.toContain('Who has the old key');
  expect((await shop.run('rekey', '--leaked')).out).toContain('\nWho has the old key');
  expect(await shop.json('rekey', '--leaked')).toMatchObject([0, { ended_links: true }]);
  expect((await shop.run('webhook', 'list')).code).toBe(0);
});

test('what a command logs waits for the next server, for its owner alone, without what is to go', async () => {
  await shop.init();
  const log = join(shop.dataDir, 'commands.log');
  await shop.run('account', 'list');
  await shop.run('operator', 'password', 'admin');
  await shop.run('password');
  await shop.run('erase', 'ann@person.example');
  await shop.run('account', 'create', 'secretive');
  await shop.run('account', 'delete', 'secretive', '--yes');
  const text = readFileSync(log, 'utf8');
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const named = (event: string) => lines.filter((line) => line['event'] === event);
  expect(named('password_changed')).toMatchObject([{ operator: 'admin' }, {}]);
  expect(named('erased')).toMatchObject([{ messages: 0, waiting: 0, log_rows: 0 }]);
  expect(named('account_deleted')).toMatchObject([{ account_id: expect.any(String), keys: 0 }]);
  expect(text).not.toContain('ann@person.example');
  expect(
    named('account_deleted')
      .map((line) => JSON.stringify(line))
      .join(''),
  ).not.toContain('secretive');
  expect(modeOf(log)).toBe('600');
});

test('a log that cannot be kept is shown, and the command succeeds', async () => {
  await shop.init();
  mkdirSync(join(shop.dataDir, 'commands.log'));
  const { code, out, err } = await shop.run('password', '--json');
  expect([code, Object.keys(JSON.parse(out) as object)]).toEqual([
    0,
    ['password', 'sessions_ended'],
  ]);
  expect(err).toMatch(/^Cannot keep these lines for the log \(EISDIR.*\):\n\{.*password_changed/);
});
