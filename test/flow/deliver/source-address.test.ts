/** Which local address mail leaves from. */
import { expect, test } from 'bun:test';

import { Sources } from '../../../src/flow/deliver/source-address.ts';
import type { Ipv6State } from '../../../src/wire/dns/ipv6.ts';

const GOOD: Ipv6State = { isUsable: true, address: '2a00:1450::25', name: 'mail.rig.test' };
const BAD: Ipv6State = { isUsable: false, address: null, reason: 'no reverse DNS' };
const ipv6 = (state: Ipv6State) => ({ state: () => Promise.resolve(state) });

test('without configuration it is the system’s choice for IPv4, the proven address for IPv6', async () => {
  const sources = new Sources([], ipv6(GOOD));
  expect(await sources.sourceFor('8.8.8.8', 'k')).toEqual({ kind: 'usable', from: null });
  expect(await sources.sourceFor('2a00::1', 'k')).toEqual({ kind: 'usable', from: GOOD.address });
});

test('IPv6 without right reverse DNS is not used, and the reason is said', async () => {
  const sources = new Sources([], ipv6(BAD));
  expect(await sources.sourceFor('2a00::1', 'k')).toEqual({
    kind: 'unusable',
    reason: 'no reverse DNS',
  });
  expect(await sources.sourceFor('::1', 'k')).toEqual({ kind: 'usable', from: null });
});

test('only configured addresses are used, the same one for the same site', async () => {
  const configured = ['127.0.0.2', '127.0.0.3'];
  const sources = new Sources(configured, ipv6(BAD));
  const seen = new Set<string | null>();
  for (let site = 0; site < 50; site += 1) {
    const first = await sources.sourceFor('8.8.8.8', `mx:${site}`);
    expect(await sources.sourceFor('9.9.9.9', `mx:${site}`)).toEqual(first);
    if (first.kind === 'usable') seen.add(first.from);
  }
  expect(seen).toEqual(new Set(configured));
});

test('with only IPv6 configured nothing leaves over IPv4', async () => {
  const sources = new Sources(['2a00:1450::25'], ipv6(GOOD));
  expect((await sources.sourceFor('8.8.8.8', 'k')).kind).toBe('unusable');
});

test('which of the addresses a site gets stays the same over restarts and versions: receivers know it', async () => {
  const sources = new Sources(['192.0.2.1', '192.0.2.2', '192.0.2.3', '2001:db8::1'], ipv6(GOOD));
  const keys = ['mx:a.example', 'mx:ab.example', 'mx:abc.example', 'provider:Gmail', 'é', ''];
  const picked = await Promise.all(keys.map((key) => sources.sourceFor('8.8.8.8', key)));
  expect(picked.map((source) => (source.kind === 'usable' ? source.from : 'none'))).toEqual([
    '192.0.2.1',
    '192.0.2.3',
    '192.0.2.2',
    '192.0.2.3',
    '192.0.2.3',
    '192.0.2.1',
  ]);
});

test('one address is everybody’s, and why a family cannot be used is said', async () => {
  const one = new Sources(['192.0.2.1'], ipv6(BAD));
  expect(await one.sourceFor('8.8.8.8', 'any')).toEqual({ kind: 'usable', from: '192.0.2.1' });
  const none = new Sources(['2a00:1450::25'], ipv6(GOOD));
  expect(await none.sourceFor('8.8.8.8', 'any')).toEqual({
    kind: 'unusable',
    reason: 'no IPv4 address is configured to send from',
  });
});
