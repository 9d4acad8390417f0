/** The names under which addresses are looked up in reverse. */
import { expect, test } from 'bun:test';

import { reverseName } from '../../../src/wire/dns/reverse-name.ts';

test.each([
  ['192.0.2.25', '25.2.0.192.in-addr.arpa'],
  ['2001:db8::9abc:deff', `f.f.e.d.c.b.a.9.${'0.'.repeat(16)}8.b.d.0.1.0.0.2.ip6.arpa`],
  ['2001:DB8:0::9ABC:DEFF', `f.f.e.d.c.b.a.9.${'0.'.repeat(16)}8.b.d.0.1.0.0.2.ip6.arpa`],
  ['mail.example', null],
  ['', null],
])('of %s it is %p', (address, name) => expect(reverseName(address)).toBe(name));
