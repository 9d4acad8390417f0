/**
 * A wrong config, on the compiled binary: one clear refusal with the key and its line (or its path, for what only the
 * machine shows), what would be right, the exit code 78 or 1, and never a stack.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { BINARY, runBinary } from '../rig/binary.ts';
import type { Run } from '../rig/binary.ts';
import { testAuthority } from '../rig/certificates.ts';
import { describeWith } from '../rig/programs.ts';

const folder = mkdtempSync(join(tmpdir(), 'postrider-broken-'));
const file = join(folder, 'postrider.toml');
const dataDir = join(folder, 'data');
const HEAD = `hostname = "mail.example.com"\ndata_dir = "${dataDir}"\n`;
const QUIET = `${HEAD}[http]\nlisten = "127.0.0.1:0"\n`;

const taken = createServer();
let port = 0;

beforeAll(async () => {
  mkdirSync(dataDir, { mode: 0o700 });
  writeFileSync(join(folder, 'junk.pem'), 'junk\n');
  await new Promise<void>((resolve) => {
    taken.listen(0, '127.0.0.1', resolve);
  });
  port = (taken.address() as AddressInfo).port;
});

afterAll(() => {
  taken.close();
  rmSync(folder, { recursive: true });
});

/** Runs with this config; fails where standard output is not empty or a stack is shown. */
async function refusal(command: string, toml: string | Buffer): Promise<Run> {
  writeFileSync(file, toml);
  const run = await runBinary([command, '--config', file]);
  expect(run.stdout).toBe('');
  expect(run.stderr).not.toMatch(/^ +at |\.ts:\d|"level":"error"|undefined/m);
  return run;
}

/** What the operator reads, without the log's lines. */
function told({ stderr }: Run): string[] {
  return stderr
    .trimEnd()
    .split('\n')
    .filter((line) => !line.startsWith('{'));
}

describe('what the file itself shows: exit 78, by check and by serve alike', () => {
  const rows: [what: string, toml: string, line: number, message: string | RegExp][] = [
    [
      'an unknown key',
      `${HEAD}colour = "red"`,
      3,
      /^colour is not a known key; known here: hostname,/,
    ],
    [
      'a mistyped key',
      `${HEAD}[delivery]\nmdoe = "direct"`,
      4,
      'delivery.mdoe is not a known key: did you mean mode?',
    ],
    [
      'a wrong type',
      `${HEAD}[http]\nlisten = 8025`,
      4,
      'http.listen must be text in quotes, not 8025',
    ],
    ['bad TOML', `${HEAD}[http\nlisten = ""`, 3, /^TOML Parse error: .*']'/],
    [
      'a quote left open',
      `${HEAD}[http]\nlisten = "127\n[smtp]`,
      4,
      /^TOML Parse error: Unterminated/,
    ],
    ['bytes that are not text', '\u0000\u0001', 1, /^TOML Parse error/],
    [
      'a network with too wide a mask',
      `${HEAD}[webhooks]\nallow_networks = ["10.0.0.0/33"]`,
      4,
      'webhooks.allow_networks item 1 must be a network such as "10.0.0.0/8", not "10.0.0.0/33"',
    ],
    [
      'a network that does not begin at its first address',
      `${HEAD}[webhooks]\nallow_networks = ["10.0.0.0/8", "192.168.7.9/24"]`,
      4,
      'webhooks.allow_networks item 2 must begin at the first address of the network: "192.168.7.0/24", or "192.168.7.9/32" for this address alone, not "192.168.7.9/24"',
    ],
    [
      'a certificate that is not there',
      `${HEAD}[http]\ntls_key = "/dev/null"\ntls_cert = "/nowhere/cert.pem"`,
      5,
      'http.tls_cert names a file that cannot be read: /nowhere/cert.pem',
    ],
    [
      'a duration with an unknown unit',
      `${HEAD}[delivery]\nexpires = "2 days"`,
      4,
      'delivery.expires must be a duration such as "90s", "48h" or "30d", not "2 days"',
    ],
    [
      'two plans of one name',
      `${HEAD}[[plans]]\nid = "small"\n[[plans]]\nid = "small"`,
      6,
      'plans[1].id is "small", as in a plan above',
    ],
    [
      'a value that is not a host name',
      'hostname = "my server"',
      1,
      'hostname must be a full host name such as "mail.example.com", not "my server"',
    ],
    ['no host name', '[http]', 1, 'hostname is missing: it has no default'],
    [
      'a public address with a path',
      `${HEAD}[http]\npublic_url = "https://mail.example.com/mail"`,
      4,
      'http.public_url must have no path: "https://mail.example.com", not "https://mail.example.com/mail"',
    ],
    [
      'a public address without a scheme',
      `${HEAD}[http]\npublic_url = "mail.example.com"`,
      4,
      'http.public_url must be a URL such as "https://mail.example.com", not "mail.example.com"',
    ],
    [
      'a smarthost without a host',
      `${HEAD}[delivery]\nmode = "smarthost"`,
      4,
      'delivery.mode is "smarthost", but delivery.smarthost.host is empty',
    ],
  ];

  test.each(rows)('%s', async (_, toml, line, message) => {
    for (const command of ['check', 'serve']) {
      const run = await refusal(command, toml);
      const [first = '', hint, ...others] = told(run);
      const start = `${file}:${line}: `;
      expect([run.code, first.slice(0, start.length), others]).toEqual([78, start, []]);
      if (typeof message === 'string') expect(first.slice(start.length)).toBe(message);
      else expect(first.slice(start.length)).toMatch(message);
      expect(hint).toContain('postrider check');
    }
    expect(existsSync(join(dataDir, 'mail.db'))).toBe(false);
  });

  test('a file that is a folder', async () => {
    const run = await runBinary(['check', '--config', folder]);
    expect([run.code, run.stdout]).toEqual([78, '']);
    expect(run.stderr).toStartWith(`cannot read the config file ${folder}: EISDIR`);
  });
});

describe('what the files it names show: exit 78', () => {
  const pair = (cert: string, key: string): string =>
    `${QUIET}tls_cert = "${cert}"\ntls_key = "${key}"`;

  test.each([
    [
      'a file that is not a certificate',
      () => pair(join(folder, 'junk.pem'), join(folder, 'junk.pem')),
    ],
    ['a folder', () => pair(folder, folder)],
    ['the key of another certificate', () => mismatch()],
  ])('%s', async (what, toml) => {
    for (const command of ['check', 'serve']) {
      const run = await refusal(command, toml());
      const [first, hint, ...others] = told(run);
      expect([run.code, others]).toEqual([78, []]);
      expect(first).toStartWith('http.tls_cert, tls_key: ');
      expect(first).toContain(what.startsWith('the key') ? 'does not match' : folder);
      expect(hint).toMatch(/Provide PEM|issued together|service can read it/);
    }
  });

  function mismatch(): string {
    const [one, other] = ['a.example', 'b.example'].map((name) => testAuthority().issue([name]));
    return pair(one?.certFile ?? '', other?.keyFile ?? '');
  }

  test('an authority that is not a certificate', async () => {
    for (const command of ['check', 'serve']) {
      const run = await refusal(
        command,
        `${QUIET}[tls]\nextra_ca_file = "${join(folder, 'junk.pem')}"`,
      );
      expect(run.code).toBe(78);
      expect(told(run)[0]).toBe('tls.extra_ca_file contains no certificate');
    }
  });
});

describe('what only the machine shows, by serve', () => {
  test('a data directory that is not there: a mistyped path must not begin an empty appliance', async () => {
    const elsewhere = join(folder, 'dta');
    for (const command of [['serve'], ['account', 'list']]) {
      writeFileSync(file, `hostname = "mail.example.com"\ndata_dir = "${elsewhere}"\n`);
      const run = await runBinary([...command, '--config', file]);
      expect([run.code, run.stdout]).toEqual([78, '']);
      expect(told(run)).toEqual([
        `data_dir: the directory ${elsewhere} does not exist.`,
        'Create it with `postrider init`, or correct data_dir in the config file.',
      ]);
      expect(existsSync(elsewhere)).toBe(false);
    }
  });

  test('a data directory that is a file', async () => {
    const run = await refusal('serve', `hostname = "mail.example.com"\ndata_dir = "${file}"\n`);
    expect(run.code).toBe(78);
    expect(told(run)[0]).toStartWith(`data_dir: ${file} cannot be created or is not a directory: `);
    expect(told(run)[1]).toContain('may write');
  });

  test.each([
    ['http.listen', (at: string) => `${HEAD}[http]\nlisten = "${at}"`],
    ['smtp.inbound', (at: string) => `${QUIET}[smtp]\ninbound = "${at}"`],
    ['smtp.submission', (at: string) => `${QUIET}[smtp]\nsubmission = ["${at}"]`],
    ['smtp.submissions', (at: string) => `${QUIET}[smtp]\nsubmissions = ["${at}"]`],
    ['acme.listen', (at: string) => `${QUIET}[acme]\naccept_terms = true\nlisten = "${at}"`],
  ])('%s in use, or not an address of this machine', async (key, toml) => {
    const inUse = await refusal('serve', toml(`127.0.0.1:${port}`));
    expect([inUse.code, ...told(inUse)]).toEqual([
      1,
      `${key}: 127.0.0.1 port ${port} is in use by another program`,
      'Stop that program, or set another address in the config file.',
    ]);
    const foreign = await refusal('serve', toml('192.0.2.7:8025'));
    expect([foreign.code, told(foreign)[0]]).toEqual([
      1,
      `${key}: 192.0.2.7 port 8025 is not an address of this machine`,
    ]);
  });
});

describeWith(['root'], 'for a user without rights', () => {
  test('a certificate that it may not read', async () => {
    const NOBODY = 65_534;
    const [cert, binary] = [join(folder, 'closed.pem'), BINARY];
    writeFileSync(cert, 'x', { mode: 0o600 });
    chmodSync(folder, 0o755);
    writeFileSync(file, `${QUIET}tls_cert = "${cert}"\ntls_key = "/dev/null"`);
    const run = Bun.spawnSync(
      [
        '/usr/bin/setpriv',
        `--reuid=${NOBODY}`,
        '--clear-groups',
        binary,
        'check',
        '--config',
        file,
      ],
      { stdout: 'pipe', stderr: 'pipe' },
    );
    expect(run.exitCode).toBe(78);
    expect(run.stderr.toString()).toStartWith(
      `${file}:5: http.tls_cert names a file that cannot be read: ${cert}\n`,
    );
  });
});
