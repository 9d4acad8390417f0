/** Where the machine would send from over IPv6, by what the system's routing table says. */
import { afterEach, expect, spyOn, test } from 'bun:test';
import { Socket } from 'node:dgram';

import { Ipv6Check } from '../../../src/wire/dns/ipv6.ts';
import type { DnsAnswer } from '../../../src/wire/dns/resolver.ts';
import { TestClock } from '../../rig/clock.ts';

const spies: { mockRestore(): void }[] = [];
afterEach(() => {
  for (const spy of spies.splice(0)) spy.mockRestore();
});

/** The state on a machine whose source is `address`; with null the system knows no route. */
async function stateFrom(address: string | null): Promise<unknown> {
  const asked: unknown[] = [];
  spies.push(
    spyOn(Socket.prototype, 'connect').mockImplementation(function (
      this: Socket,
      port: number,
      far: string,
      done: () => void,
    ) {
      asked.push([port, far]);
      queueMicrotask(() =>
        address === null ? this.emit('error', new Error('ENETUNREACH')) : done(),
      );
    } as never),
    spyOn(Socket.prototype, 'address').mockReturnValue({
      address: address ?? '',
      family: 'IPv6',
      port: 1,
    }),
  );
  const closed = spyOn(Socket.prototype, 'close');
  spies.push(closed);
  const found = (record: string): Promise<DnsAnswer<string>> =>
    Promise.resolve({ kind: 'found', records: [record], ttlSeconds: 60, isAuthenticated: false });
  const resolver = { ptr: () => found('mail.test'), aaaa: () => found(address ?? '::') };
  const state = await new Ipv6Check(resolver, new TestClock(), []).state();
  // A global unicast address: the way to it is the way to the internet.
  expect(asked).toEqual([[53, '2001:500:2::c']]);
  expect(closed).toHaveBeenCalledTimes(1);
  return state;
}

test.each(['2001:db8::25', '3fff::1', '2a00:1450::1'])('from %s', async (address) => {
  expect(await stateFrom(address)).toEqual({ isUsable: true, address, name: 'mail.test' });
});

test.each([
  ['no route', null],
  ['a link-local address', 'fe80::1'],
  ['a unique local address', 'fd00::1'],
  ['loopback', '::1'],
  ['an address that is not routed', '4000::1'],
])('not from %s', async (_, address) => {
  expect(await stateFrom(address)).toEqual({
    isUsable: false,
    address: null,
    reason: 'this machine has no IPv6 to send from',
  });
});
