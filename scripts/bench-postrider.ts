/**
 * Postrider as a contender: the compiled binary with a data directory of its own, direct delivery, mail
 * over the HTTP API on kept connections.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Names } from '../test/rig/names.ts';
import { SENDER_DOMAIN } from './bench-contender.ts';
import type { Contender } from './bench-contender.ts';
import { connectHttp } from './bench-http.ts';

const ACCOUNT = 'bench';

/** A running server. */
export interface Server extends Contender {
  pid: number;
  /** Base URL of the API. */
  url: string;
  /** From the start of the process to the line that says it is ready. */
  readyMs: number;
}

/** A data directory with its config, one account and a verified domain; nothing runs yet. */
export interface Installation {
  dataDir: string;
  accountId: string;
  /** Of the account, with full access. */
  key: string;
  /** Runs a command with `--json`; returns what it prints. Throws with standard error when it fails. */
  command: (...args: string[]) => Promise<Record<string, unknown>>;
  serve(): Promise<Server>;
  remove(): void;
}

/** Limits that older executables, which `compare` runs too, neither know nor have. */
const NEWER_LIMITS = /^(?:requests_per_address|reads_per_minute) = .*\n/gm;

/**
 * `program`: the executable to measure. `moreConfig`: TOML after the tables `http`, `delivery`, `dns` and the first plan.
 */
export async function installPostrider(
  names: Names,
  receiverPort: number,
  program: string,
  moreConfig = '',
): Promise<Installation> {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-bench-'));
  const configFile = join(folder, 'postrider.toml');
  const command: Installation['command'] = async (...args) => {
    const child = Bun.spawn([program, ...args, '--json', '--config', configFile], {
      stdout: 'pipe',
      stderr: 'pipe',
    });
    const text = await new Response(child.stdout).text();
    if ((await child.exited) !== 0) throw new Error(await new Response(child.stderr).text());
    return JSON.parse(text) as Record<string, unknown>;
  };
  const dataDir = join(folder, 'data');
  await command('init', '--hostname', 'mail.bench.test', '--data-dir', dataDir);
  const config = `hostname = "mail.bench.test"
data_dir = "${dataDir}"
[http]
listen = "127.0.0.1:0"
requests_per_address = 100000
[delivery]
port = ${receiverPort}
allow_networks = ["127.0.0.0/8"]
[dns]
servers = ["${names.listen.host}:${names.listen.port}"]
[[plans]]
id = "bench"
rate_per_second = 100000
reads_per_minute = 10000000
${moreConfig}`;
  writeFileSync(configFile, config);
  const checked = Bun.spawnSync([program, 'check', '--config', configFile]);
  if (!checked.success) writeFileSync(configFile, config.replaceAll(NEWER_LIMITS, ''));
  const account = await command('account', 'create', ACCOUNT, '--plan', 'bench');
  const rights = ['--permission', 'full_access', '--name', 'bench'];
  const key = await command('key', 'create', '--account', ACCOUNT, ...rights);
  const domain = await command('domain', 'add', SENDER_DOMAIN, '--account', ACCOUNT);
  const records = domain['records'] as { type: 'TXT' | 'CNAME'; name: string; value: string }[];
  const publish = (): void => {
    for (const { type, name, value } of records) names.set(name, type, [value]);
  };
  publish();
  await command('domain', 'verify', SENDER_DOMAIN);
  const token = String(key['token'] ?? key['key']);
  return {
    dataDir,
    accountId: String(account['id']),
    key: token,
    command,
    serve() {
      // Another installation may have published its own meanwhile.
      publish();
      return serve(program, folder, configFile, token);
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

async function serve(
  program: string,
  folder: string,
  configFile: string,
  key: string,
): Promise<Server> {
  const log = join(folder, 'serve.log');
  const began = performance.now();
  const child = Bun.spawn([program, 'serve', '--json', '--config', configFile], {
    env: { ...process.env, ...unitEnvironment() },
    stdout: 'pipe',
    stderr: Bun.file(log),
  });
  const { value } = await child.stdout.getReader().read();
  const readyMs = performance.now() - began;
  if (value === undefined) {
    throw new Error(`serve ended with ${await child.exited}: ${readFileSync(log, 'utf8')}`);
  }
  const { http } = JSON.parse(new TextDecoder().decode(value)) as { http: string };
  return {
    name: 'postrider',
    pid: child.pid,
    pids: [child.pid],
    url: http,
    readyMs,
    connect: () => connectHttp(new URL(http), key),
    async stop() {
      child.kill('SIGTERM');
      await child.exited;
    },
  };
}

/** Installs and starts; `stop` removes the installation, too. */
export async function startPostrider(
  names: Names,
  receiverPort: number,
  program: string,
): Promise<Server> {
  const installation = await installPostrider(names, receiverPort, program);
  try {
    const server = await installation.serve();
    return {
      ...server,
      async stop() {
        await server.stop();
        installation.remove();
      },
    };
  } catch (error) {
    installation.remove();
    throw error;
  }
}

/** What the systemd unit sets for the server. */
export function unitEnvironment(): Record<string, string> {
  const unit = readFileSync(join(import.meta.dir, '../packaging/postrider.service'), 'utf8');
  const lines = unit.matchAll(/^Environment=(\w+)=(\S*)$/gm);
  return Object.fromEntries(Array.from(lines, ([, name = '', value = '']) => [name, value]));
}
