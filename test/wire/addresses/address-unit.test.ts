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
