/**
 * The whole of what the host check says, in its order: for a sound host, for one where much is wrong, behind a smarthost,
 * in capture mode and without the internet. What a question says in other cases is in the tests of its file.
 */
import { afterAll, beforeAll, beforeEach, afterEach, expect, test } from 'bun:test';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { systemClock } from '../../src/base/clock.ts';
import { parseConfig } from '../../src/base/config-file.ts';
import { examine } from '../../src/health/doctor.ts';
import { createResolver } from '../../src/wire/dns/dns.ts';
import { type Names, startNames } from '../rig/names.ts';
import { type Receiver, startReceiver } from '../rig/receiver.ts';

type Said = readonly [check: string, level: string, summary: string, advice: string | null];

let names: Names;
let receiver: Receiver;
let dataDir: string;

beforeAll(async () => {
  receiver = await startReceiver();
});
afterAll(() => receiver.stop());

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'findings-'));
  names = await startNames();
  names.setAuthenticated(true);
  names.set('gmail.com', 'MX', ['5 mx.gmail.example']);
  names.set('mx.gmail.example', 'A', ['127.0.0.1']);
  names.set('ietf.org', 'A', ['104.16.45.99']);
  names.fail('dnssec-failed.org', 'servfail');
  names.set('mail.shop.example', 'A', ['9.9.9.7']);
  names.set('mail.shop.example', 'TXT', ['v=spf1 ip4:9.9.9.7 -all']);
  names.set('7.9.9.9.in-addr.arpa', 'PTR', ['mail.shop.example']);
  for (const list of [
    'zen.spamhaus.org',
    'bl.spamcop.net',
    'b.barracudacentral.org',
    'psbl.surriel.com',
  ]) {
    names.set(`2.0.0.127.${list}`, 'A', ['127.0.0.2']);
  }
});
afterEach(async () => {
  await names.stop();
  rmSync(dataDir, { recursive: true });
});

/** Each finding, in order, with `DIR` for the data directory and `PORT` for that of the receiver. */
async function saidWith(extra: string): Promise<Said[]> {
  const text = `hostname = "mail.shop.example"
data_dir = ${JSON.stringify(dataDir)}
[dns]
servers = ["127.0.0.1:${names.listen.port}"]
${extra.replaceAll('PORT', String(receiver.port))}`;
  const config = parseConfig(text, 'doctor.toml');
  const resolver = createResolver({ servers: [names.listen], clock: systemClock });
  const told: string[] = [];
  const ctx = { config, clock: systemClock, resolver };
  const found = await examine(ctx, ({ check }) => told.push(check));
  resolver.close();
  // A terminal shows each as it comes, in the same order.
  expect(told).toEqual(found.map(({ check }) => check));
  const short = (words: string): string =>
    words.replaceAll(dataDir, 'DIR').replaceAll(String(receiver.port), 'PORT');
  return found.map(({ check, level, summary, advice }): Said => {
    // How full the disk is and what may be open is a matter of the machine that runs the test.
    if (check === 'disk' || check === 'descriptors') {
      return [check, 'any', short(summary).replaceAll(/\d+/g, 'N'), null];
    }
    return [short(check), level, short(summary), advice === null ? null : short(advice)];
  });
}

/** What every scenario says alike. */
const MACHINE: readonly [Said, Said, Said, Said] = [
  ['disk', 'any', 'N MiB (N %) are free on the disk of DIR.', null],
  ['data_rights', 'ok', 'Only its owner can read DIR.', null],
  ['secret_key', 'ok', 'No secret is stored yet.', null],
  ['descriptors', 'any', 'The process can open N files at once.', null],
];
const RESOLVER: readonly Said[] = [
  ['resolver', 'ok', 'The resolver answers for names of the internet.', null],
  ['dnssec', 'ok', 'The resolver on this machine validates DNSSEC, so DANE is used.', null],
  ['hostname', 'ok', 'mail.shop.example has the address 9.9.9.7.', null],
];
const HTTPS =
  'One-click unsubscribe needs https. Give the API a certificate, or put a reverse proxy with one in front of it, and set [http] public_url to the https address that recipients can reach.';
const PUBLIC_URL: Said = [
  'public_url',
  'warning',
  'The links in mail begin with http://127.0.0.1:8025, which is not https.',
  HTTPS,
];
const SOURCE: Said = [
  'source_addresses',
  'error',
  'Mail cannot leave from 9.9.9.7 (EADDRNOTAVAIL).',
  "Set [delivery] source_addresses to addresses of this machine's own interfaces (behind NAT, the private ones), or leave it empty.",
];
const CLOCK: Said = [
  'clock',
  'unchecked',
  'No time server answered.',
  'Check the clock with timedatectl. A firewall may block UDP port 123.',
];

test('a sound host', async () => {
  const said = await saidWith(`[http]
public_url = "https://mail.shop.example"
[smtp]
inbound = "127.0.0.1:2525"
[delivery]
port = PORT
source_addresses = ["9.9.9.7"]`);
  const clean = (list: string): Said => [
    `blocklist_${list}`,
    'ok',
    `9.9.9.7 is not listed by ${list}.`,
    null,
  ];
  expect(said).toEqual([
    ...MACHINE,
    SOURCE,
    ...RESOLVER,
    ['reverse_dns_ipv4', 'ok', '9.9.9.7 and mail.shop.example name each other in DNS.', null],
    ['host_spf', 'ok', 'The SPF record of mail.shop.example allows 9.9.9.7.', null],
    ['return_path', 'ok', 'Reports arrive at mail.shop.example on port 2525.', null],
    ['port_PORT', 'ok', 'Outgoing port PORT is open (mx.gmail.example answered).', null],
    ...['zen.spamhaus.org', 'bl.spamcop.net', 'b.barracudacentral.org', 'psbl.surriel.com'].map(
      clean,
    ),
    CLOCK,
  ]);
});

test('a host where much is wrong', async () => {
  chmodSync(dataDir, 0o755);
  names.set('mail.shop.example', 'TXT', []);
  names.set('7.9.9.9.in-addr.arpa', 'PTR', []);
  names.set('7.9.9.9.bl.spamcop.net', 'A', ['127.0.0.2']);
  names.set('2.0.0.127.psbl.surriel.com', 'A', []);
  names.set('7.9.9.9.zen.spamhaus.org', 'A', ['127.0.0.4']);
  names.set('7.9.9.9.b.barracudacentral.org', 'A', ['127.0.0.2']);
  const said = await saidWith('[delivery]\nport = 1\nsource_addresses = ["9.9.9.7"]');
  const listed = (list: string, code: string, page: string): Said => [
    `blocklist_${list}`,
    'error',
    `9.9.9.7 is listed by ${list} (${code}).`,
    `Find and fix the cause, then ask for removal at ${page}`,
  ];
  const [disk, , key, descriptors] = MACHINE;
  expect(said).toEqual([
    disk,
    ['data_rights', 'error', 'Other users of this machine can read DIR.', 'Run chmod 700 DIR.'],
    key,
    descriptors,
    SOURCE,
    PUBLIC_URL,
    ...RESOLVER,
    [
      'reverse_dns_ipv4',
      'error',
      '9.9.9.7 has no reverse DNS, so large receivers refuse mail from it.',
      "Set the reverse DNS (PTR) of 9.9.9.7 to mail.shop.example in your provider's control panel, and keep an address record of mail.shop.example with 9.9.9.7.",
    ],
    [
      'host_spf',
      'error',
      'The SPF check of mail.shop.example gives none for 9.9.9.7.',
      'Publish a TXT record at mail.shop.example: "v=spf1 ip4:9.9.9.7 -all" (one record with all addresses). The customers\' return paths are aliases of this name, so its SPF record applies to every message.',
    ],
    [
      'return_path',
      'warning',
      'Bounce and complaint reports cannot arrive, because [smtp] inbound is off.',
      'Set inbound = "0.0.0.0:25" under [smtp] and open incoming port 25, so that late bounces become events. mail.shop.example must lead to this machine, by its address or by an MX record.',
    ],
    [
      'port_1',
      'error',
      'Outgoing port 1 seems blocked (mx.gmail.example: ECONNREFUSED; outlook.com: no address; yahoo.com: no address).',
      'No receiver answered, most likely because your hosting provider blocks port 1. Ask your hosting provider to open outgoing port 25 for this machine. Many do so on request; some never do.',
    ],
    listed('zen.spamhaus.org', '127.0.0.4', 'https://check.spamhaus.org/'),
    listed('bl.spamcop.net', '127.0.0.2', 'https://www.spamcop.net/bl.shtml'),
    listed('b.barracudacentral.org', '127.0.0.2', 'https://www.barracudacentral.org/lookups'),
    [
      'blocklist_psbl.surriel.com',
      'unchecked',
      'psbl.surriel.com could not be asked: the name does not exist.',
      'Blocklists refuse large shared resolvers. Install unbound on this machine, or look the address up at https://psbl.org/remove',
    ],
    CLOCK,
  ]);
});

test('behind a smarthost that is misspelt: no question about own mail is asked', async () => {
  const said = await saidWith(
    '[delivery]\nmode = "smarthost"\n[delivery.smarthost]\nhost = "none.example"\nport = 587',
  );
  expect(said).toEqual([
    ...MACHINE,
    PUBLIC_URL,
    ...RESOLVER,
    [
      'smarthost',
      'error',
      'The smarthost none.example has no address in DNS: the name does not exist.',
      'Check the spelling of host under [delivery.smarthost].',
    ],
    CLOCK,
  ]);
});

test('a smarthost at an IPv6 address where nobody listens', async () => {
  const said = await saidWith(
    '[delivery]\nmode = "smarthost"\n[delivery.smarthost]\nhost = "::1"\nport = 1\ntls = "none"',
  );
  expect(said.find(([check]) => check === 'smarthost')).toEqual([
    'smarthost',
    'error',
    expect.stringMatching(
      /^The smarthost \[::1\]:1 would not take mail: connect E\w+ ::1:1.* \(at connect\)\.$/,
    ) as string,
    'Check host and port under [delivery.smarthost], and that no firewall blocks [::1]:1.',
  ]);
});

test('in capture mode nothing leaves, and nothing about leaving is asked', async () => {
  const said = await saidWith('[delivery]\nmode = "capture"');
  expect(said).toEqual([...MACHINE, ...RESOLVER, CLOCK]);
});

test('without the internet: what needs it is unchecked, and says so', async () => {
  for (const name of ['gmail.com', 'ietf.org', 'mail.shop.example', '7.9.9.9.in-addr.arpa']) {
    names.fail(name, 'servfail');
  }
  const said = await saidWith('[delivery]\nsource_addresses = ["9.9.9.7"]');
  const levels = said.slice(6).map(([check, level]) => `${check} ${level}`);
  expect(levels).toEqual([
    'resolver unchecked',
    'hostname unchecked',
    'reverse_dns_ipv4 unchecked',
    'host_spf unchecked',
    'return_path warning',
    'port_25 unchecked',
    'blocklists unchecked',
    'clock unchecked',
  ]);
  for (const [check, , , advice] of said.slice(6)) {
    expect([check, advice]).toEqual([check, expect.stringMatching(/\.$/)]);
  }
});
