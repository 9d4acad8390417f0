/** The machine's own addresses are read anew after five seconds, and not before. */
import { afterEach, expect, mock, spyOn, test } from 'bun:test';
// oxlint-disable-next-line import/no-namespace -- all but one function stays as it is
import * as os from 'node:os';

const real = { ...os };
let addresses: string[] = [];
let reads = 0;
await mock.module('node:os', () => ({
  ...real,
  networkInterfaces() {
    reads += 1;
    return { none: undefined, eth0: addresses.map((address) => ({ address })) };
  },
}));
const { AddressGuard } = await import('../../../src/wire/addresses/address-guard.ts');
const { parseNetworks } = await import('../../../src/wire/addresses/networks.ts');

const clock = spyOn(performance, 'now');
afterEach(async () => {
  clock.mockRestore();
  await mock.module('node:os', () => real);
});

test('to the millisecond, whatever changes meanwhile', () => {
  const guard = new AddressGuard(parseNetworks([]));
  const at = (ms: number, ip: string): boolean => {
    clock.mockImplementation(() => ms);
    return guard.allows(ip);
  };
  addresses = ['8.8.8.8', '2600::1%eth0'];
  expect([at(1_000, '8.8.8.8'), at(1_000, '2600::1'), at(1_000, '8.8.4.4'), reads]).toEqual([
    false,
    false,
    true,
    1,
  ]);
  addresses = ['8.8.4.4'];
  expect([at(6_000, '8.8.4.4'), reads]).toEqual([true, 1]);
  expect([at(6_001, '8.8.4.4'), at(6_001, '8.8.8.8'), reads]).toEqual([false, true, 2]);
  // Nothing is read for what is not public, or what the operator admits.
  expect([at(20_000, '10.0.0.1'), reads]).toEqual([false, 2]);
  expect(new AddressGuard(parseNetworks(['8.8.4.4'])).allows('8.8.4.4')).toBe(true);
  expect(reads).toBe(2);
});
