/** What the host check says of the machine's names, word by word, for each way in which DNS can disagree with it. */
import { expect, mock, test } from 'bun:test';
import * as os from 'node:os';

import { systemClock } from '../../src/base/clock.ts';
import { parseConfig } from '../../src/base/config-file.ts';
import { examineIdentity } from '../../src/health/identity.ts';
import type { DoctorContext } from '../../src/health/finding.ts';

const HOST = 'mail.shop.example';
const SERVICE = 'mail.service.example';
const V4 = '9.9.9.7';
const V6 = '2606:4700::7';
const FAILS = 'FAILS';

type Zone = Record<string, string | readonly string[]>;

/** A resolver that knows `zone`, by `TYPE name`; a name with `FAILS` is one that it cannot look up. */
function context(zone: Zone, sources: string[], more = ''): DoctorContext {
  const answer = (type: string, name: string) => {
    const records = zone[`${type} ${name}`];
    if (records === FAILS) return { kind: 'failed', reason: 'no server answers' };
    if (records !== undefined) return { kind: 'found', records: [records].flat(), ttlSeconds: 60 };
    const isKnown = Object.keys(zone).some((key) => key.endsWith(` ${name}`));
    return { kind: isKnown ? 'nodata' : 'nxdomain', ttlSeconds: 60 };
  };
  const ask = (type: string) => (name: string) => Promise.resolve(answer(type, name));
  const mx = (name: string) => {
    const found = answer('MX', name);
    if (!('records' in found)) return Promise.resolve(found);
    const records = found.records.map((exchange) => ({ exchange, preference: 10 }));
    return Promise.resolve({ ...found, records });
  };
  const resolver = { a: ask('A'), aaaa: ask('AAAA'), ptr: ask('PTR'), txt: ask('TXT'), mx };
  const text = `hostname = "${HOST}"\n${more}\n[delivery]\nsource_addresses = ${JSON.stringify(sources)}`;
  const config = parseConfig(text, 'doctor.toml');
  return { config, clock: systemClock, resolver } as unknown as DoctorContext;
}

const INBOUND = '[smtp]\ninbound = "127.0.0.1:2525"';
const SHARED = `${INBOUND}\n[cluster]\nname = "${SERVICE}"`;
const SOUND: Zone = {
  [`A ${HOST}`]: V4,
  [`TXT ${HOST}`]: `v=spf1 ip4:${V4} -all`,
  [`PTR ${V4}`]: HOST,
};

async function said(check: string, zone: Zone, sources = [V4], more = INBOUND) {
  const { findings } = await examineIdentity(context(zone, sources, more));
  const found = findings.filter((one) => one.check === check);
  expect(found).toHaveLength(1);
  return [found[0]?.level, found[0]?.summary, found[0]?.advice] as unknown;
}

const PTR_ADVICE = (address: string): string =>
  `Set the reverse DNS (PTR) of ${address} to ${HOST} in your provider's control panel, and keep an address record of ${HOST} with ${address}.`;
const OVER_IPV4 = ' Until then, mail leaves over IPv4 only.';

test('a sound machine', async () => {
  const { findings, addresses } = await examineIdentity(context(SOUND, [V4], INBOUND));
  expect(addresses).toEqual([V4]);
  const ok = (check: string, summary: string) => ({ check, level: 'ok', summary, advice: null });
  expect(findings as unknown).toEqual([
    ok('hostname', `${HOST} has the address ${V4}.`),
    ok('reverse_dns_ipv4', `${V4} and ${HOST} name each other in DNS.`),
    ok('host_spf', `The SPF record of ${HOST} allows ${V4}.`),
    ok('return_path', `Reports arrive at ${HOST} on port 2525.`),
  ]);
});

test('the host name: both families, none, and one that cannot be looked up', async () => {
  const advice = `Publish an A record (and AAAA for IPv6) for ${HOST} with this machine's public address. Receivers see this name in EHLO.`;
  const both = { ...SOUND, [`AAAA ${HOST}`]: V6 };
  expect(await said('hostname', both)).toEqual([
    'ok',
    `${HOST} has the address ${V4}, ${V6}.`,
    null,
  ]);
  const none = (why: string) => `${HOST} has no address in DNS: ${why}.`;
  expect(await said('hostname', {})).toEqual(['error', none('the name does not exist'), advice]);
  expect(await said('hostname', { [`TXT ${HOST}`]: 'x' })).toEqual([
    'error',
    none('there is no such record'),
    advice,
  ]);
  for (const type of ['A', 'AAAA']) {
    expect(await said('hostname', { [`${type} ${HOST}`]: FAILS })).toEqual([
      'unchecked',
      none('no server answers'),
      advice,
    ]);
  }
  // One family that cannot be looked up does not matter when the other has an address.
  expect(await said('hostname', { ...SOUND, [`AAAA ${HOST}`]: FAILS })).toEqual([
    'ok',
    `${HOST} has the address ${V4}.`,
    null,
  ]);
});

test.each([
  ['reverse_dns_ipv4', V4, 'A', ''],
  ['reverse_dns_ipv6', V6, 'AAAA', OVER_IPV4],
])(
  '%s: missing, unknown, of another name, of a name that leads elsewhere',
  async (check, address, type, more) => {
    const [key, other] = [`PTR ${address}`, 'host7.provider.example'];
    const advice = PTR_ADVICE(address);
    const ask = (zone: Zone) => said(check, { [`${type} ${HOST}`]: address, ...zone }, [address]);
    const none = `${address} has no reverse DNS, so large receivers refuse mail from it.`;
    expect(await ask({})).toEqual(['error', none, advice + more]);
    expect(await ask({ [key]: FAILS })).toEqual([
      'unchecked',
      `The reverse DNS of ${address} could not be looked up: no server answers.`,
      advice,
    ]);
    expect(await ask({ [key]: other, [`${type} ${other}`]: address })).toEqual([
      'warning',
      `The reverse DNS of ${address} is ${other}, not ${HOST}.`,
      advice,
    ]);
    expect(await ask({ [key]: other, [`${type} ${other}`]: ['192.0.2.9', '2001:db8::9'] })).toEqual(
      [
        'error',
        `The reverse DNS of ${address} is ${other}, but that name does not have this address.`,
        advice + more,
      ],
    );
    // Of several names one that is confirmed is enough.
    expect(await ask({ [key]: [other, HOST] })).toEqual([
      'ok',
      `${address} and ${HOST} name each other in DNS.`,
      null,
    ]);
    expect(await ask({ [key]: [other, HOST], [`${type} ${other}`]: address })).toEqual([
      'ok',
      `${address} and ${HOST} name each other in DNS.`,
      null,
    ]);
    // Of several others the one that is confirmed is named, else the first.
    const third = 'host8.provider.example';
    expect(await ask({ [key]: [third, other], [`${type} ${other}`]: address })).toEqual([
      'warning',
      `The reverse DNS of ${address} is ${other}, not ${HOST}.`,
      advice,
    ]);
    expect(await ask({ [key]: [third, other] })).toEqual([
      'error',
      `The reverse DNS of ${address} is ${third}, but that name does not have this address.`,
      advice + more,
    ]);
  },
);

test.each([
  ['v=spf1 -all', 'error', 'fail'],
  ['v=spf1 ~all', 'error', 'softfail'],
  ['v=spf1 ?all', 'error', 'neutral'],
  ['no policy', 'error', 'none'],
  [FAILS, 'unchecked', 'temperror'],
])('an SPF record %j is %s', async (record, level, result) => {
  const advice = (mechanism: string, address: string): string =>
    `Publish a TXT record at ${HOST}: "v=spf1 ${mechanism}:${address} -all" (one record with all addresses). The customers' return paths are aliases of this name, so its SPF record applies to every message.`;
  for (const [mechanism, address] of [
    ['ip4', V4],
    ['ip6', V6],
  ] as const) {
    expect(await said('host_spf', { ...SOUND, [`TXT ${HOST}`]: record }, [address])).toEqual([
      level,
      `The SPF check of ${HOST} gives ${result} for ${address}.`,
      advice(mechanism, address),
    ]);
  }
});

test('the return path: switched off, without an address, under a name that leads elsewhere', async () => {
  expect(await said('return_path', SOUND, [V4], '')).toEqual([
    'warning',
    'Bounce and complaint reports cannot arrive, because [smtp] inbound is off.',
    `Set inbound = "0.0.0.0:25" under [smtp] and open incoming port 25, so that late bounces become events. ${HOST} must lead to this machine, by its address or by an MX record.`,
  ]);
  expect(await said('return_path', {})).toEqual([
    'error',
    `Reports are sent to ${HOST}, which has no address in DNS.`,
    `Publish an address record for ${HOST}.`,
  ]);
  const advice = `Publish an MX record at ${SERVICE}: "10 ${HOST}".`;
  const elsewhere = `Reports are sent to ${SERVICE}, which does not lead to this machine.`;
  const shared = (zone: Zone) => said('return_path', { ...SOUND, ...zone }, [V4], SHARED);
  expect(await shared({})).toEqual(['error', elsewhere, advice]);
  expect(await shared({ [`A ${SERVICE}`]: '9.9.9.8' })).toEqual(['error', elsewhere, advice]);
  expect(await shared({ [`A ${SERVICE}`]: ['9.9.9.8', V4] })).toEqual([
    'ok',
    `Reports arrive at ${SERVICE} on port 2525.`,
    null,
  ]);
  expect(await shared({ [`MX ${SERVICE}`]: FAILS })).toEqual([
    'unchecked',
    expect.stringMatching(/^The MX record of mail\.service\.example could not be looked up: .+\.$/),
    advice,
  ]);
});

test('only public source addresses are asked about', async () => {
  const { addresses, findings } = await examineIdentity(
    context(SOUND, ['10.0.0.1', V4, '127.0.0.1'], INBOUND),
  );
  expect(addresses).toEqual([V4]);
  expect(findings.map(({ check }) => check)).toEqual([
    'hostname',
    'reverse_dns_ipv4',
    'host_spf',
    'return_path',
  ]);
});

test('without configured source addresses the public addresses of the interfaces count, each once', async () => {
  const { addresses } = await onMachine(
    [
      [V4, '10.0.0.7', V6],
      [V4, 'fe80::7'],
    ],
    SOUND,
  );
  expect(addresses).toEqual([V4, V6]);
  // One is enough, whatever addresses the host name has.
  const alone = await onMachine([['9.9.9.9', '10.0.0.7']], SOUND);
  expect(alone.addresses).toEqual(['9.9.9.9']);
});

/** What is said, without configured source addresses, of a machine whose interfaces have these. */
async function onMachine(addresses: string[][], zone: Zone, more = INBOUND) {
  const interfaces = Object.fromEntries(
    [['127.0.0.1', '::1'], ...addresses].map((list, at) => [
      `eth${at}`,
      list.map((address) => ({ address, family: address.includes(':') ? 'IPv6' : 'IPv4' })),
    ]),
  );
  const real = { ...os };
  await mock.module('node:os', () => ({ ...real, networkInterfaces: () => interfaces }));
  try {
    return await examineIdentity(context(zone, [], more));
  } finally {
    await mock.module('node:os', () => real);
  }
}

test('behind NAT the addresses of the host name count; where it has none, none is known', async () => {
  const named = await onMachine([['10.0.0.7', 'fe80::7']], SOUND);
  expect([named.addresses, named.findings.map(({ check }) => check)]).toEqual([
    [V4],
    ['hostname', 'reverse_dns_ipv4', 'host_spf', 'return_path'],
  ]);
  const { addresses, findings } = await onMachine([['10.0.0.7', 'fe80::7']], {});
  expect(addresses).toEqual([]);
  expect(findings.map(({ check }) => check)).toEqual(['hostname', 'addresses', 'return_path']);
  expect(findings[1]).toEqual({
    check: 'addresses',
    level: 'unchecked',
    summary: 'The public address of this machine is not known.',
    advice:
      'If this machine is behind NAT, publish an A record for the host name with the public address, then run doctor again.',
  });
});

test('an address of IPv6 is the same one however it is written', async () => {
  const long = '2606:4700:0:0:0:0:0:7';
  const reverse = { [`PTR ${V6}`]: HOST, [`AAAA ${HOST}`]: long };
  expect(await said('reverse_dns_ipv6', reverse, [V6])).toEqual([
    'ok',
    `${V6} and ${HOST} name each other in DNS.`,
    null,
  ]);
  const shared = { [`AAAA ${HOST}`]: V6, [`AAAA ${SERVICE}`]: long };
  expect(await said('return_path', shared, [V6], SHARED)).toEqual([
    'ok',
    `Reports arrive at ${SERVICE} on port 2525.`,
    null,
  ]);
});

test('the SPF record that counts is that of the service, with the name of this machine', async () => {
  const policy = `v=spf1 exists:%{h}.allowed.example -all`;
  const zone = {
    ...SOUND,
    [`TXT ${HOST}`]: 'v=spf1 -all',
    [`TXT ${SERVICE}`]: policy,
    [`A ${HOST}.allowed.example`]: '127.0.0.2',
  };
  expect(await said('host_spf', zone, [V4], SHARED)).toEqual([
    'ok',
    `The SPF record of ${SERVICE} allows ${V4}.`,
    null,
  ]);
});

test('a name of the service leads nowhere while this machine has no address', async () => {
  expect(await said('return_path', { [`A ${SERVICE}`]: V4 }, [V4], SHARED)).toEqual([
    'error',
    `Reports are sent to ${HOST}, which has no address in DNS.`,
    `Publish an address record for ${HOST}.`,
  ]);
});
