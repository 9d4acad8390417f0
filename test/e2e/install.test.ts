/**
 * install.sh with real builds, staged under --root: first installation, upgrade, forced roll-back, removal; and the
 * unit as systemd itself rates it.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { BINARY, PLATFORM } from '../rig/binary.ts';
import { describeWith } from '../rig/programs.ts';

const ROOT = join(import.meta.dir, '../..');
/** Highest exposure that the unit may have, by systemd-analyze's own scale of 0 to 10. */
const EXPOSURE_MAX = 1.5;

interface Done {
  code: number;
  output: string;
}

function run(command: string[], env: Record<string, string> = {}): Done {
  const done = Bun.spawnSync(command, { env: { ...process.env, ...env }, stderr: 'pipe' });
  return { code: done.exitCode, output: done.stdout.toString() + done.stderr.toString() };
}

describeWith(['openssl', 'systemd-analyze'], 'install.sh', () => {
  let folder: string;
  let staged: string;
  let installed: string;
  let config: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'install-'));
    staged = join(folder, 'staged');
    installed = join(staged, 'usr/local/bin/postrider');
    config = join(staged, 'etc/postrider/postrider.toml');
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** A release folder as it is handed out: the binary under its platform's name, checksums, everything beside it. */
  function release(name: string, binary: string): string {
    const at = join(folder, name);
    mkdirSync(at);
    copyFileSync(binary, join(at, `postrider-${PLATFORM}`));
    for (const file of ['install.sh', 'README.md', 'CHANGELOG.md', 'LICENSE']) {
      copyFileSync(join(ROOT, file), join(at, file));
    }
    cpSync(join(ROOT, 'packaging'), join(at, 'packaging'), { recursive: true });
    chmodSync(join(at, 'install.sh'), 0o755);
    writeFileSync(
      join(at, 'SHA256SUMS'),
      run(['sh', '-c', `cd ${at} && sha256sum postrider-*`]).output,
    );
    return at;
  }

  /** A build of the present source with another version, changed by `change`. */
  function otherBuild(version: string, change: (source: string) => void): string {
    const source = join(folder, `source-${version}`);
    mkdirSync(source);
    for (const name of ['src', 'migrations', 'scripts', 'package.json', 'tsconfig.json']) {
      cpSync(join(ROOT, name), join(source, name), { recursive: true });
    }
    symlinkSync(join(ROOT, 'node_modules'), join(source, 'node_modules'));
    edit(join(source, 'package.json'), /"version": "[^"]+"/, `"version": "${version}"`);
    change(source);
    const built = run([process.execPath, join(source, 'scripts/build.ts')]);
    if (built.code !== 0) throw new Error(built.output);
    return join(source, 'dist/postrider');
  }

  function install(from: string, ...args: string[]): Done {
    return run([join(from, 'install.sh'), '--root', staged, ...args]);
  }
  /** The words of a setting of the unit, paths below the staged root. */
  function unitWords(setting: string): string[] {
    const unit = readFileSync(join(staged, 'etc/systemd/system/postrider.service'), 'utf8');
    return (new RegExp(`^${setting}=(.*)$`, 'm').exec(unit)?.[1] ?? '')
      .split(' ')
      .map((word) => (word.startsWith('/') ? staged + word : word));
  }
  const versionNow = (): string =>
    (JSON.parse(run([installed, 'version', '--json']).output) as { version: string }).version;
  const accounts = (): string => run([installed, 'account', 'list', '--config', config]).output;

  test('a wrong checksum is refused before anything is written', () => {
    const at = release('torn', BINARY);
    const file = join(at, `postrider-${PLATFORM}`);
    writeFileSync(join(at, 'SHA256SUMS'), `${'0'.repeat(64)}  postrider-${PLATFORM}\n`);
    const done = install(at, '--hostname', 'mail.example.com');
    expect(done.code).toBe(1);
    expect(done.output).toContain('checksum');
    expect(existsSync(installed)).toBe(false);
    expect(existsSync(file)).toBe(true);
  });

  test('the first installation asks for a host name, then prints password, key and the next steps', () => {
    const at = release('first', BINARY);
    const asked = install(at);
    expect(asked.code).toBe(1);
    expect(asked.output).toContain('--hostname');
    const done = install(at, '--hostname', 'mail.example.com');
    expect(done.output).toMatch(/pr_live_\w{20,}/);
    for (const step of [
      '1. DNS of this machine',
      '2. postrider doctor',
      '3. postrider domain add',
    ]) {
      expect(done.output).toContain(step);
    }
    expect(done.code).toBe(0);
    expect(statSync(join(staged, 'var/lib/postrider')).mode & 0o077).toBe(0);
    const manual = readFileSync(join(staged, 'usr/local/share/man/man1/postrider.1'), 'utf8');
    expect(manual).toContain('.SS domain verify');
    expect(readFileSync(config, 'utf8')).toContain('hostname = "mail.example.com"');
    expect(run([installed, 'check', '--config', config]).code).toBe(0);
  });

  test('what the unit would start, started by hand, serves and reloads', async () => {
    edit(config, /^listen = .*$/m, 'listen = "127.0.0.1:0"');
    const child = Bun.spawn(unitWords('ExecStart'), { stdout: 'pipe', stderr: 'ignore' });
    try {
      const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
      expect((await reader.read()).value).toContain('ready');
      expect(accounts()).toContain('default');
      expect(run(unitWords('ExecReload'))).toMatchObject({ code: 0 });
    } finally {
      // Whatever went wrong: the tests below would find it running.
      child.kill('SIGTERM');
    }
    expect(await child.exited).toBe(0);
  });

  test('an upgrade beside a running server is refused: its health check would ask the wrong one', async () => {
    const before = readFileSync(installed);
    const child = Bun.spawn(unitWords('ExecStart'), { stdout: 'pipe', stderr: 'ignore' });
    try {
      const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
      expect((await reader.read()).value).toContain('ready');
      const asked = run([installed, 'version', '--server', '--json', '--config', config]);
      expect(JSON.parse(asked.output)).toMatchObject({ pid: child.pid });
      const done = install(release('beside', BINARY));
      expect(done.output).toContain('a server runs on');
      expect(done.code).toBe(1);
      expect(readFileSync(installed).equals(before)).toBe(true);
      expect(existsSync(join(staged, 'var/lib/postrider/backups'))).toBe(false);
    } finally {
      child.kill('SIGTERM');
    }
    expect(await child.exited).toBe(0);
    const alone = run([installed, 'version', '--server', '--config', config]);
    expect(alone.code).toBe(1);
    expect(alone.output).toContain('No server is running');
  });

  test('a start that only the operator can fix is not tried again', () => {
    const serve = unitWords('ExecStart');
    const usage = run([...serve, '--no-such-option']);
    const wrong = join(folder, 'wrong.toml');
    writeFileSync(wrong, `${readFileSync(config, 'utf8')}\nno_such_key = 1\n`);
    const broken = run(serve.map((word) => (word === config ? wrong : word)));
    expect(unitWords('RestartPreventExitStatus').map(Number)).toEqual([usage.code, broken.code]);
    expect([usage.code, broken.code]).toEqual([64, 78]);
  });

  test('systemd never gives up starting it', () => {
    expect(unitWords('Restart')).toEqual(['always']);
    expect(unitWords('StartLimitIntervalSec')).toEqual(['0']);
    expect(unitWords('RestartSec').map(Number)).toEqual([2]);
  });

  test('systemd takes the unit and finds it hardened', () => {
    // A root with systemd's own units, so that what ours refers to is there.
    const root = join(folder, 'verify');
    cpSync(staged, root, { recursive: true });
    mkdirSync(join(root, 'lib/systemd'), { recursive: true });
    cpSync('/lib/systemd/system', join(root, 'lib/systemd/system'), { recursive: true });
    const verified = run([
      '/usr/bin/systemd-analyze',
      `--root=${root}`,
      'verify',
      'postrider.service',
    ]);
    const about = verified.output.split('\n').filter((line) => line.includes('postrider'));
    expect(about).toEqual([]);

    const unit = join(staged, 'etc/systemd/system/postrider.service');
    const rated = run([
      '/usr/bin/systemd-analyze',
      'security',
      '--offline=yes',
      '--no-pager',
      unit,
    ]);
    const exposure = Number(
      /exposure level for postrider\.service: ([\d.]+)/.exec(rated.output)?.[1],
    );
    expect(exposure).toBeGreaterThan(0);
    expect(exposure).toBeLessThanOrEqual(EXPOSURE_MAX);
  });

  test('again is an upgrade: a backup before, the new version after, data as before', () => {
    const created = run([installed, 'account', 'create', 'kept', '--config', config]);
    expect(created.code).toBe(0);
    const before = versionNow();
    const done = install(
      release(
        'second',
        otherBuild('99.0.1', () => undefined),
      ),
    );
    expect(done.output).toContain(`${before} to 99.0.1`);
    expect(done.code).toBe(0);
    expect(versionNow()).toBe('99.0.1');
    expect(accounts()).toContain('kept');
    const backups = readdirSync(join(staged, 'var/lib/postrider/backups'));
    expect(backups.some((name) => name.startsWith('before-99.0.1-'))).toBe(true);
  }, 60_000);

  test('a version that migrates and then does not start is rolled back, program and data', () => {
    const broken = otherBuild('99.0.2', (source) => {
      writeFileSync(
        join(source, 'migrations/mail/0099_broken.sql'),
        'ALTER TABLE accounts RENAME TO accounts_gone;',
      );
      edit(
        join(source, 'src/store/sqlite/migrations.ts'),
        /export const LOG_MIGRATIONS/,
        `import mail0099 from '../../../migrations/mail/0099_broken.sql' with { type: 'text' };
(MAIL_MIGRATIONS as Migration[]).push({ version: 99, name: 'broken', sql: mail0099 });
export const LOG_MIGRATIONS`,
      );
    });
    const done = install(release('third', broken));
    expect(done.output).toContain('rolling back');
    expect(done.output).toContain('rolled back to 99.0.1');
    expect(done.code).toBe(1);
    expect(versionNow()).toBe('99.0.1');
    expect(accounts()).toContain('kept');
  }, 60_000);

  test('--uninstall takes the program and keeps config and data', () => {
    const done = install(ROOT, '--uninstall');
    expect(done.code).toBe(0);
    expect(existsSync(installed)).toBe(false);
    expect(existsSync(join(staged, 'etc/systemd/system/postrider.service'))).toBe(false);
    expect(existsSync(config)).toBe(true);
    expect(existsSync(join(staged, 'var/lib/postrider/mail.db'))).toBe(true);
  });
});

function edit(file: string, what: RegExp, by: string): void {
  const text = readFileSync(file, 'utf8');
  if (!what.test(text)) throw new Error(`${file} has no ${what}`);
  writeFileSync(file, text.replace(what, by));
}
