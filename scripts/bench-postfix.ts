/**
 * Postfix with OpenDKIM as a contender: an instance of its own in a temporary directory, the milter signing
 * RSA-2048 relaxed/relaxed, mail over SMTP on kept connections. Needs root and the two Debian packages.
 */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateDkimKey } from '../src/mail/dkim/dkim.ts';
import { DOMAINS, SENDER_DOMAIN } from './bench-contender.ts';
import type { Contender } from './bench-contender.ts';
import { connectSmtp } from './bench-smtp.ts';

const MASTER = (port: number): string => `127.0.0.1:${port} inet n - n - - smtpd
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
smtp unix - - n - - smtp
relay unix - - n - - smtp
showq unix n - n - - showq
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
postlog unix-dgram n - n - 1 postlogd
`;

async function run(...command: string[]): Promise<void> {
  const child = Bun.spawn(command, { stderr: 'pipe', stdout: 'ignore' });
  const text = await new Response(child.stderr).text();
  if ((await child.exited) !== 0) throw new Error(`${command.join(' ')}: ${text}`);
}

export async function startPostfix(ports: { receiver: number; smtp: number }): Promise<Contender> {
  const folder = mkdtempSync(join(tmpdir(), 'postfix-bench-'));
  chmodSync(folder, 0o755);
  const [etc, spool, lib] = [join(folder, 'etc'), join(folder, 'spool'), join(folder, 'lib')];
  for (const made of [etc, spool, lib]) mkdirSync(made);
  await run('chown', 'postfix', lib);
  // A Unix socket: over TCP, delayed acknowledgements would slow every message.
  const milter = join(spool, 'opendkim.sock');
  const { privateKeyPem } = await generateDkimKey();
  writeFileSync(join(etc, 'dkim.pem'), privateKeyPem, { mode: 0o600 });
  writeFileSync(
    join(etc, 'opendkim.conf'),
    `Mode s
Canonicalization relaxed/relaxed
UMask 000
Domain ${SENDER_DOMAIN}
Selector bench
KeyFile ${etc}/dkim.pem
Socket local:${milter}
OversignHeaders From
SignatureAlgorithm rsa-sha256
InternalHosts csl:127.0.0.0/8
RequireSafeKeys No
`,
  );
  const routes = Array.from(
    { length: DOMAINS },
    (_, index) => `bench${index}.test smtp:[127.0.1.${index}]:${ports.receiver}\n`,
  );
  writeFileSync(join(etc, 'transport'), routes.join(''));
  writeFileSync(
    join(etc, 'main.cf'),
    `compatibility_level = 3.6
queue_directory = ${spool}
data_directory = ${lib}
command_directory = /usr/sbin
daemon_directory = /usr/lib/postfix/sbin
mail_owner = postfix
setgid_group = postdrop
myhostname = mail.bench.test
mydestination =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
mynetworks = 127.0.0.0/8
smtpd_relay_restrictions = permit_mynetworks, reject
transport_maps = texthash:${etc}/transport
smtp_tls_security_level = none
smtpd_tls_security_level = none
smtpd_milters = unix:${milter}
milter_default_action = tempfail
smtpd_client_connection_count_limit = 0
smtpd_client_connection_rate_limit = 0
smtp_dns_support_level = disabled
smtp_host_lookup = native
maillog_file = ${folder}/postfix.log
maillog_file_prefixes = ${folder}
`,
  );
  writeFileSync(join(etc, 'master.cf'), MASTER(ports.smtp));
  const opendkim = Bun.spawn(['opendkim', '-f', '-x', join(etc, 'opendkim.conf')], {
    stdout: 'ignore',
    stderr: 'ignore',
  });
  const stop = async (): Promise<void> => {
    await run('postfix', '-c', etc, 'stop').catch(() => undefined);
    opendkim.kill('SIGTERM');
    await opendkim.exited;
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await run('postfix', '-c', etc, 'start');
    await listening(milter);
  } catch (error) {
    await stop();
    throw error;
  }
  const master = Number((await Bun.file(join(spool, 'pid/master.pid')).text()).trim());
  return {
    name: 'postfix+opendkim',
    pids: [master, opendkim.pid],
    connect: () => connectSmtp(ports.smtp),
    stop,
  };
}

/** Waits until the socket is there. */
async function listening(path: string): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    if (existsSync(path)) return;
    await Bun.sleep(50);
  }
  throw new Error(`there is no ${path}`);
}
