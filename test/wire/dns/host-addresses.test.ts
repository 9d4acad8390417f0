/** Where a host that the operator names is: `localhost` is this machine, whatever DNS says. */
import { expect, test } from 'bun:test';

import type { DnsAnswer } from '../../../src/wire/dns/resolver.ts';
import { addressesOfHost } from '../../../src/wire/dns/host-addresses.ts';

const NXDOMAIN: DnsAnswer<string> = { kind: 'nxdomain', isAuthenticated: false };
const asked: string[] = [];
const found = (records: string[]): DnsAnswer<string> => ({
  kind: 'found',
  records,
  ttlSeconds: 60,
  isAuthenticated: false,
});
const resolver = {
  a: (name: string) => {
    asked.push(name);
    return Promise.resolve(name.startsWith('both') ? found(['192.0.2.1']) : NXDOMAIN);
  },
  aaaa: (name: string) =>
    Promise.resolve(name.startsWith('none') ? NXDOMAIN : found(['2001:db8::1'])),
};

test.each([
  ['localhost', ['127.0.0.1', '::1']],
  ['relay.localhost', ['127.0.0.1', '::1']],
  ['10.0.0.5', ['10.0.0.5']],
  ['fd00::5', ['fd00::5']],
])('%s needs no DNS', async (host, records) => {
  expect(await addressesOfHost(resolver, host)).toMatchObject({ kind: 'found', records });
  expect(asked).toEqual([]);
});

const FAILED: DnsAnswer<string> = { kind: 'failed', reason: 'timeout' };
const NODATA: DnsAnswer<string> = { kind: 'nodata', isAuthenticated: false };
const FOUR = { ...found(['192.0.2.1']), ttlSeconds: 30 } as DnsAnswer<string>;
const SIX = { ...found(['2001:db8::1']), isAuthenticated: true } as DnsAnswer<string>;
const BOTH = { ...FOUR, records: ['192.0.2.1', '2001:db8::1'] } as DnsAnswer<string>;

test.each<[string, ...(typeof FOUR)[]]>([
  ['both', FOUR, SIX, BOTH],
  ['IPv4 alone', FOUR, NODATA, FOUR],
  ['IPv4, the other one unknown', FOUR, FAILED, FOUR],
  ['IPv6 alone', NODATA, SIX, SIX],
  ['IPv6, the other one unknown', FAILED, SIX, SIX],
  ['neither', NODATA, NODATA, NODATA],
  ['no such name', NXDOMAIN, NXDOMAIN, NXDOMAIN],
  ['unknown whether there is IPv4', FAILED, NODATA, FAILED],
  ['unknown whether there is IPv6', NODATA, FAILED, FAILED],
  ['nothing at all', FAILED, { kind: 'failed', reason: 'SERVFAIL' }, FAILED],
])('what is told of a name: %s', async (_, a = NODATA, aaaa = NODATA, told = NODATA) => {
  const names: string[] = [];
  const ask = (answer: DnsAnswer<string>) => (name: string) => {
    names.push(name);
    return Promise.resolve(answer);
  };
  const both = { a: ask(a), aaaa: ask(aaaa) };
  expect(await addressesOfHost(both, 'relay.example')).toEqual(told as never);
  expect(names).toEqual(['relay.example', 'relay.example']);
});

test('of this machine and of an address nothing is to be kept', async () => {
  const known = { kind: 'found', ttlSeconds: 0, isAuthenticated: false } as const;
  expect(await addressesOfHost(resolver, 'localhost')).toEqual({
    ...known,
    records: ['127.0.0.1', '::1'],
  });
  expect(await addressesOfHost(resolver, '10.0.0.5')).toEqual({ ...known, records: ['10.0.0.5'] });
  expect((await addressesOfHost(resolver, 'none-localhost')).kind).toBe('nxdomain');
  expect((await addressesOfHost(resolver, 'none.localhost.example')).kind).toBe('nxdomain');
});

test('a name in DNS: IPv4 first, either alone, or what DNS said', async () => {
  expect(await addressesOfHost(resolver, 'both.example')).toMatchObject({
    records: ['192.0.2.1', '2001:db8::1'],
  });
  expect(await addressesOfHost(resolver, 'six.example')).toMatchObject({
    records: ['2001:db8::1'],
  });
  expect(await addressesOfHost(resolver, 'none.example')).toEqual(NXDOMAIN);
});
