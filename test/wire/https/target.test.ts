/** Which URLs a webhook may name, and to which addresses a name may lead, before anything is dialled. */
import { expect, test } from 'bun:test';

import { AddressGuard } from '../../../src/wire/addresses/address-guard.ts';
import { parseNetworks } from '../../../src/wire/addresses/networks.ts';
import type { DnsAnswer } from '../../../src/wire/dns/resolver.ts';
import { findAddresses, parseTarget } from '../../../src/wire/https/target.ts';

/** Host and port, or why the URL is refused. */
function read(url: string): string {
  const target = parseTarget(url);
  return 'refused' in target ? target.refused : `${target.host} ${target.port}`;
}

test.each([
  ['https://Hooks.example.com/x', 'hooks.example.com 443'],
  ['https://hooks.example.com.:8443/', 'hooks.example.com 8443'],
  ['https://bücher.example/', 'xn--bcher-kva.example 443'],
  ['https://192.0.43.8/', '192.0.43.8 443'],
  ['https://0x7f.1/', '127.0.0.1 443'],
  ['https://[2001:DB8::1]:444/', '2001:db8::1 444'],
  ['https://localhost.example/', 'localhost.example 443'],
  ['https://local/', 'the host does not lead to a public address'],
  ['https://LOCALHOST./', 'the host does not lead to a public address'],
  ['https://db.localhost/', 'the host does not lead to a public address'],
  ['https://printer.local/', 'the host does not lead to a public address'],
  ['https://./', 'the host does not lead to a public address'],
  ['http://hooks.example.com/', 'the URL must begin with https://'],
  ['hooks.example.com', 'not a valid URL'],
  ['https://user:password@hooks.example.com/', 'the URL must not carry a user name or password'],
  ['https://user@hooks.example.com/', 'the URL must not carry a user name or password'],
  ['https://:password@hooks.example.com/', 'the URL must not carry a user name or password'],
  ['https://@hooks.example.com/', 'hooks.example.com 443'],
])('%s: %s', (url, expected) => {
  expect(read(url)).toBe(expected);
});

const found = (...records: string[]): DnsAnswer<string> => {
  return { kind: 'found', records, ttlSeconds: 60, isAuthenticated: false };
};
const NONE: DnsAnswer<string> = { kind: 'nodata', isAuthenticated: false };
const NO_NAME: DnsAnswer<string> = { kind: 'nxdomain', isAuthenticated: false };
const FAILED: DnsAnswer<string> = { kind: 'failed', reason: 'SERVFAIL' };
const REFUSED = { kind: 'refused', reason: 'the host does not lead to a public address' };
const MISSING = { kind: 'missing', reason: 'the host name does not exist or has no address' };
const UNKNOWN = { kind: 'failed', reason: 'the host name could not be resolved' };
const at = (...addresses: string[]) => ({ kind: 'found', addresses });
const [V4, V6] = ['192.0.43.8', '2606:4700::8'];

test.each([
  ['IPv4 comes first', found(V4), found(V6), at(V4, V6)],
  ['IPv6 alone', NONE, found(V6), at(V6)],
  ['one family that could not be asked', FAILED, found(V6), at(V6)],
  ['the other one', found(V4), FAILED, at(V4)],
  ['an inner one among public ones', found(V4, '10.0.0.1'), NONE, REFUSED],
  ['an inner one of the other family', found(V4), found('fd00::1'), REFUSED],
  ['an inner network that is allowed', found('10.9.0.1'), NONE, at('10.9.0.1')],
  ['no such name', NO_NAME, NO_NAME, MISSING],
  ['a name without addresses', NONE, NONE, MISSING],
  ['nothing known of the first', FAILED, NONE, UNKNOWN],
  ['nothing known of the second', NONE, FAILED, UNKNOWN],
] as const)('the addresses of a name: %s', async (_, a, aaaa, expected) => {
  const resolver = { a: () => Promise.resolve(a), aaaa: () => Promise.resolve(aaaa) };
  const guard = new AddressGuard(parseNetworks(['10.9.0.0/16']));
  expect(await findAddresses('hooks.example.com', resolver, guard)).toEqual(expected as never);
});

test('an address in place of a name is looked at, and nobody is asked about it', async () => {
  const ask = () => Promise.reject(new Error('asked'));
  const guard = new AddressGuard(parseNetworks([]));
  const of = (host: string) => findAddresses(host, { a: ask, aaaa: ask }, guard);
  expect(await of(V6)).toEqual(at(V6) as never);
  expect(await of('127.0.0.1')).toEqual(REFUSED as never);
});
