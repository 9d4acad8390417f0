/** Whose request it is: X-Forwarded-For counts as far from the right as trusted proxies wrote it. */
import { expect, test } from 'bun:test';
import { clientAddress, TrustedProxies } from '../../src/api/client-address.ts';
import { parseNetworks } from '../../src/wire/addresses/networks.ts';

const TRUSTED = ['10.0.0.0/8', 'fd00::/8'];

test.each([
  ['203.0.113.7', null, '203.0.113.7'],
  ['203.0.113.7', '198.51.100.1', '203.0.113.7'],
  ['10.0.0.1', null, '10.0.0.1'],
  ['10.0.0.1', '', '10.0.0.1'],
  ['10.0.0.1', '198.51.100.1', '198.51.100.1'],
  ['10.0.0.1', ' 198.51.100.1 ', '198.51.100.1'],
  ['10.0.0.1', '198.51.100.1, 203.0.113.7', '203.0.113.7'],
  ['10.0.0.1', '198.51.100.1, 10.0.0.2', '198.51.100.1'],
  ['10.0.0.1', '198.51.100.1,10.0.0.3,10.0.0.2', '198.51.100.1'],
  ['10.0.0.1', '192.0.2.1, 198.51.100.1, 10.0.0.2', '198.51.100.1'],
  // Only proxies are named: the first of them.
  ['10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
  ['10.0.0.1', 'unknown', '10.0.0.1'],
  ['10.0.0.1', '198.51.100.1, unknown', '10.0.0.1'],
  ['10.0.0.1', '198.51.100.1:4711', '10.0.0.1'],
  ['10.0.0.1', '2001:db8::1', '2001:db8::1'],
  ['fd00::1', '2001:db8::1', '2001:db8::1'],
  ['::ffff:203.0.113.7', null, '203.0.113.7'],
  ['::FFFF:203.0.113.7', null, '203.0.113.7'],
  ['2001:db8::1', '198.51.100.1', '2001:db8::1'],
  // A proxy and what it names may be written so too.
  ['::ffff:10.0.0.1', '198.51.100.1', '198.51.100.1'],
  ['10.0.0.1', '::ffff:198.51.100.1', '198.51.100.1'],
  ['10.0.0.1', '198.51.100.1, ::ffff:10.0.0.2', '198.51.100.1'],
  ['10.0.0.1', '198.51.100.1,', '10.0.0.1'],
  // Only an address that begins so is one of IPv4.
  ['2001:db8::ffff:203.0.113.7', null, '2001:db8::ffff:203.0.113.7'],
  ['::ffff:203.0.113', null, '::ffff:203.0.113'],
])('socket %s with X-Forwarded-For %j: %s', (peer, forwarded, client) => {
  const headers = new Headers(forwarded === null ? {} : { 'x-forwarded-for': forwarded });
  expect(clientAddress(peer, headers, parseNetworks(TRUSTED))).toBe(client);
});

test('without trusted proxies no header counts; without a socket there is no client', () => {
  const headers = new Headers({ 'x-forwarded-for': '198.51.100.1' });
  const nobody = parseNetworks([]);
  expect(clientAddress('10.0.0.1', headers, nobody)).toBe('10.0.0.1');
  expect(clientAddress('::ffff:10.0.0.1', headers, nobody)).toBe('10.0.0.1');
  expect(clientAddress(null, headers, parseNetworks(TRUSTED))).toBeNull();
});

test('the proxies of the config are read once for each list, and the client of a request is found by them', () => {
  const http = { trustedProxies: TRUSTED as readonly string[] };
  const proxies = new TrustedProxies({ config: { live: { http } } } as never);
  const request = new Request('http://api.test/', {
    headers: { 'x-forwarded-for': '198.51.100.1' },
  });
  const clientOf = (peer: string | null) => proxies.clientOf({ peer, request });
  const first = proxies.networks();
  expect([clientOf('10.0.0.1'), clientOf('203.0.113.7'), clientOf(null)]).toEqual([
    '198.51.100.1',
    '203.0.113.7',
    null,
  ]);
  expect(proxies.networks()).toBe(first);
  http.trustedProxies = ['203.0.113.0/24'];
  expect([clientOf('10.0.0.1'), clientOf('203.0.113.7')]).toEqual(['10.0.0.1', '198.51.100.1']);
  expect(proxies.networks()).toBe(proxies.networks());
  http.trustedProxies = [];
  expect([proxies.networks().isEmpty, clientOf('203.0.113.7')]).toEqual([true, '203.0.113.7']);
});
