/** The host check against a DNS server and a receiver of the rig: what it says, and what it never claims. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { systemClock } from '../../src/base/clock.ts';
import { parseConfig } from '../../src/base/config-file.ts';
import type { Finding } from '../../src/health/finding.ts';
import { providerOf } from '../../src/health/hosting-providers.ts';
import { examine } from '../../src/health/doctor.ts';
import { createResolver } from '../../src/wire/dns/dns.ts';
import { reverseName } from '../../src/wire/dns/reverse-name.ts';
import { type Names, startNames } from '../rig/names.ts';
import { type Receiver, startReceiver } from '../rig/receiver.ts';
import { openClosedPort } from '../rig/closed-port.ts';

const ADDRESS = '9.9.9.7';
const REVERSE = '7.9.9.9';

let names: Names;
let receiver: Receiver;
let dataDir: string;

beforeAll(async () => {
  receiver = await startReceiver();
  dataDir = mkdtempSync(join(tmpdir(), 'doctor-'));
});
afterAll(async () => {
  await receiver.stop();
  rmSync(dataDir, { recursive: true });
});

beforeEach(async () => {
  names = await startNames();
  names.setAuthenticated(true);
  names.set('gmail.com', 'MX', ['5 mx.gmail.example']);
  names.set('mx.gmail.example', 'A', ['127.0.0.1']);
  names.set('ietf.org', 'A', ['104.16.45.99']);
  names.fail('dnssec-failed.org', 'servfail');
  names.set('mail.shop.example', 'A', [ADDRESS]);
  names.set('mail.shop.example', 'TXT', [`v=spf1 ip4:${ADDRESS} -all`]);
  names.set(`${REVERSE}.in-addr.arpa`, 'PTR', ['mail.shop.example']);
  names.set('2.0.0.127.bl.spamcop.net', 'A', ['127.0.0.2']);
});

/** `servers`: what the config says; the resolver asks the rig's server, whatever the config says. */
async function run(
  port = receiver.port,
  servers = [`127.0.0.1:${names.listen.port}`],
  source = ADDRESS,
  service = '',
): Promise<Map<string, Finding>> {
  const config = parseConfig(
    `hostname = "mail.shop.example"
     data_dir = ${JSON.stringify(dataDir)}
     [smtp]
     inbound = "127.0.0.1:2525"
     [cluster]
     name = "${service}"
     [dns]
     servers = ${JSON.stringify(servers)}
     [delivery]
     port = ${port}
     source_addresses = ["${source}"]`,
    'doctor.toml',
  );
  const resolver = createResolver({ servers: [names.listen], clock: systemClock });
  try {
    const found = await examine({ config, clock: systemClock, resolver });
    return new Map(found.map((finding) => [finding.check, finding]));
  } finally {
    resolver.close();
    await names.stop();
  }
}

test('a sound host: every question that could be asked is answered well', async () => {
  const found = await run();
  for (const check of [
    'resolver',
    'dnssec',
    'hostname',
    'reverse_dns_ipv4',
    'host_spf',
    'return_path',
    `port_${receiver.port}`,
    'blocklist_bl.spamcop.net',
    'data_rights',
  ]) {
    expect([check, found.get(check)?.level]).toEqual([check, 'ok']);
  }
  for (const { level, advice } of found.values()) expect(advice === null).toBe(level === 'ok');
});

test('a service with a name of its own needs an SPF record and a way to this machine under that name', async () => {
  const service = 'mail.service.example';
  const found = await run(undefined, undefined, undefined, service);
  for (const check of ['host_spf', 'return_path']) {
    expect(found.get(check)).toMatchObject({ level: 'error' });
    expect(found.get(check)?.advice).toContain(service);
  }
  for (const check of ['hostname', 'reverse_dns_ipv4']) expect(found.get(check)?.level).toBe('ok');
});

test.each([
  ['an MX record with the name of the machine', 'MX', '10 mail.shop.example'],
  ['an MX record with another name of its address', 'MX', '10 alias.shop.example'],
  ['its address', 'A', ADDRESS],
] as const)('such a name leads here by %s', async (_, type, value) => {
  const service = 'mail.service.example';
  names.set('alias.shop.example', 'A', [ADDRESS]);
  names.set(service, 'TXT', [`v=spf1 ip4:${ADDRESS} -all`]);
  names.set(service, type, [value]);
  const found = await run(undefined, undefined, undefined, service);
  expect(found.get('host_spf')?.level).toBe('ok');
  expect(found.get('return_path')).toMatchObject({ level: 'ok' });
  expect(found.get('return_path')?.summary).toContain(service);
});

test('a name whose MX leads elsewhere is an error', async () => {
  const service = 'mail.service.example';
  names.set(service, 'MX', ['10 mx.elsewhere.example']);
  names.set('mx.elsewhere.example', 'A', ['9.9.9.8']);
  const found = await run(undefined, undefined, undefined, service);
  expect(found.get('return_path')?.level).toBe('error');
});

test('missing reverse DNS is an error', async () => {
  names.set(`${REVERSE}.in-addr.arpa`, 'PTR', []);
  expect((await run()).get('reverse_dns_ipv4')?.level).toBe('error');
});
test.each([
  ['2606:4700::7', '2606:4700:0:0:0:0:0:7'],
  ['2606:4700:0:0::7', '2606:4700::7'],
  ['2606:4700::A:B', '2606:4700::a:b'],
])(
  'an IPv6 address is itself however it is spelled: %s in the config, %s in DNS',
  async (source, record) => {
    names.set('mail.shop.example', 'AAAA', [record]);
    names.set(reverseName(record) ?? '', 'PTR', ['mail.shop.example']);
    const found = await run(receiver.port, undefined, source);
    expect(found.get('reverse_dns_ipv6')).toMatchObject({ level: 'ok' });
  },
);
test('a reverse name is itself in any case (RFC 4343)', async () => {
  names.set(`${REVERSE}.in-addr.arpa`, 'PTR', ['Mail.SHOP.example']);
  expect((await run()).get('reverse_dns_ipv4')?.level).toBe('ok');
});
test('reverse DNS with another name that leads back is only a warning', async () => {
  names.set(`${REVERSE}.in-addr.arpa`, 'PTR', ['host7.provider.example']);
  names.set('host7.provider.example', 'A', [ADDRESS]);
  expect((await run()).get('reverse_dns_ipv4')?.level).toBe('warning');
});
test('reverse DNS that does not lead back is an error', async () => {
  names.set(`${REVERSE}.in-addr.arpa`, 'PTR', ['host7.provider.example']);
  expect((await run()).get('reverse_dns_ipv4')?.level).toBe('error');
});
test('a resolver that fails never counts as a missing record', async () => {
  names.fail(`${REVERSE}.in-addr.arpa`, 'servfail');
  names.fail('mail.shop.example', 'servfail');
  const found = await run();
  for (const check of ['reverse_dns_ipv4', 'hostname', 'host_spf']) {
    expect([check, found.get(check)?.level]).toEqual([check, 'unchecked']);
  }
});

test('SPF that leaves the address out is an error that shows the record to publish', async () => {
  names.set('mail.shop.example', 'TXT', ['v=spf1 -all']);
  const finding = (await run()).get('host_spf');
  expect(finding?.level).toBe('error');
  expect(finding?.advice).toContain(`v=spf1 ip4:${ADDRESS} -all`);
});

test('a shut port is an error with the provider’s page, recognised by reverse DNS', async () => {
  const shut = await openClosedPort();
  const { port } = shut;
  names.set(`${REVERSE}.in-addr.arpa`, 'PTR', ['static.7.9.9.9.clients.your-server.de']);
  const finding = (await run(port)).get(`port_${port}`);
  expect(finding?.level).toBe('error');
  expect(finding?.advice).toContain('Hetzner');
  shut.stop();
});

test('without internet: unchecked, never an error', async () => {
  names.set('gmail.com', 'MX', []);
  names.fail('gmail.com', 'servfail');
  const found = await run();
  for (const check of ['resolver', `port_${receiver.port}`, 'blocklists', 'clock']) {
    expect([check, found.get(check)?.level]).toEqual([check, 'unchecked']);
  }
});

test('blocklists: listed, and a list that refuses the resolver', async () => {
  names.set(`${REVERSE}.bl.spamcop.net`, 'A', ['127.0.0.2']);
  names.set('2.0.0.127.zen.spamhaus.org', 'A', ['127.255.255.254']);
  names.set(`${REVERSE}.zen.spamhaus.org`, 'A', ['127.255.255.254']);
  const found = await run();
  expect(found.get('blocklist_bl.spamcop.net')?.level).toBe('error');
  expect(found.get('blocklist_zen.spamhaus.org')?.level).toBe('unchecked');
  expect(found.get('blocklist_psbl.surriel.com')?.level).toBe('unchecked');
});

test('a resolver that invents answers, and one that does not validate', async () => {
  names.set('postrider-doctor.invalid', 'A', ['192.0.2.1']);
  names.fail('dnssec-failed.org', null);
  names.set('dnssec-failed.org', 'A', ['192.0.2.1']);
  const found = await run();
  expect(found.get('resolver_honesty')?.level).toBe('error');
  expect(found.get('dnssec')?.level).toBe('warning');
});

test.each([
  ['one that is elsewhere', ['192.0.2.53:53']],
  ['one elsewhere beside one on this machine', ['127.0.0.1:53', '192.0.2.53:53']],
])('DNSSEC with resolvers not all on loopback: %s', async (_, servers) => {
  // As the resolver has it then, whatever the answer says.
  names.setAuthenticated(false);
  const finding = (await run(receiver.port, servers)).get('dnssec');
  expect(finding?.level).toBe('warning');
  expect(finding?.summary).toContain('(192.0.2.53)');
  expect(finding?.advice).toContain('only when all resolvers are on loopback');
  expect(finding?.advice).toContain('[dns] servers = ["127.0.0.1:53"]');
});

test('DNSSEC with all resolvers on loopback, of which none validates: that is what it says', async () => {
  names.setAuthenticated(false);
  names.fail('dnssec-failed.org', null);
  names.set('dnssec-failed.org', 'A', ['192.0.2.1']);
  const finding = (await run()).get('dnssec');
  expect(finding?.summary).toBe('The resolver does not validate DNSSEC.');
  expect(finding?.advice).toContain('only when all resolvers are on loopback');
});

test('a data directory that others may read is an error', async () => {
  chmodSync(dataDir, 0o755);
  const found = await run();
  chmodSync(dataDir, 0o700);
  expect(found.get('data_rights')?.level).toBe('error');
});

test.each([
  ['ec2-3-4-5-6.compute-1.amazonaws.com', 'Amazon EC2'],
  ['static.1.2.3.4.clients.your-server.de', 'Hetzner'],
  ['vps-12ab.vps.ovh.net', 'OVHcloud'],
  ['ns3.ip-51-38-1.eu', 'OVHcloud'],
  ['ip-1.2.3.4.isp.example', null],
  ['amazonaws.com.evil.example', null],
])('%s belongs to %s', (host, provider) => {
  expect(providerOf(host)?.name ?? null).toBe(provider);
});
