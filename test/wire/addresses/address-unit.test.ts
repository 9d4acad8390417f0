/** Who counts as one peer. */
import { expect, test } from 'bun:test';

import { addressUnit } from '../../../src/wire/addresses/address-unit.ts';

test('addresses of one IPv6 network count as one', () => {
  expect(addressUnit('192.0.2.1')).toBe('192.0.2.1');
  expect(addressUnit('::ffff:192.0.2.1')).toBe('192.0.2.1');
  expect(addressUnit('2001:db8:0:1::5')).toBe(addressUnit('2001:0DB8::1:ffff:0:0:9'));
  expect(addressUnit('2001:db8:0:1::5')).not.toBe(addressUnit('2001:db8:0:2::5'));
  expect(addressUnit('::1')).toBe('0:0:0:0::/64');
});

test.each([
  ['2001:db8:AbCd:ef01:1:2:3:4', '2001:db8:abcd:ef01::/64'],
  ['2001:0db8:000f::1', '2001:db8:f:0::/64'],
  ['::', '0:0:0:0::/64'],
  ['::1:2:3:4:5:6:7', '0:1:2:3::/64'],
  ['1:2:3:4:5:6:7::', '1:2:3:4::/64'],
  ['1::', '1:0:0:0::/64'],
  ['::FFFF:192.0.2.1', '192.0.2.1'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['no:address', 'no:address'],
  ['', ''],
])('%s counts as %s', (address, unit) => expect(addressUnit(address)).toBe(unit));
