/**
 * When IPv6 is used: a source address, and reverse DNS that leads back to it.
 */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { confirmReverse, Ipv6Check } from '../../../src/wire/dns/ipv6.ts';
import type { DnsAnswer, Resolver } from '../../../src/wire/dns/resolver.ts';
import { reverseName } from '../../../src/wire/dns/reverse-name.ts';
import { TestClock } from '../../rig/clock.ts';
import { Lookups } from '../../rig/lookups.ts';
import type { Names } from '../../rig/names.ts';

const ADDRESS = '2001:db8::25';
const REVERSE = reverseName(ADDRESS) ?? '';

const lookups = new Lookups();
let names: Names;
let dns: Resolver;
let clock: TestClock;

beforeEach(async () => {
  names = await lookups.names();
  clock = new TestClock();
  dns = lookups.resolver([names], clock);
});

afterEach(() => lookups.close());

test('a reverse name', () => {
  expect(REVERSE).toBe(`5.2.${'0.'.repeat(22)}8.b.d.0.1.0.0.2.ip6.arpa`);
  expect(reverseName('192.0.2.7')).toBe('7.2.0.192.in-addr.arpa');
  expect(reverseName('mx.test')).toBeNull();
});

test('a name that leads back confirms the address, in whatever spelling', async () => {
  names.set(REVERSE, 'PTR', ['other.test', 'mail.test']);
  names.set('mail.test', 'AAAA', ['2001:db8::1', '2001:0db8:0:0::0025']);
  expect(await confirmReverse(dns, ADDRESS)).toEqual({ kind: 'confirmed', name: 'mail.test' });
});

test('no name, or a name that leads elsewhere, is wrong', async () => {
  expect(await confirmReverse(dns, ADDRESS)).toEqual({
    kind: 'wrong',
    reason: `${ADDRESS} has no reverse DNS`,
  });
  names.set(REVERSE, 'PTR', ['mail.test']);
  names.set('mail.test', 'AAAA', ['2001:db8::26']);
  const fresh = lookups.resolver([names]);
  expect(await confirmReverse(fresh, ADDRESS)).toEqual({
    kind: 'wrong',
    reason: `mail.test, the reverse name of ${ADDRESS}, does not lead back`,
  });
  names.set(REVERSE, 'PTR', ['mail.test', 'other.test']);
  expect(await confirmReverse(lookups.resolver([names]), ADDRESS)).toMatchObject({
    reason: `mail.test, other.test, the reverse name of ${ADDRESS}, does not lead back`,
  });
});

test('a failure of DNS does not count as wrong', async () => {
  names.fail(REVERSE, 'servfail');
  expect(await confirmReverse(dns, ADDRESS)).toEqual({
    kind: 'failed',
    reason: `SERVFAIL (PTR ${REVERSE} at 127.0.0.1)`,
  });
});

test('a name that cannot be asked about leaves it open, unless another one leads back', async () => {
  names.set(REVERSE, 'PTR', ['broken.test', 'other.test']);
  names.fail('broken.test', 'servfail');
  names.set('other.test', 'AAAA', ['2001:db8::26']);
  expect(await confirmReverse(dns, ADDRESS)).toEqual({
    kind: 'failed',
    reason: 'SERVFAIL (AAAA broken.test at 127.0.0.1)',
  });
  const fresh = lookups.resolver([names]);
  names.set('other.test', 'AAAA', [ADDRESS]);
  expect(await confirmReverse(fresh, ADDRESS)).toEqual({ kind: 'confirmed', name: 'other.test' });
});

test('used with a configured source whose reverse DNS is right', async () => {
  names.set(REVERSE, 'PTR', ['mail.test']);
  names.set('mail.test', 'AAAA', [ADDRESS]);
  const check = new Ipv6Check(dns, clock, ['192.0.2.1', ADDRESS, '2001:db8::99']);
  expect(await check.state()).toEqual({ isUsable: true, address: ADDRESS, name: 'mail.test' });
});

test('never used when only IPv4 sources are configured, and DNS is not asked', async () => {
  const check = new Ipv6Check(dns, clock, ['192.0.2.1']);
  expect(await check.state()).toEqual({
    isUsable: false,
    address: null,
    reason: 'this machine has no IPv6 to send from',
  });
  expect(names.queries).toEqual([]);
});

test('the answer is kept a quarter of an hour, a failure a minute', async () => {
  names.fail(REVERSE, 'servfail');
  const check = new Ipv6Check(dns, clock, [ADDRESS]);
  expect(await check.state()).toMatchObject({ isUsable: false, address: ADDRESS });
  names.fail(REVERSE, null);
  names.set(REVERSE, 'PTR', ['mail.test'], 0);
  names.set('mail.test', 'AAAA', [ADDRESS], 0);
  expect((await check.state()).isUsable).toBe(false);
  await clock.advance(61_000);
  expect((await check.state()).isUsable).toBe(true);
  names.set(REVERSE, 'PTR', []);
  await clock.advance(14 * 60_000);
  expect((await check.state()).isUsable).toBe(true);
  await clock.advance(2 * 60_000);
  expect((await check.state()).isUsable).toBe(false);
});

test('to the millisecond: a failure is kept a minute, an answer a quarter of an hour', async () => {
  let asked = 0;
  let answer: DnsAnswer<string> = { kind: 'failed', reason: 'SERVFAIL' };
  const resolver = {
    ptr: () => {
      asked += 1;
      return Promise.resolve(answer);
    },
    aaaa: () => Promise.resolve(answer),
  };
  const check = new Ipv6Check(resolver, clock, [ADDRESS]);
  const afterMs = async (ms: number): Promise<number> => {
    clock.pass(ms);
    // Those who ask at once share one lookup.
    await Promise.all([check.state(), check.state()]);
    return asked;
  };
  // Whatever is done to the wall clock, before or meanwhile.
  clock.jump(86_400_000);
  expect(await afterMs(0)).toBe(1);
  expect(await check.state()).toEqual({ isUsable: false, address: ADDRESS, reason: 'SERVFAIL' });
  clock.jump(86_400_000);
  expect(await afterMs(59_999)).toBe(1);
  answer = { kind: 'nodata', isAuthenticated: false };
  expect(await afterMs(1)).toBe(2);
  expect(await afterMs(15 * 60_000 - 1)).toBe(2);
  expect(await afterMs(1)).toBe(3);
});
