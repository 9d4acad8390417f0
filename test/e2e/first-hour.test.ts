/**
 * From an installer to a dashboard in a browser: by `install.sh --acme` with an authority, and behind Caddy and nginx as
 * packaging/ configures them. On the compiled binary.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { get } from 'node:https';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Arrivals } from '../rig/arrivals.ts';
import { BINARY, BinaryAppliance, PLATFORM } from '../rig/binary.ts';
import type { LogLine } from '../rig/binary.ts';
import { testAuthority } from '../rig/certificates.ts';
import { startNames } from '../rig/names.ts';
import { startPebble } from '../rig/pebble.ts';
import { freePorts } from '../rig/ports.ts';
import { describeWith } from '../rig/programs.ts';

const ROOT = join(import.meta.dir, '../..');
const NAME = 'mail.example.com';
const FORM = 'name="password"';

interface Seen {
  status: number;
  headers: Record<string, unknown>;
  text: string;
}

/** Asks 127.0.0.1 as if it were `NAME`, trusting `ca`. */
function ask(port: number, path: string, ca: string, headers: Record<string, string> = {}) {
  return new Promise<Seen>((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path, ca, servername: NAME, agent: false as const };
    const call = get({ ...options, headers: { host: NAME, ...headers } }, (answer) => {
      let text = '';
      answer.on('data', (chunk: Buffer) => (text += chunk.toString()));
      answer.on('end', () =>
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }),
      );
    });
    call.once('error', reject);
  });
}

describe('without a path', () => {
  let appliance: BinaryAppliance;
  beforeAll(async () => {
    appliance = await BinaryAppliance.start();
  });
  afterAll(() => appliance.stop());

  const open = (path: string, accept: string, method = 'GET') =>
    fetch(appliance.url + path, { method, headers: { accept }, redirect: 'manual' });

  test('a browser is led to the dashboard, a client of the API is not', async () => {
    const browser = await open('/', 'text/html,application/xhtml+xml,*/*;q=0.8');
    expect([browser.status, browser.headers.get('location')]).toEqual([302, '/dashboard']);
    expect((await fetch(`${appliance.url}/`, { headers: { accept: 'text/html' } })).url).toBe(
      `${appliance.url}/dashboard`,
    );
    for (const accept of ['*/*', 'application/json']) {
      expect((await open('/', accept)).status).toBe(404);
    }
    expect((await open('/', 'text/html', 'POST')).status).toBe(404);
    expect((await open('/emails', 'text/html')).status).toBe(401);
  });

  test('there is an icon by its old name', async () => {
    const icon = await open('/favicon.ico', 'image/*');
    expect([icon.status, icon.headers.get('content-type')]).toEqual([200, 'image/svg+xml']);
    expect(await icon.text()).toStartWith('<svg');
  });
});

/** Runs install.sh from a release folder, staged below `folder`. */
function install(folder: string, ...args: string[]) {
  const release = join(folder, 'release');
  mkdirSync(release);
  copyFileSync(BINARY, join(release, `postrider-${PLATFORM}`));
  copyFileSync(join(ROOT, 'install.sh'), join(release, 'install.sh'));
  cpSync(join(ROOT, 'packaging'), join(release, 'packaging'), { recursive: true });
  const staged = join(folder, 'staged');
  const command = ['sh', join(release, 'install.sh'), '--root', staged, '--hostname', NAME];
  const done = Bun.spawnSync([...command, ...args], { stderr: 'pipe' });
  return { staged, code: done.exitCode, output: done.stdout.toString() + done.stderr.toString() };
}

describe('the last lines of the installer', () => {
  test('name the dashboard, a tunnel and what to put in front', () => {
    const folder = mkdtempSync(join(tmpdir(), 'first-hour-'));
    try {
      const { code, output, staged } = install(folder);
      expect([code, output]).toEqual([0, expect.stringContaining('127.0.0.1:8025/dashboard')]);
      expect(output).toContain(`ssh -N -L 8025:127.0.0.1:8025 root@${NAME}`);
      for (const file of ['Caddyfile', 'nginx.conf']) {
        const path = join(staged, 'usr/local/share/doc/postrider', file);
        expect(output).toContain(path);
        expect(readFileSync(path, 'utf8')).toContain('127.0.0.1:8025');
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describeWith(['openssl', 'pebble'], 'install.sh --acme', () => {
  const started: { stop(): Promise<void> }[] = [];
  afterAll(async () => {
    for (const one of started.toReversed()) await one.stop();
  });

  test('leads to the dashboard under https, with a certificate that browsers trust', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'first-hour-'));
    started.push({ stop: async () => rmSync(folder, { recursive: true, force: true }) });
    const names = await startNames();
    started.push(names);
    names.set(NAME, 'A', ['127.0.0.1']);
    const pebble = await startPebble(testAuthority(), names);
    started.push(pebble);
    const { code, output, staged } = install(folder, '--acme', 'admin@example.com');
    expect([code, output]).toEqual([0, expect.stringContaining(`https://${NAME}/dashboard`)]);

    // Everything but what the rig must be: its ports, its authority, its DNS.
    const file = join(staged, 'etc/postrider/postrider.toml');
    const [port = 0] = await freePorts(1);
    const config = readFileSync(file, 'utf8')
      .replace(/^listen = "0.0.0.0:443"$/m, `listen = "0.0.0.0:${port}"`)
      .replace(/^listen = "0.0.0.0:80"$/m, `listen = "127.0.0.1:${pebble.challengePort}"`)
      .replace(/^directory_url = .*$/m, `directory_url = "${pebble.directoryUrl}"`)
      .replace(/^servers = .*$/m, `servers = ["${names.listen.host}:${names.listen.port}"]`)
      .replace(/^extra_ca_file = .*$/m, `extra_ca_file = "${testAuthority().certFile}"`);
    writeFileSync(file, config);
    const program = join(staged, 'usr/local/bin/postrider');
    const child = Bun.spawn([program, 'serve', '--config', file], {
      stdout: 'ignore',
      stderr: 'pipe',
    });
    started.push({
      async stop() {
        child.kill('SIGKILL');
        await child.exited;
      },
    });
    const log = new Arrivals<LogLine>('log lines');
    void (async () => {
      let text = '';
      const decoder = new TextDecoder();
      for await (const chunk of child.stderr) {
        const lines = (text + decoder.decode(chunk, { stream: true })).split('\n');
        text = lines.pop() ?? '';
        for (const line of lines) log.push(JSON.parse(line) as LogLine);
      }
    })();
    await log.first(({ event }) => event === 'certificate_renewed', 60_000);
    const ca = await pebble.root();
    const page = await ask(port, '/dashboard', ca);
    expect([page.status, page.text]).toEqual([200, expect.stringContaining(FORM)]);
    expect(page.headers['strict-transport-security']).toBeDefined();
    const root = await ask(port, '/', ca, { accept: 'text/html' });
    expect([root.status, root.headers['location']]).toEqual([302, '/dashboard']);
  }, 120_000);
});

/** What packaging/ has for a proxy, with the rig's ports and certificate. */
interface Proxy {
  config(behind: string, port: number, certFile: string, keyFile: string): string;
  command(file: string, folder: string): string[];
}

const PROXIES: Record<'caddy' | 'nginx', Proxy> = {
  caddy: {
    config: (behind, port, certFile, keyFile) =>
      `{\n\tadmin off\n\tauto_https off\n}\n${readFileSync(join(ROOT, 'packaging/Caddyfile'), 'utf8')}`
        .replaceAll('127.0.0.1:8025 {', `${behind} {`)
        .replace(/^mail\.example\.com \{$/m, `${NAME}:${port} {\n\ttls ${certFile} ${keyFile}`),
    command: (file) => ['/usr/bin/caddy', 'run', '--adapter', 'caddyfile', '--config', file],
  },
  nginx: {
    config: (behind, port, certFile, keyFile) =>
      `daemon off;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n${[
        'client_body',
        'proxy',
        'fastcgi',
        'uwsgi',
        'scgi',
      ]
        .map((kind) => `${kind}_temp_path TEMP/${kind};`)
        .join('\n')}\n${readFileSync(join(ROOT, 'packaging/nginx.conf'), 'utf8')}\n}\n`
        .replace('proxy_pass http://127.0.0.1:8025;', `proxy_pass http://${behind};`)
        .replace('listen 443 ssl;', `listen 127.0.0.1:${port} ssl;`)
        .replace('/etc/ssl/postrider/fullchain.pem', certFile)
        .replace('/etc/ssl/postrider/privkey.pem', keyFile),
    command: (file, folder) => [
      '/usr/sbin/nginx',
      '-p',
      folder,
      '-g',
      `pid ${folder}/pid;`,
      '-c',
      file,
    ],
  },
};

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port }, () => {
      resolve(true);
      socket.destroy();
    });
    socket.once('error', () => resolve(false));
  });
}

describe.each(['caddy', 'nginx'] as const)('behind', (program) => {
  describeWith(['openssl', program], program, () => {
    const folder = mkdtempSync(join(tmpdir(), `${program}-`));
    let appliance: BinaryAppliance;
    let proxy: Bun.Subprocess;
    let port = 0;

    beforeAll(async () => {
      appliance = await BinaryAppliance.start({
        config: `public_url = "https://${NAME}"\ntrusted_proxies = ["127.0.0.1/32"]`,
      });
      [port = 0] = await freePorts(1);
      const { certFile, keyFile } = testAuthority().issue([NAME]);
      const file = join(folder, 'config');
      const behind = new URL(appliance.url).host;
      const text = PROXIES[program].config(behind, port, certFile, keyFile);
      writeFileSync(file, text.replaceAll('TEMP', folder));
      proxy = Bun.spawn(PROXIES[program].command(file, folder), {
        env: { HOME: folder, PATH: process.env['PATH'] ?? '' },
        stdout: 'ignore',
        stderr: Bun.file(join(folder, 'log')),
      });
      while (!(await isOpen(port))) {
        if (proxy.exitCode !== null) throw new Error(readFileSync(join(folder, 'log'), 'utf8'));
        await Bun.sleep(20);
      }
    }, 30_000);

    afterAll(async () => {
      proxy.kill('SIGKILL');
      await proxy.exited;
      await appliance.stop();
      rmSync(folder, { recursive: true, force: true });
    });

    test('the dashboard opens, and the log has the address of the client', async () => {
      const ca = testAuthority().cert;
      const page = await ask(port, '/dashboard', ca);
      expect([page.status, page.text]).toEqual([200, expect.stringContaining(FORM)]);
      expect(page.headers['strict-transport-security']).toBeDefined();
      // A client cannot name another address than its own.
      const forged = {
        'x-forwarded-for': '203.0.113.9',
        authorization: `Bearer ${appliance.made.key}`,
      };
      expect((await ask(port, '/domains', ca, forged)).status).toBe(200);
      const logs = await ask(port, '/logs', ca, { authorization: `Bearer ${appliance.made.key}` });
      const [row] = (JSON.parse(logs.text) as { data: { id: string }[] }).data;
      const one = await ask(port, `/logs/${row?.id}`, ca, {
        authorization: `Bearer ${appliance.made.key}`,
      });
      expect(JSON.parse(one.text)).toMatchObject({ path: '/domains', ip: '127.0.0.1' });
    });
  });
});
