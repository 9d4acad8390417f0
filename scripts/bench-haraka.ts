/**
 * Haraka as a contender: two workers, its own DKIM plugin with RSA-2048, mail over SMTP on kept connections.
 *
 * Not a dependency: npm installs the two pinned packages below dist/ at the first use, and needs the network for that.
 * Haraka runs under Node.js, as its authors run it, with its own defaults; it syncs its queue file before it answers 250.
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { generateDkimKey } from '../src/mail/dkim/dkim.ts';
import { DOMAINS, SENDER_DOMAIN } from './bench-contender.ts';
import type { Contender } from './bench-contender.ts';
import { connectSmtp } from './bench-smtp.ts';

const VERSIONS = ['Haraka@3.3.4', 'haraka-plugin-dkim@1.3.1'];
const WORKERS = 2;
const START_MS = 30_000;

/** Takes mail from and for anybody, and knows the receivers without DNS. */
const PLUGIN = `
exports.register = function () {
  this.register_hook('connect', 'relay');
  this.register_hook('rcpt', 'take');
  this.register_hook('get_mx', 'route');
};
exports.relay = (next, connection) => {
  connection.relaying = true;
  next();
};
exports.take = (next) => next(OK);
exports.route = (next, hmail, domain) => {
  const number = Number(/^bench(\\d+)\\.test$/.exec(domain)?.[1]);
  if (!(number < ${DOMAINS})) return next(DENY, 'no receiver of the benchmark');
  next(OK, { priority: 0, exchange: '127.0.1.' + number, port: Number(process.env.RECEIVER_PORT) });
};
`;

const CONFIGS: Record<string, string> = {
  plugins: 'receivers\ndkim\n',
  'log.ini': '[main]\nlevel=error\n',
  'outbound.ini': '[main]\nenable_tls=false\nlocal_mx_ok=true\n',
  'dkim.ini':
    `[main]\n[sign]\nenabled=true\nselector=bench\ndomain=${SENDER_DOMAIN}\n` +
    'headers=From, Reply-To, Subject, Date, Message-ID, To, Cc, MIME-Version, Content-Type\n' +
    '[canon]\nbody=relaxed\n[verify]\nenabled=false\n',
  me: 'mail.bench.test\n',
};

/** Where npm has put it; installs it when it is not there yet. Throws with what npm said. */
async function installed(): Promise<string> {
  const folder = join(import.meta.dir, '../dist', VERSIONS.join('_'));
  const program = join(folder, 'node_modules/Haraka/haraka.js');
  const done = join(folder, 'complete');
  if (existsSync(done)) return program;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"private":true}\n');
  const options = ['--ignore-scripts', '--omit=optional', '--no-audit', '--no-fund'];
  const child = Bun.spawn(['npm', 'install', '--loglevel=error', ...options, ...VERSIONS], {
    cwd: folder,
    stdout: 'ignore',
    stderr: 'pipe',
  });
  const text = await new Response(child.stderr).text();
  if ((await child.exited) !== 0) throw new Error(text);
  writeFileSync(done, '');
  return program;
}

/** In words why it cannot run here; null: it can. */
export async function missingHaraka(): Promise<string | null> {
  const absent = ['node', 'npm'].filter((program) => Bun.which(program) === null);
  if (absent.length > 0) return `not installed: no ${absent.join(', ')}`;
  try {
    await installed();
    return null;
  } catch (error) {
    const [why = ''] = String(error).split('\n');
    return `not installed: npm says ${why}`;
  }
}

export async function startHaraka(ports: { receiver: number; smtp: number }): Promise<Contender> {
  const program = await installed();
  const folder = mkdtempSync(join(tmpdir(), 'haraka-bench-'));
  // Its own defaults, as its installer copies them; a section that is missing breaks it.
  cpSync(join(dirname(program), 'config'), join(folder, 'config'), { recursive: true });
  const keys = join(folder, 'config/dkim', SENDER_DOMAIN);
  for (const made of [keys, join(folder, 'plugins'), join(folder, 'queue')]) {
    mkdirSync(made, { recursive: true });
  }
  writeFileSync(join(folder, 'plugins/receivers.js'), PLUGIN);
  for (const [name, text] of Object.entries(CONFIGS)) {
    writeFileSync(join(folder, 'config', name), text);
  }
  writeFileSync(
    join(folder, 'config/smtp.ini'),
    `[main]\nlisten=127.0.0.1:${ports.smtp}\nnodes=${WORKERS}\n`,
  );
  const { privateKeyPem } = await generateDkimKey();
  writeFileSync(join(keys, 'private'), privateKeyPem, { mode: 0o600 });
  writeFileSync(join(keys, 'selector'), 'bench\n');
  const log = join(folder, 'haraka.log');
  const child = Bun.spawn(['node', program], {
    cwd: folder,
    env: { ...process.env, HARAKA: folder, RECEIVER_PORT: String(ports.receiver) },
    stdout: Bun.file(log),
    stderr: Bun.file(log),
  });
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL');
    await child.exited;
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await answering(ports.smtp, () => child.exitCode !== null);
  } catch (error) {
    const said = await Bun.file(log).text();
    await stop();
    throw new Error(`${String(error)}: ${said.trim().split('\n').at(-1) ?? ''}`, { cause: error });
  }
  return { name: 'haraka', pids: [child.pid], connect: () => connectSmtp(ports.smtp), stop };
}

/** Waits until a session opens. */
async function answering(port: number, hasEnded: () => boolean): Promise<void> {
  const until = Date.now() + START_MS;
  while (Date.now() < until && !hasEnded()) {
    try {
      (await connectSmtp(port)).close();
      return;
    } catch {
      await Bun.sleep(100);
    }
  }
  throw new Error(hasEnded() ? 'it ended' : 'it does not listen');
}
