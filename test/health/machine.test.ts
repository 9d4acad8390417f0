/** The host check's questions about the machine and its identity: what each finding says, and what to do. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { systemClock } from '../../src/base/clock.ts';
import { parseConfig } from '../../src/base/config-file.ts';
import type { Finding } from '../../src/health/finding.ts';
import { examineIdentity } from '../../src/health/identity.ts';
import { examineMachine } from '../../src/health/machine.ts';
import { createResolver } from '../../src/wire/dns/dns.ts';
import { type Names, startNames } from '../rig/names.ts';

const NAME = 'mail.shop.example';

let names: Names;
let dataDir: string;
const cleanUps: (() => unknown)[] = [];

beforeEach(async () => {
  names = await startNames();
  dataDir = mkdtempSync(join(tmpdir(), 'machine-'));
  cleanUps.push(() => rmSync(dataDir, { recursive: true, force: true }));
});
afterEach(async () => {
  for (let next = cleanUps.pop(); next !== undefined; next = cleanUps.pop()) await next();
  await names.stop();
});

function context(extra = '', directory = dataDir) {
  const text = `hostname = "${NAME}"\ndata_dir = "${directory}"\n${extra}`;
  const resolver = createResolver({ servers: [names.listen], clock: systemClock });
  cleanUps.push(() => resolver.close());
  return { config: parseConfig(text, 'doctor.toml'), clock: systemClock, resolver };
}

const of = (findings: Finding[], check: string): Finding | undefined =>
  findings.find((one) => one.check === check);

test.each([
  [0o700, 0o600, null, ''],
  [0o710, 0o600, 'D', 'Run chmod 700 D.'],
  [0o701, 0o600, 'D', 'Run chmod 700 D.'],
  [0o700, 0o640, 'D/secret.key', 'Run chmod 600 D/secret.key.'],
  [0o700, 0o604, 'D/secret.key', 'Run chmod 600 D/secret.key.'],
])('a data directory of %o with a key of %o', async (directory, key, open, advice) => {
  writeFileSync(join(dataDir, 'secret.key'), 'x');
  chmodSync(join(dataDir, 'secret.key'), key);
  chmodSync(dataDir, directory);
  const found = of(await examineMachine(context()), 'data_rights');
  chmodSync(dataDir, 0o700);
  expect(found?.level).toBe(open === null ? 'ok' : 'error');
  if (open === null) return;
  const path = open.replace('D', dataDir);
  expect(found?.summary).toBe(`Other users of this machine can read ${path}.`);
  expect(found?.advice).toBe(advice.replace('D', dataDir));
});

test('a data directory that is not there is an error of the disk, with what to do', async () => {
  const findings = await examineMachine(context('', join(dataDir, 'nothing')));
  expect(of(findings, 'disk')).toMatchObject({
    level: 'error',
    advice: 'Run postrider init, or correct data_dir in the config.',
  });
  expect(of(findings, 'disk')?.summary).toStartWith(`${join(dataDir, 'nothing')} cannot be read: `);
});

test('an empty data directory has no secret yet; a database that cannot be read leaves it open', async () => {
  expect(of(await examineMachine(context()), 'secret_key')).toMatchObject({
    level: 'ok',
    summary: 'No secret is stored yet.',
  });
  writeFileSync(join(dataDir, 'mail.db'), 'no database '.repeat(1_000));
  expect(of(await examineMachine(context()), 'secret_key')).toMatchObject({
    level: 'unchecked',
    advice: 'Run doctor as the user of the server, or as root.',
  });
});

test('the limit of open files is told as it is', async () => {
  const found = of(await examineMachine(context()), 'descriptors');
  const soft = Number(/opens? (\d+) files at once/.exec(found?.summary ?? '')?.[1]);
  expect(soft).toBeGreaterThan(0);
  expect(found?.level).toBe(soft >= 8_192 ? 'ok' : 'warning');
});

test('certificates of [http] and [smtp] are each asked about once, those not set never', async () => {
  const checks = async (extra: string): Promise<string[]> =>
    (await examineMachine(context(extra)))
      .map(({ check }) => check)
      .filter((check) => check.startsWith('certificate_'));
  const [a, b] = [join(dataDir, 'a.pem'), join(dataDir, 'b.pem')];
  for (const file of [a, b]) writeFileSync(file, 'no certificate');
  const pair = (file: string): string => `tls_cert = "${file}"\ntls_key = "${file}"\n`;
  expect(await checks('')).toEqual([]);
  expect(await checks(`[http]\n${pair(a)}[smtp]\n${pair(b)}`)).toEqual([
    `certificate_${a}`,
    `certificate_${b}`,
  ]);
  expect(await checks(`[http]\n${pair(a)}[smtp]\n${pair(a)}`)).toEqual([`certificate_${a}`]);
});

test('a host name without an address is an error that says which record to publish', async () => {
  const { findings } = await examineIdentity(context('[smtp]\ninbound = "127.0.0.1:25"\n'));
  expect(of(findings, 'hostname')).toMatchObject({
    level: 'error',
    summary: `${NAME} has no address in DNS: the name does not exist.`,
  });
  expect(of(findings, 'hostname')?.advice).toStartWith(
    `Publish an A record (and AAAA for IPv6) for ${NAME}`,
  );
  expect(of(findings, 'return_path')).toMatchObject({
    level: 'error',
    summary: `Reports are sent to ${NAME}, which has no address in DNS.`,
  });
});

test('a lookup of one family that fails does not hide the address of the other', async () => {
  names.set(NAME, 'A', ['9.9.9.7']);
  const source = '[delivery]\nsource_addresses = ["9.9.9.7", "2606:4700::7", "10.0.0.1"]\n';
  const { findings, addresses } = await examineIdentity(context(source));
  expect(of(findings, 'hostname')).toMatchObject({
    level: 'ok',
    summary: `${NAME} has the address 9.9.9.7.`,
  });
  // The private one is not what receivers see.
  expect(addresses).toEqual(['9.9.9.7', '2606:4700::7']);
  expect(findings.map(({ check }) => check)).toEqual([
    'hostname',
    'reverse_dns_ipv4',
    'reverse_dns_ipv6',
    'host_spf',
    'host_spf',
    'return_path',
  ]);
  expect(of(findings, 'reverse_dns_ipv4')?.summary).toBe(
    '9.9.9.7 has no reverse DNS, so large receivers refuse mail from it.',
  );
  expect(of(findings, 'reverse_dns_ipv4')?.advice).not.toContain('IPv4 only');
  expect(of(findings, 'reverse_dns_ipv6')?.advice).toEndWith(
    'Until then, mail leaves over IPv4 only.',
  );
  const spf = findings.filter(({ check }) => check === 'host_spf').map(({ advice }) => advice);
  expect(spf[0]).toContain(`Publish a TXT record at ${NAME}: "v=spf1 ip4:9.9.9.7 -all"`);
  expect(spf[1]).toContain('"v=spf1 ip6:2606:4700::7 -all"');
});

test('without [smtp] inbound the return path is a warning; a smarthost asks for the name alone', async () => {
  names.set(NAME, 'A', ['9.9.9.7']);
  const source = '[delivery]\nsource_addresses = ["9.9.9.7"]\n';
  const off = await examineIdentity(context(`[smtp]\ninbound = ""\n${source}`));
  expect(of(off.findings, 'return_path')).toMatchObject({
    level: 'warning',
    summary: 'Bounce and complaint reports cannot arrive, because [smtp] inbound is off.',
  });
  const on = await examineIdentity(context(`[smtp]\ninbound = "127.0.0.1:2525"\n${source}`));
  expect(of(on.findings, 'return_path')).toMatchObject({
    level: 'ok',
    summary: `Reports arrive at ${NAME} on port 2525.`,
  });
  const relayed = '[delivery]\nmode = "smarthost"\n[delivery.smarthost]\nhost = "relay.example"\n';
  const { findings } = await examineIdentity(context(relayed));
  expect(findings.map(({ check }) => check)).toEqual(['hostname']);
});
