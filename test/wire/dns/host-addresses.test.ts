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

test('a name in DNS: IPv4 first, either alone, or what DNS said', async () => {
  expect(await addressesOfHost(resolver, 'both.example')).toMatchObject({
    records: ['192.0.2.1', '2001:db8::1'],
  });
  expect(await addressesOfHost(resolver, 'six.example')).toMatchObject({
    records: ['2001:db8::1'],
  });
  expect(await addressesOfHost(resolver, 'none.example')).toEqual(NXDOMAIN);
});
