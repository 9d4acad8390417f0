/** CIDR blocks and addresses: what is one, and where each block begins and ends. */
import { expect, test } from 'bun:test';

import { isSameAddress, parseNetworks } from '../../../src/wire/addresses/networks.ts';

test.each([
  ['10.0.0.0/8', '10.0.0.0', '10.255.255.255', '11.0.0.0', '9.255.255.255'],
  ['192.0.2.7', '192.0.2.7', '192.0.2.7', '192.0.2.8', '192.0.2.6'],
  ['192.0.2.0/31', '192.0.2.0', '192.0.2.1', '192.0.2.2', '192.0.1.255'],
  ['0.0.0.0/0', '0.0.0.0', '255.255.255.255', '::1', '2001:db8::1'],
  ['fd00::/8', 'fd00::', 'fdff:ffff::1', 'fe00::1', 'fcff::1'],
  ['2001:db8::/64', '2001:db8::', '2001:db8::ffff:0:0:1', '2001:db8:0:1::', '2001:db7::1'],
  ['::ffff:10.0.0.0/104', '10.0.0.1', '::ffff:10.9.9.9', '11.0.0.1', '9.0.0.1'],
  ['::ffff:0.0.0.0/96', '0.0.0.0', '::ffff:255.255.255.255', '::', '2001:db8::1'],
  ['::ffff:192.0.2.6/127', '192.0.2.6', '192.0.2.7', '192.0.2.8', '192.0.2.5'],
  ['::/0', '::', 'ffff::1', '192.0.2.1', '::ffff:192.0.2.1'],
  ['::192.0.2.7', '::192.0.2.7', '::c000:207', '::192.0.2.8', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7', '::ffff:192.0.2.7', '192.0.2.8', '::192.0.2.7'],
])('%s has %s to %s', (block, first, last, above, below) => {
  const outside = [above, below];
  const networks = parseNetworks(['203.0.113.0/24', block]);
  expect([first, last].map((ip) => networks.has(ip))).toEqual([true, true]);
  expect(outside.map((ip) => [ip, networks.has(ip)])).toEqual(outside.map((ip) => [ip, false]));
  expect(networks.isEmpty).toBe(false);
});

test.each([
  ['10.0.0.0/33', 'has no prefix length from 0 to 32'],
  ['fd00::/129', 'has no prefix length from 0 to 128'],
  ['10.0.0.0/', 'has no prefix length from 0 to 32'],
  ['10.0.0.0/-1', 'has no prefix length from 0 to 32'],
  ['10.0.0.0/8x', 'has no prefix length from 0 to 32'],
  ['10.0.0.0/8/8', 'has no prefix length from 0 to 32'],
  ['10.0.0.0/0008', 'has no prefix length from 0 to 32'],
  ['/8', 'is not an IP network'],
  ['10.0.0/8', 'is not an IP network'],
  ['fe80::1%eth0', 'is not an IP network'],
  ['example.com', 'is not an IP network'],
  ['', 'is not an IP network'],
  ['::ffff:10.0.0.0/95', 'is wider than ::ffff:0:0/96'],
])('%j is refused: %s', (block, words) => {
  expect(() => parseNetworks(['10.0.0.0/8', block])).toThrow(`${JSON.stringify(block)} ${words}`);
});

test('no block holds nothing, and no block holds what is no address', () => {
  expect(parseNetworks([]).isEmpty).toBe(true);
  expect(parseNetworks([]).has('10.0.0.1')).toBe(false);
  for (const text of ['', '10.1', '010.0.0.1', '0x0a.0.0.1', 'fe80::1%eth0', 'localhost']) {
    expect([text, parseNetworks(['0.0.0.0/0', '::/0']).has(text)]).toEqual([text, false]);
  }
});

test.each([
  ['192.0.2.1', '::ffff:192.0.2.1', true],
  ['192.0.2.1', '::ffff:c000:201', true],
  ['2001:db8::1', '2001:0DB8:0:0::1', true],
  ['192.0.2.1', '192.0.2.2', false],
  ['::192.0.2.1', '192.0.2.1', false],
  ['x', 'x', false],
  ['192.0.2.1', 'x', false],
])('%s and %s are the same address: %p', (one, other, is) => {
  expect([isSameAddress(one, other), isSameAddress(other, one)]).toEqual([is, is]);
});
