/**
 * Programs of the machine that suites use, with the Debian package each comes in.
 *
 * Promises that a suite whose program is missing never passes silently: under CI=true it fails, otherwise it is
 * skipped under a name that says what is missing. `scripts/test` installs the packages of this table as root.
 */
import { existsSync } from 'node:fs';

import { describe, test } from 'bun:test';

import { mayMakeDisks } from './small-disk.ts';

/** Each with the file that shows it is there. */
export const PROGRAMS = {
  bind9: { file: '/usr/sbin/named', package: 'bind9' },
  caddy: { file: '/usr/bin/caddy', package: 'caddy' },
  chromium: { file: '/usr/bin/chromium', package: 'chromium' },
  curl: { file: '/usr/bin/curl', package: 'curl' },
  groff: { file: '/usr/bin/groff', package: 'groff-base' },
  fish: { file: '/usr/bin/fish', package: 'fish' },
  haproxy: { file: '/usr/sbin/haproxy', package: 'haproxy' },
  // What Exim needs of Debian and nothing else here brings: it is unpacked, not installed (rig/exim).
  'libgnutls-dane': { file: '/usr/share/doc/libgnutls-dane0', package: 'libgnutls-dane0' },
  libfaketime: { file: '/usr/share/doc/libfaketime', package: 'libfaketime' },
  msmtp: { file: '/usr/bin/msmtp', package: 'msmtp' },
  'net-ssleay': { file: '/usr/share/doc/libnet-ssleay-perl', package: 'libnet-ssleay-perl' },
  mount: { file: '/usr/bin/mount', package: 'mount' },
  opendkim: { file: '/usr/sbin/opendkim', package: 'opendkim' },
  openssl: { file: '/usr/bin/openssl', package: 'openssl' },
  php: { file: '/usr/bin/php', package: 'php-cli' },
  'php-illuminate-mail': {
    file: '/usr/share/php/Illuminate/Mail/autoload.php',
    package: 'php-illuminate-mail',
  },
  'php-symfony-mailer': {
    file: '/usr/share/php/Symfony/Component/Mailer/autoload.php',
    package: 'php-symfony-mailer',
  },
  nginx: { file: '/usr/sbin/nginx', package: 'nginx-light' },
  pebble: { file: '/usr/bin/pebble', package: 'pebble' },
  postgresql: { file: '/usr/share/doc/postgresql', package: 'postgresql' },
  postfix: { file: '/usr/sbin/postfix', package: 'postfix' },
  python3: { file: '/usr/bin/python3', package: 'python3' },
  prometheus: { file: '/usr/bin/prometheus', package: 'prometheus' },
  'python3-dkim': { file: '/usr/bin/dkimverify', package: 'python3-dkim' },
  rspamd: { file: '/usr/bin/rspamd', package: 'rspamd' },
  'ruby-actionmailer': {
    file: '/usr/share/doc/ruby-actionmailer',
    package: 'ruby-actionmailer',
  },
  sasl2: { file: '/usr/sbin/saslpasswd2', package: 'sasl2-bin' },
  'sasl2-modules': { file: '/usr/share/doc/libsasl2-modules', package: 'libsasl2-modules' },
  'systemd-analyze': { file: '/usr/bin/systemd-analyze', package: 'systemd' },
  strace: { file: '/usr/bin/strace', package: 'strace' },
  swaks: { file: '/usr/bin/swaks', package: 'swaks' },
  unbound: { file: '/usr/sbin/unbound', package: 'unbound' },
  zsh: { file: '/usr/bin/zsh', package: 'zsh' },
} as const;

export type Program = keyof typeof PROGRAMS;

/** `root` and `small disk` (a tmpfs of one's own): rights, not programs. */
export type Need = Program | 'root' | 'small disk';

export function isInstalled(program: Program): boolean {
  return existsSync(PROGRAMS[program].file);
}

/** `describe`, for a suite that needs these programs. */
export function describeWith(needs: Need[], name: string, body: () => void): void {
  const missing = needs.filter((need) => !has(need));
  if (missing.length === 0) {
    describe(name, body);
    return;
  }
  const reason = `${name}: cannot run here, needs ${missing.join(', ')}`;
  if (process.env['CI'] !== 'true') {
    test.skip(reason, () => undefined);
    return;
  }
  test(reason, () => {
    throw new Error(reason);
  });
}

function has(need: Need): boolean {
  if (need === 'root') return process.getuid?.() === 0;
  return need === 'small disk' ? mayMakeDisks() : isInstalled(need);
}
