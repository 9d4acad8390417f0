/**
 * Postrider as a contender: the compiled binary with a data directory of its own, direct delivery, mail
 * over the HTTP API on kept connections.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Names } from '../test/rig/names.ts';
import { HTML, SENDER_DOMAIN, TEXT } from './bench-contender.ts';
import type { Connection, Contender } from './bench-contender.ts';

/** `program`: the executable to measure. */
export async function startPostrider(
  names: Names,
  receiverPort: number,
  program: string,
): Promise<Contender> {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-bench-'));
  const configFile = join(folder, 'postrider.toml');
  const command = async (...args: string[]): Promise<Record<string, unknown>> => {
    const child = Bun.spawn([program, ...args, '--json', '--config', configFile], {
      stderr: 'pipe',
    });
    const text = await new Response(child.stdout).text();
    if ((await child.exited) !== 0) throw new Error(await new Response(child.stderr).text());
    return JSON.parse(text) as Record<string, unknown>;
  };
  const dataDir = join(folder, 'data');
  await command('init', '--hostname', 'mail.bench.test', '--data-dir', dataDir);
  writeFileSync(
    configFile,
    `hostname = "mail.bench.test"
data_dir = "${dataDir}"
[http]
listen = "127.0.0.1:0"
[delivery]
port = ${receiverPort}
allow_networks = ["127.0.0.0/8"]
[dns]
servers = ["${names.listen.host}:${names.listen.port}"]
[[plans]]
id = "bench"
rate_per_second = 100000
`,
  );
  await command('account', 'create', 'bench', '--plan', 'bench');
  const key = await command('key', 'create', '--account', 'bench', '--name', 'bench');
  const domain = await command('domain', 'add', SENDER_DOMAIN, '--account', 'bench');
  const records = domain['records'] as { type: 'TXT' | 'CNAME'; name: string; value: string }[];
  for (const { type, name, value } of records) names.set(name, type, [value]);
  await command('domain', 'verify', SENDER_DOMAIN);
  const child = Bun.spawn([program, 'serve', '--json', '--config', configFile], {
    env: { ...process.env, ...unitEnvironment() },
    stdout: 'pipe',
    stderr: Bun.file(join(folder, 'serve.log')),
  });
  const { value } = await child.stdout.getReader().read();
  const { http } = JSON.parse(new TextDecoder().decode(value)) as { http: string };
  return {
    name: 'postrider',
    pids: [child.pid],
    connect: () => connect(new URL(http), String(key['token'] ?? key['key'])),
    async stop() {
      child.kill('SIGTERM');
      await child.exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** What the systemd unit sets for the server. */
export function unitEnvironment(): Record<string, string> {
  const unit = readFileSync(join(import.meta.dir, '../packaging/postrider.service'), 'utf8');
  const lines = unit.matchAll(/^Environment=(\w+)=(\S*)$/gm);
  return Object.fromEntries(Array.from(lines, ([, name = '', value = '']) => [name, value]));
}

/** HTTP/1.1 by hand on one kept connection: the generator must cost little. */
async function connect(url: URL, key: string): Promise<Connection> {
  let answered: ((text: string) => void) | null = null;
  let pending = '';
  const socket = await Bun.connect({
    hostname: url.hostname,
    port: Number(url.port),
    socket: {
      data(_socket, chunk) {
        pending += chunk.toString('latin1');
        const end = pending.indexOf('\r\n\r\n');
        if (end < 0) return;
        const length = Number(/content-length: (\d+)/i.exec(pending)?.[1] ?? 0);
        if (pending.length < end + 4 + length) return;
        const answer = pending;
        pending = '';
        answered?.(answer);
      },
      close() {
        answered?.('closed');
      },
    },
  });
  const from = `Shop <shop@${SENDER_DOMAIN}>`;
  const rest = JSON.stringify({ from, subject: 'Sent', html: HTML, text: TEXT }).slice(1);
  return {
    async submit(recipient) {
      // All of it is ASCII, and written but once.
      const body = `{"to":"${recipient}",${rest}`;
      const answer = new Promise<string>((resolve) => (answered = resolve));
      socket.write(
        `POST /emails HTTP/1.1\r\nHost: ${url.host}\r\nAuthorization: Bearer ${key}\r\n` +
          `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      );
      const text = await answer;
      if (!/^HTTP\/1\.1 2\d\d/.test(text)) throw new Error(text.slice(0, 600));
    },
    close: () => socket.end(),
  };
}
