/**
 * A real Postfix on loopback: own config, queue and mailbox below one temporary folder, one unprivileged port.
 *
 * Promises that the machine's own Postfix, if there is one, is not touched, and that `stop` ends every process it
 * started. Takes mail for the given domains into a Maildir, offers STARTTLS, and logs to a file. Needs root: Postfix
 * gives up its rights by itself.
 */
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { testAuthority } from './certificates.ts';
import { freePorts } from './ports.ts';

const POSTFIX = '/usr/sbin/postfix';
const POLL_MS = 20;

export interface Postfix {
  host: string;
  port: number;
  /** Where main.cf lies. */
  configFolder: string;
  /** The log so far. */
  log(): string;
  /** The first message that has come into the mailbox. */
  firstMessage(timeoutMs?: number): Promise<Buffer>;
  stop(): void;
}

/** `extra`: lines behind those of main.cf and master.cf; in main.cf the last of two settings holds. */
export async function startPostfix(
  hostname: string,
  domains: string[],
  extra: { main?: string; master?: string } = {},
): Promise<Postfix> {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-postfix-'));
  chmodSync(folder, 0o755);
  const [config, logFile] = [join(folder, 'etc'), join(folder, 'mail.log')];
  const owner = Number(Bun.spawnSync(['id', '-u', 'postfix']).stdout.toString());
  for (const name of ['etc', 'queue', 'data', 'mail'])
    mkdirSync(join(folder, name), { mode: 0o755 });
  for (const name of ['data', 'mail']) chownSync(join(folder, name), owner, owner);
  const host = '127.0.0.1';
  const [port = 0] = await freePorts(1, host);
  const main = mainConfig({ hostname, domains, folder, logFile, owner });
  writeFileSync(join(config, 'main.cf'), main + (extra.main ?? ''));
  writeFileSync(join(config, 'master.cf'), masterConfig(host, port) + (extra.master ?? ''));
  run([POSTFIX, '-c', config, 'start']);
  const inbox = join(folder, 'mail/inbox/new');
  return {
    host,
    port,
    configFolder: config,
    log: () => readFileSync(logFile, 'utf8'),
    firstMessage: (timeoutMs = 20_000) => firstFile(inbox, timeoutMs, logFile),
    stop() {
      run([POSTFIX, '-c', config, 'stop']);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

interface Settings {
  hostname: string;
  domains: string[];
  folder: string;
  logFile: string;
  owner: number;
}

function mainConfig({ hostname, domains, folder, logFile, owner }: Settings): string {
  const { certFile, keyFile } = testAuthority().issue([hostname]);
  return `compatibility_level = 3.6
myhostname = ${hostname}
mydestination =
inet_protocols = ipv4
queue_directory = ${folder}/queue
data_directory = ${folder}/data
maillog_file = ${logFile}
maillog_file_prefixes = ${folder}
mynetworks =
alias_maps =
virtual_mailbox_domains = ${domains.join(', ')}
virtual_mailbox_base = ${folder}/mail
virtual_mailbox_maps = static:inbox/
virtual_uid_maps = static:${owner}
virtual_gid_maps = static:${owner}
virtual_minimum_uid = 1
smtpd_relay_restrictions = reject_unauth_destination
smtpd_tls_cert_file = ${certFile}
smtpd_tls_key_file = ${keyFile}
smtpd_tls_security_level = may
smtpd_tls_loglevel = 1
smtpd_tls_received_header = yes
`;
}

/** Only the services that taking and keeping one message needs. */
function masterConfig(host: string, port: number): string {
  return `${host}:${port} inet n - n - - smtpd
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
proxymap unix - - n - - proxymap
error unix - - n - - error
virtual unix - n n - - virtual
anvil unix - - n - 1 anvil
postlog unix-dgram n - n - 1 postlogd
`;
}

/** Postfix renames a finished message into `new`: what stands there is whole. */
async function firstFile(folder: string, timeoutMs: number, logFile: string): Promise<Buffer> {
  const until = Date.now() + timeoutMs;
  while (Date.now() < until) {
    const isThere = statSync(folder, { throwIfNoEntry: false }) !== undefined;
    const name = isThere ? readdirSync(folder)[0] : undefined;
    if (name !== undefined) return readFileSync(join(folder, name));
    await Bun.sleep(POLL_MS);
  }
  throw new Error(
    `no message within ${timeoutMs} ms; the log says:\n${readFileSync(logFile, 'utf8')}`,
  );
}

function run(command: string[]): void {
  const done = Bun.spawnSync(command, { stdout: 'pipe', stderr: 'pipe' });
  if (done.exitCode !== 0) {
    throw new Error(`${command.join(' ')}: ${done.stdout.toString()}${done.stderr.toString()}`);
  }
}
