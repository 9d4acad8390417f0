/**
 * A real Exim on loopback that takes mail for one domain and then finds that there is no such mailbox, or keeps it.
 *
 * Promises that nothing is installed: Debian's packages are unpacked below a temporary folder (Exim and
 * Postfix cannot be installed side by side), and the user that Exim was built for exists in a mount
 * namespace of its own only. Needs root, `unshare` and, the first time, Debian's archive. `stop` ends every
 * process it started.
 */
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Certificate } from './certificates.ts';
import { freePorts } from './ports.ts';

const PACKAGES = ['exim4-daemon-light', 'exim4-base'];
const USER_ID = 65_533;
const READY_MS = 10_000;

export interface Exim {
  host: string;
  port: number;
  /** The main log so far. */
  log(): string;
  /** What lies in the mailbox, one after the other, with bare line feeds. */
  mailbox(): string;
  stop(): Promise<void>;
}

/** Unpacked once for a machine and boot. */
export function unpackExim(): string {
  const root = join(tmpdir(), 'postrider-exim');
  const program = join(root, 'usr/sbin/exim4');
  if (existsSync(program)) return program;
  const folder = mkdtempSync(join(tmpdir(), 'postrider-exim-'));
  const download = ['apt-get', '-qq', 'download', ...PACKAGES];
  try {
    run(download, folder);
  } catch {
    // A fresh machine has no list of packages yet, or one that has grown old.
    run(['apt-get', '-qq', 'update'], folder);
    run(download, folder);
  }
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.deb'))) {
    run(['dpkg', '-x', file, root], folder);
  }
  rmSync(folder, { recursive: true, force: true });
  return program;
}

/**
 * Takes mail for `domain`, and sends everything else, its own bounces too, to `next`. With a certificate it offers
 * STARTTLS, and keeps the mail.
 */
export async function startExim(
  domain: string,
  next: { host: string; port: number },
  certificate: Certificate | null = null,
): Promise<Exim> {
  const program = unpackExim();
  const folder = mkdtempSync(join(tmpdir(), 'postrider-exim-run-'));
  for (const name of ['', 'spool', 'log']) {
    const path = join(folder, name);
    mkdirSync(path, { recursive: true, mode: 0o755 });
    chownSync(path, USER_ID, USER_ID);
  }
  const host = '127.0.0.1';
  const [port = 0] = await freePorts(1, host);
  const config = join(folder, 'exim.conf');
  const settings = { program, folder, domain, port, next };
  writeFileSync(config, configText(settings, certificate !== null), { mode: 0o644 });
  if (certificate !== null) {
    const pair = join(folder, 'tls.pem');
    writeFileSync(pair, certificate.key + certificate.cert, { mode: 0o600 });
    chownSync(pair, USER_ID, USER_ID);
  }
  for (const name of ['passwd', 'group']) {
    const entry = name === 'passwd' ? `:${USER_ID}::/nonexistent:/bin/false` : ':';
    const line = `Debian-exim:x:${USER_ID}${entry}\n`;
    writeFileSync(join(folder, name), readFileSync(`/etc/${name}`, 'utf8') + line);
  }
  const script = `mount --bind ${folder}/passwd /etc/passwd && mount --bind ${folder}/group /etc/group && ${program} -C ${config} -bdf -q2s; exit $?`;
  const child = Bun.spawn(
    ['unshare', '--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', script],
    {
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    },
  );
  const read = (name: string): string => {
    const file = join(folder, name);
    return existsSync(file) ? readFileSync(file, 'latin1') : '';
  };
  const log = (): string => read('log/mainlog');
  const stop = async (): Promise<void> => {
    // The shell is the first process of the namespace and goes with `unshare`; with it goes everything inside.
    // Exim itself would stay: a change of user takes back the signal that `--kill-child` asks for.
    child.kill('SIGKILL');
    await child.exited;
    rmSync(folder, { recursive: true, force: true });
  };
  for (const until = Date.now() + READY_MS; !(await isOpen(host, port));) {
    if (child.exitCode === null && Date.now() < until) continue;
    const said = child.exitCode === null ? '' : await new Response(child.stderr).text();
    await stop();
    throw new Error(`Exim does not listen: ${said}\n${log()}`);
  }
  return { host, port, log, mailbox: () => read('spool/mailbox'), stop };
}

interface Settings {
  program: string;
  folder: string;
  domain: string;
  port: number;
  next: { host: string; port: number };
}

/** Exim 4.96 specification, chapters 14 to 30. Nothing is verified at RCPT, so that it must bounce. */
function configText({ program, folder, domain, port, next }: Settings, isKept: boolean): string {
  const home = isKept
    ? `here:
  driver = accept
  domains = ${domain}
  transport = mailbox`
    : `nobody:
  driver = redirect
  domains = ${domain}
  allow_fail
  data = :fail: 550 5.1.1 No such mailbox here`;
  return `exim_path = ${program}
spool_directory = ${folder}/spool
log_file_path = ${folder}/log/%slog
pid_file_path = ${folder}/exim.pid
primary_hostname = mx.${domain}
local_interfaces = 127.0.0.1
daemon_smtp_ports = ${port}
acl_smtp_rcpt = take
host_lookup =
rfc1413_hosts =
keep_environment =
tls_advertise_hosts = ${isKept ? '*' : ''}
tls_certificate = ${folder}/tls.pem
begin acl
take:
  accept
begin routers
${home}
away:
  driver = manualroute
  route_list = * ${next.host}::${next.port}
  transport = out
  self = send
begin transports
out:
  driver = smtp
  allow_localhost
  hosts_try_fastopen =
mailbox:
  driver = appendfile
  file = ${folder}/spool/mailbox
  user = Debian-exim
  envelope_to_add
  return_path_add
`;
}

function isOpen(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    socket.once('data', () => {
      socket.end('QUIT\r\n');
      resolve(true);
    });
    socket.once('error', () => setTimeout(() => resolve(false), 50));
  });
}

function run(command: string[], cwd: string): void {
  const done = Bun.spawnSync(command, { cwd, stdout: 'pipe', stderr: 'pipe' });
  if (done.exitCode !== 0) throw new Error(`${command.join(' ')}: ${done.stderr.toString()}`);
}
