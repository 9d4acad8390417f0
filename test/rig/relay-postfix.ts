/**
 * A real Postfix as a smarthost: takes mail for anybody after AUTH under TLS, on a port with STARTTLS and on port 465.
 *
 * Promises that nobody relays without the one login, that mail goes on only to the given loopback ports, and, like
 * `postfix.ts`, that the machine's own Postfix is not touched. Needs root, and the sasldb of Debian's packages.
 */
import { chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { testAuthority } from './certificates.ts';
import { startPostfix } from './postfix.ts';
import type { Postfix } from './postfix.ts';

export interface RelayPostfix extends Postfix {
  /** Where it listens on port 465, under TLS from the first byte; called `implicit.<hostname>` there. */
  implicitHost: string;
}

export interface RelayOptions {
  hostname: string;
  login: { username: string; password: string };
  /** Kept in the mailbox. */
  domains: string[];
  /** Domains that go on, each to a port of 127.0.0.1. */
  next: Record<string, number>;
}

export async function startRelayPostfix(options: RelayOptions): Promise<RelayPostfix> {
  const { hostname, login, domains, next } = options;
  const transports = Object.entries(next).map(
    ([domain, port]) => `{ ${domain} = smtp:[127.0.0.1]:${port} }`,
  );
  // Port 465 is fixed (RFC 8314): an address of its own keeps runs beside each other apart.
  const implicitHost = `127.${2 + random(250)}.${random(250)}.${1 + random(250)}`;
  const { certFile, keyFile } = testAuthority().issue([hostname, `implicit.${hostname}`]);
  const postfix = await startPostfix(hostname, domains, {
    main: `smtpd_tls_cert_file = ${certFile}
smtpd_tls_key_file = ${keyFile}
smtpd_tls_auth_only = yes
smtpd_sasl_auth_enable = yes
smtpd_sasl_type = cyrus
smtpd_sasl_path = smtpd
smtpd_sasl_local_domain = ${hostname}
smtpd_relay_restrictions = permit_sasl_authenticated, reject_unauth_destination
transport_maps = inline:{ ${transports.join(', ')} }
disable_dns_lookups = yes
smtp_tls_security_level = may
`,
    master: `${implicitHost}:465 inet n - n - - smtpd -o smtpd_tls_wrappermode=yes
smtp unix - - n - - smtp
`,
  });
  try {
    addLogin(postfix.configFolder, hostname, login);
  } catch (error) {
    postfix.stop();
    throw error;
  }
  return { ...postfix, implicitHost };
}

/** Debian's Postfix reads the settings of its SASL library below its own folder, at the first connection. */
function addLogin(configFolder: string, realm: string, login: RelayOptions['login']): void {
  const folder = join(configFolder, 'sasl');
  mkdirSync(folder, { mode: 0o755 });
  const database = join(folder, 'sasldb2');
  const made = Bun.spawnSync(
    ['/usr/sbin/saslpasswd2', '-p', '-c', '-f', database, '-u', realm, login.username],
    { stdin: Buffer.from(login.password), stderr: 'pipe' },
  );
  if (made.exitCode !== 0) throw new Error(`saslpasswd2: ${made.stderr.toString()}`);
  const owner = Number(Bun.spawnSync(['id', '-u', 'postfix']).stdout.toString());
  chownSync(database, owner, owner);
  const settings = {
    pwcheck_method: 'auxprop',
    auxprop_plugin: 'sasldb',
    sasldb_path: database,
    mech_list: 'PLAIN LOGIN',
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name}: ${value}\n`);
  writeFileSync(join(folder, 'smtpd.conf'), lines.join(''));
}

function random(below: number): number {
  return Math.floor(Math.random() * below);
}
