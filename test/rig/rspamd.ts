/**
 * A real rspamd on loopback: Debian's rules with an own config, data and log below one temporary folder.
 *
 * Promises that the machine's own rspamd, if there is one, is not touched, that it asks nobody (no Redis, no fuzzy
 * storage, no list; its resolver is a port where nothing answers), and that `stop` ends every process it started.
 */
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { PROGRAMS } from './programs.ts';
import { freePorts } from './ports.ts';

const USER = '_rspamd';
/** Refused as spam by every spam filter (spamassassin.apache.org/gtube). */
export const GTUBE = 'XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X';
const READY_MS = 30_000;

export interface Rspamd {
  /** Of its normal worker, which takes messages. */
  url: string;
  /** Of its controller, which wants a password. */
  controllerUrl: string;
  log(): string;
  stop(): Promise<void>;
}

/** Ports that are free when it is started may be taken when, seconds later, it binds them: then others are tried. */
export async function startRspamd(triesLeft = 2): Promise<Rspamd> {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-rspamd-'));
  const data = join(folder, 'data');
  mkdirSync(data);
  chmodSync(folder, 0o755);
  const isRoot = process.getuid?.() === 0;
  if (isRoot) {
    const owner = Number(Bun.spawnSync(['id', '-u', USER]).stdout.toString());
    chownSync(data, owner, owner);
  }
  const [port = 0, controllerPort = 0] = await freePorts(2);
  writeFileSync(join(folder, 'rspamd.conf'), configText(port, controllerPort));
  // Debian's list of top-level domains takes ten seconds to compile.
  writeFileSync(join(folder, 'tld.dat'), 'com\nexample\ntest\n');
  const logFile = join(folder, 'log');
  const child = Bun.spawn(
    [
      PROGRAMS.rspamd.file,
      '--no-fork',
      ...(isRoot ? ['--user', USER, '--group', USER] : []),
      `--config=${join(folder, 'rspamd.conf')}`,
      `--var=DBDIR=${data}`,
      `--var=LOCAL_CONFDIR=${folder}`,
    ],
    { stdin: 'ignore', stdout: Bun.file(logFile), stderr: Bun.file(logFile) },
  );
  const url = `http://127.0.0.1:${port}`;
  const rspamd: Rspamd = {
    url,
    controllerUrl: `http://127.0.0.1:${controllerPort}`,
    log: () => readFileSync(logFile, 'utf8'),
    async stop() {
      child.kill('SIGTERM');
      await child.exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
  try {
    await ready(url, child);
  } catch (error) {
    const log = rspamd.log();
    await rspamd.stop();
    if (triesLeft > 0 && log.includes('Address already in use')) return startRspamd(triesLeft - 1);
    throw new Error(`rspamd does not run; its log says:\n${log}`, { cause: error });
  }
  return rspamd;
}

async function ready(url: string, child: Bun.Subprocess): Promise<void> {
  const until = Date.now() + READY_MS;
  for (;;) {
    // Another program may have taken the port, and say nothing.
    const signal = AbortSignal.timeout(1_000);
    const pong = await fetch(`${url}/ping`, { signal }).catch(() => null);
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}`);
    if (pong?.ok === true) return;
    if (Date.now() > until) throw new Error(`it does not answer within ${READY_MS} ms`);
    await Bun.sleep(50);
  }
}

function configText(port: number, controllerPort: number): string {
  return `lua = "$RULESDIR/rspamd.lua";
.include "$CONFDIR/metrics.conf"
.include "$CONFDIR/actions.conf"
.include "$CONFDIR/groups.conf"
.include "$CONFDIR/composites.conf"
options {
  filters = "chartable,dkim,regexp";
  pidfile = "$DBDIR/rspamd.pid";
  cache_file = "$DBDIR/symbols.cache";
  dynamic_conf = "$DBDIR/dynamic";
  history_file = "$DBDIR/history";
  stats_file = "$DBDIR/stats.ucl";
  hs_cache_dir = "$DBDIR/";
  control_socket = "$DBDIR/control.sock mode=0600";
  tempdir = "$DBDIR";
  url_tld = "$LOCAL_CONFDIR/tld.dat";
  disable_hyperscan = true;
  dns { timeout = 0.1s; retransmits = 1; nameserver = ["127.0.0.1:9"]; }
}
logging { type = "console"; level = "info"; }
worker "normal" { bind_socket = "127.0.0.1:${port}"; count = 1; mime = true; }
worker "controller" {
  bind_socket = "127.0.0.1:${controllerPort}";
  count = 1;
  password = "not ours";
  # Without one of these, loopback needs no password.
  secure_ip = "192.0.2.1";
}
`;
}
