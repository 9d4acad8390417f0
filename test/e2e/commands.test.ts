/**
 * The commands on the compiled binary: beside a running server and without one, exit codes, JSON, signals, a second
 * process on the same data, and files that it must not read.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import { bestOf, tookMs } from '../rig/best-of.ts';
import { BINARY, BinaryAppliance, runBinary } from '../rig/binary.ts';
import type { LogLine } from '../rig/binary.ts';
import { describeWith } from '../rig/programs.ts';

let appliance: BinaryAppliance;

beforeAll(async () => {
  appliance = await BinaryAppliance.create({ hostname: 'mail.example.com' });
});

afterAll(() => appliance.stop());

describe('init', () => {
  test('shows the password and the key, and makes every file private', () => {
    const { made } = appliance;
    expect(made.key).toMatch(/^pr_live_[A-Za-z0-9]{27,}$/);
    expect(made.admin_password.length).toBeGreaterThanOrEqual(16);
    expect(made.account_id).toMatch(/^[0-9a-f-]{36}$/);
    expect(statSync(made.data_dir).mode & 0o777).toBe(0o700);
    expect(statSync(made.config).mode & 0o777).toBe(0o600);
    for (const name of readdirSync(made.data_dir)) {
      expect([name, statSync(join(made.data_dir, name)).mode & 0o077]).toEqual([name, 0]);
    }
  });

  test('never overwrites', async () => {
    const { config, data_dir: dataDir } = appliance.made;
    const before = readFileSync(config, 'utf8');
    const again = await runBinary([
      'init',
      '--hostname',
      'mail.example.com',
      '--config',
      config,
      '--data-dir',
      '/tmp/none',
    ]);
    expect([again.code, again.stdout]).toEqual([1, '']);
    expect(readFileSync(config, 'utf8')).toBe(before);
    const other = join(appliance.folder, 'other.toml');
    const sameData = await runBinary([
      'init',
      '--hostname',
      'mail.example.com',
      '--config',
      other,
      '--data-dir',
      dataDir,
    ]);
    expect(sameData.code).toBe(1);
    expect(existsSync(other)).toBe(false);
  });
});

describe('exit codes', () => {
  test.each([
    [['frobnicate'], 64],
    [[], 64],
    [['account'], 64],
    [['account', 'create'], 64],
    [['account', 'list', '--colour', 'red'], 64],
    [['key', 'create', '--account', 'default', '--name', 'x', '--permission', 'all'], 64],
    [['suppression', 'add', 'a@example.net', '--reason', 'whim'], 64],
    [['queue', 'retry', '--domain', ''], 64],
    [['account', 'pause', 'nobody'], 1],
    [['domain', 'records', 'nowhere.example'], 1],
    [['account', 'list'], 0],
    [['check'], 0],
    [['--config', '/nowhere.toml', 'check'], 78],
    [['completion', 'bash'], 0],
    [['--version'], 0],
    [['--help'], 0],
    [['key', '--help'], 0],
  ])('%j', async (args, code) => {
    const run = await runBinary(args, { env: { POSTRIDER_CONFIG: appliance.made.config } });
    expect(run.code).toBe(code);
    expect(code === 0 ? run.stdout : run.stderr).not.toBe('');
    if (code !== 0 && args.length > 0) expect(run.stdout).toBe('');
  });

  test('78 for a config with problems, every one with its line', async () => {
    const file = join(appliance.folder, 'wrong.toml');
    writeFileSync(file, 'hostname = "x"\n[http]\nlisten = 3\n');
    const run = await runBinary(['check', '--config', file]);
    expect(run.code).toBe(78);
    expect(run.stderr).toContain(`${file}:1: hostname must be`);
    expect(run.stderr).toContain(`${file}:3: http.listen must be`);
    expect((await runBinary(['serve', '--config', file])).code).toBe(78);
    expect((await runBinary(['check', '--config', '/nowhere.toml'])).code).toBe(78);
  });
});

test('commands at the same time, without a server, wait for each other', async () => {
  const runs = await Promise.all(
    ['p1', 'p2', 'p3', 'p4'].map((name) => appliance.run(['account', 'create', name])),
  );
  expect(runs.map(({ code, stderr }) => [code, stderr])).toEqual(runs.map(() => [0, '']));
});

describe.each([['without a server'], ['beside a running server']])('%s', (where) => {
  const tag = where.startsWith('without') ? 'cold' : 'warm';

  beforeAll(async () => {
    if (tag === 'warm') await appliance.start();
  });

  test('accounts', async () => {
    const made = await appliance.json(['account', 'create', tag]);
    expect(made).toEqual({
      id: expect.any(String),
      name: tag,
      plan: 'unlimited',
      status: 'active',
    });
    expect((await appliance.run(['account', 'create', tag])).code).toBe(1);
    await appliance.json(['account', 'pause', tag, '--reason', 'Unpaid.']);
    const list = (await appliance.json(['account', 'list'])) as unknown as { name: string }[];
    expect(list.find(({ name }) => name === tag)).toMatchObject({
      status: 'paused',
      status_reason: 'Unpaid.',
    });
    expect(await appliance.json(['account', 'resume', tag])).toMatchObject({ status: 'active' });
  });

  test('keys', async () => {
    const made = await appliance.json([
      'key',
      'create',
      '--account',
      tag,
      '--name',
      'ci',
      '--permission',
      'full_access',
      '--test',
    ]);
    expect(made).toEqual({
      id: expect.any(String),
      name: 'ci',
      permission: 'full_access',
      scope: 'full',
      prefix: String(made['token']).slice(0, 12),
      last4: String(made['token']).slice(-4),
      created_at: expect.stringMatching(/Z$/),
      token: expect.stringMatching(/^pr_test_/),
      key: made['token'],
    });
    const list = (await appliance.json(['key', 'list', '--account', tag])) as unknown as object[];
    expect(JSON.stringify(list)).not.toContain(String(made['token']));
    await appliance.json(['key', 'revoke', String(made['id'])]);
    const after = (await appliance.json(['key', 'list'])) as unknown as { id: string }[];
    expect(after.find(({ id }) => id === made['id'])).toMatchObject({
      revoked_at: expect.stringMatching(/Z$/),
      account: tag,
    });
  });

  test('domains', async () => {
    const name = `${tag}.example.org`;
    const made = await appliance.json(['domain', 'add', name, '--account', tag]);
    expect(made).toMatchObject({ object: 'domain', name, domain: name, status: 'pending' });
    expect(made['records']).toHaveLength(2);
    const records = (await appliance.json(['domain', 'records', name])) as unknown as object[];
    expect(records).toHaveLength(3);
    expect((await appliance.run(['domain', 'list'])).stdout).toContain(name);
    expect(await appliance.json(['domain', 'remove', name])).toMatchObject({ status: 'revoked' });
    expect((await appliance.run(['domain', 'records', name])).code).toBe(1);
  });

  test('suppressions, in and out as CSV', async () => {
    const csv =
      'email,reason,note\r\na@x.example,complaint,"said ""stop"", twice"\r\nB@X.example,,\r\n';
    const imported = await appliance.run(
      ['suppression', 'import', '-', '--account', tag, '--json'],
      csv,
    );
    expect(imported.json()).toMatchObject({ added: 2 });
    const out = await appliance.run(['suppression', 'export', '--account', tag]);
    expect(out.stdout.split('\r\n').toSorted()).toEqual([
      '',
      expect.stringMatching(/^a@x\.example,complaint,import,"said ""stop"", twice",20/),
      expect.stringMatching(/^b@x\.example,manual,import,,20/),
      'email,reason,source,note,created_at',
    ]);
    await appliance.json([
      'suppression',
      'remove',
      'A@x.example',
      '--account',
      tag,
      '--note',
      'asked by phone',
    ]);
    const left = (await appliance.json([
      'suppression',
      'list',
      '--account',
      tag,
    ])) as unknown as object[];
    expect(left).toHaveLength(1);
  });

  test('halt and resume', async () => {
    await appliance.json(['halt', '--reason', 'Leaking.']);
    expect((await appliance.run(['queue', 'list'])).stdout).toContain(
      'Sending is halted: Leaking.',
    );
    if (tag === 'warm') {
      const send = await appliance.api('POST', '/emails', {
        to: 'x@y.zz',
        from: 'a@b.cc',
        subject: 's',
        text: 't',
      });
      expect(send.status).toBe(503);
      expect(await send.json()).toMatchObject({ code: 'platform_halted' });
    }
    expect(await appliance.json(['resume'])).toMatchObject({ was_halted: true });
  });
});

describe('serve', () => {
  test('a second process on the same data is refused within a second', async () => {
    const ms = await bestOf(1_000, () =>
      tookMs(async () => {
        const second = await appliance.run(['serve']);
        expect(second.code).toBe(1);
        expect(second.stderr).toContain('another process');
      }),
    );
    expect(ms).toBeLessThan(1_000);
  });

  test('a second process on the same address is refused too', async () => {
    const other = await BinaryAppliance.create();
    const { port } = new URL(appliance.url);
    const head = `hostname = "mail.example.com"\ndata_dir = "${other.made.data_dir}"\n`;
    writeFileSync(other.made.config, `${head}[http]\nlisten = "127.0.0.1:${port}"\n`);
    const second = await other.run(['serve']);
    expect(second.code).toBe(1);
    expect(second.stderr).toContain(`port ${port} is in use`);
    await other.stop();
  });

  test('SIGHUP takes over plans; a file with problems changes nothing', async () => {
    const plan = '[[plans]]\nid = "small"\nmax_domains = 1';
    appliance.writeConfig('mail.example.com', plan);
    appliance.hangUp();
    await appliance.log.first(({ event }) => event === 'reloaded');
    const made = await appliance.json(['account', 'create', 'tiny', '--plan', 'small']);
    expect(made).toMatchObject({ plan: 'small' });
    appliance.writeConfig('mail.example.com', '[[plans]]\nid = "Wrong"');
    appliance.hangUp();
    const refusal = await appliance.log.first(({ event }) => event === 'reload_refused');
    expect(JSON.stringify(refusal)).toContain('plans[0].id');
    appliance.writeConfig('mail.example.com', plan);
  });

  test('SIGTERM ends it with 0 and removes its socket', async () => {
    expect(await appliance.signal('SIGTERM')).toBe(0);
    expect(existsSync(join(appliance.made.data_dir, 'control.sock'))).toBe(false);
    expect((await appliance.json(['account', 'list'])) as unknown).toBeArray();
  });

  test('logs what commands did without a server, with the note of each', async () => {
    const [account, email] = ['suppression-notes', 'noted@example.net'];
    await appliance.json(['account', 'create', account]);
    for (const note of ['Asked by phone.', 'Asked again:\n"please".']) {
      await appliance.json(['suppression', 'add', email, '--account', account]);
      const remove = ['suppression', 'remove', email, '--account', account, '--note', note];
      await appliance.json(remove);
    }
    const before = appliance.log.items.length;
    await appliance.start();
    const isRemoval = ({ note }: LogLine): boolean => String(note).startsWith('Asked');
    await appliance.log.first((line) => line['note'] === 'Asked again:\n"please".');
    expect(appliance.log.items.slice(before).filter(isRemoval)).toMatchObject([
      { level: 'info', address: email, reason: 'manual', note: 'Asked by phone.' },
      { level: 'info', address: email, reason: 'manual', note: 'Asked again:\n"please".' },
    ]);
    await appliance.signal('SIGTERM');
    const restarted = appliance.log.items.length;
    await appliance.start();
    await appliance.signal('SIGTERM');
    expect(appliance.log.items.slice(restarted).filter(isRemoval)).toEqual([]);
  });

  test('a socket file left by a killed server stops no command and no server', async () => {
    await appliance.start();
    await appliance.signal('SIGKILL');
    expect(existsSync(join(appliance.made.data_dir, 'control.sock'))).toBe(true);
    expect((await appliance.json(['account', 'list'])) as unknown).toBeArray();
    await appliance.start();
    expect((await appliance.json(['account', 'list'])) as unknown).toBeArray();
    await appliance.signal('SIGTERM');
  });
});

describeWith(['strace'], 'where it is started', () => {
  test('a hostile .env and bunfig.toml in the working directory are not even opened', async () => {
    const folder = join(appliance.folder, 'hostile');
    mkdirSync(folder);
    writeFileSync(join(folder, '.env'), 'POSTRIDER_CONFIG=/nowhere\n');
    writeFileSync(join(folder, '.env.production'), 'POSTRIDER_CONFIG=/nowhere\n');
    writeFileSync(join(folder, 'bunfig.toml'), 'preload = ["./evil.ts"]\n');
    writeFileSync(join(folder, 'evil.ts'), 'require("fs").writeFileSync("evil-ran", "");\n');
    const trace = join(appliance.folder, 'trace');
    const child = Bun.spawn(
      `strace -f -e trace=open,openat -o ${trace} ${BINARY} account list --config ${appliance.made.config}`.split(
        ' ',
      ),
      { cwd: folder, stdout: 'ignore', stderr: 'pipe' },
    );
    expect(await child.exited).toBe(0);
    const opened = readFileSync(trace, 'utf8');
    expect(opened).toContain('mail.db');
    expect(opened).not.toMatch(/\.env|bunfig|evil/);
    expect(existsSync(join(folder, 'evil-ran'))).toBe(false);
  });
});

test('a result larger than the buffer of a pipe arrives whole', async () => {
  const rows = Array.from(
    { length: 3000 },
    (_, index) => `someone-with-a-long-name-${index}@example.net`,
  );
  await appliance.json(['account', 'create', 'pipes']);
  await appliance.run(
    ['suppression', 'import', '-', '--account', 'pipes'],
    ['email', ...rows].join('\n'),
  );
  const run = await appliance.run(['suppression', 'list', '--account', 'pipes', '--json']);
  expect(run.stdout.length).toBeGreaterThan(400_000);
  expect(run.json()).toBeArrayOfSize(3000);
});

describeWith(['root'], 'as root, over data of another user', () => {
  test('a command leaves nothing that the owner cannot open', async () => {
    const NOBODY = 65_534;
    const other = await BinaryAppliance.create();
    const { data_dir: dataDir } = other.made;
    chmodSync(other.folder, 0o755);
    for (const path of [dataDir, ...readdirSync(dataDir).map((name) => join(dataDir, name))]) {
      chownSync(path, NOBODY, NOBODY);
    }
    rmSync(join(dataDir, 'log.db'));
    await other.json(['account', 'create', 'made-by-root']);
    const names = readdirSync(dataDir);
    expect(names).toContain('log.db');
    const owners = names.map((name) => statSync(join(dataDir, name)));
    expect(owners.filter(({ uid, gid }) => uid !== NOBODY || gid !== NOBODY)).toEqual([]);
    await other.stop();
  });
});

describe('password', () => {
  const signIn = (password: string): Promise<number> =>
    fetch(`${appliance.url}/dashboard/sign-in`.replace('/v1', ''), {
      method: 'POST',
      redirect: 'manual',
      headers: { 'sec-fetch-site': 'same-origin' },
      body: new URLSearchParams({ password }),
    }).then(({ status }) => status);

  test('is made and shown once, or read from standard input; the one before is worth nothing', async () => {
    await appliance.signal('SIGTERM');
    const alone = (await appliance.json(['password']))['password'] as string;
    await appliance.start();
    expect([await signIn(appliance.made.admin_password), await signIn(alone)]).toEqual([401, 303]);
    const own = await appliance.run(['password', '--stdin'], 'correct horse battery\n');
    expect([own.code, own.stdout.includes('correct horse')]).toEqual([0, false]);
    expect([await signIn(alone), await signIn('correct horse battery')]).toEqual([401, 303]);
    const short = await appliance.run(['password', '--stdin'], 'short\n');
    expect([short.code, short.stderr.includes('at least 15')]).toEqual([1, true]);
    expect((await appliance.run(['password', '--stdin'], '')).code).toBe(64);
    expect(appliance.log.items.filter(({ event }) => event === 'password_changed')).toHaveLength(2);
    expect(JSON.stringify(appliance.log.items)).not.toContain('correct horse');
  });
});
