/** Which local address mail leaves from; IPv6 only with a reverse DNS name that leads back. */
import { afterEach, expect, test } from 'bun:test';

import { Sources } from '../../src/flow/sources.ts';
import { createResolver } from '../../src/wire/dns.ts';
import { TestClock } from '../rig/clock.ts';
import { startNames } from '../rig/names.ts';

const GOOD = '2a00:1450::25';
const GOOD_REVERSE = '5.2.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.5.4.1.0.0.a.2.ip6.arpa';

const ended: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0).toReversed()) await end();
});

async function sources(addresses: string[], own: string[]) {
  const clock = new TestClock();
  const names = await startNames();
  ended.push(() => names.stop());
  const resolver = createResolver({ servers: [names.listen], clock });
  ended.push(() => resolver.close());
  return {
    names,
    clock,
    sources: new Sources({ clock, resolver, addresses, ownAddresses: () => own }),
  };
}

test('without configuration IPv4 is the system’s choice, and IPv6 is not used without a name', async () => {
  const rig = await sources([], [GOOD]);
  await rig.sources.refresh();
  expect(rig.sources.sourceFor('8.8.8.8', 'k')).toEqual({ kind: 'usable', from: null });
  const v6 = rig.sources.sourceFor('2a00:1450::1', 'k');
  expect(v6).toMatchObject({ kind: 'unusable' });
  expect(JSON.stringify(v6)).toContain('no reverse DNS name');
});

test('IPv6 is used from the address whose name leads back to it', async () => {
  const rig = await sources([], ['2a00:1450::99', GOOD]);
  rig.names.set(GOOD_REVERSE, 'PTR', ['mail.rig.test']);
  rig.names.set('mail.rig.test', 'AAAA', [GOOD]);
  await rig.sources.refresh();
  expect(rig.sources.sourceFor('2a00:1450::1', 'k')).toEqual({ kind: 'usable', from: GOOD });
});

test('a name that leads elsewhere does not count', async () => {
  const rig = await sources([], [GOOD]);
  rig.names.set(GOOD_REVERSE, 'PTR', ['mail.rig.test']);
  rig.names.set('mail.rig.test', 'AAAA', ['2a00:1450::26']);
  await rig.sources.refresh();
  expect(rig.sources.sourceFor('2a00:1450::1', 'k').kind).toBe('unusable');
});

test('looks again after an hour, not before', async () => {
  const rig = await sources([], [GOOD]);
  await rig.sources.refresh();
  rig.names.set(GOOD_REVERSE, 'PTR', ['mail.rig.test']);
  rig.names.set('mail.rig.test', 'AAAA', [GOOD]);
  await rig.sources.refresh();
  expect(rig.sources.sourceFor('2a00:1450::1', 'k').kind).toBe('unusable');
  rig.clock.jump(2 * 3_600_000);
  await rig.sources.refresh();
  expect(rig.sources.sourceFor('2a00:1450::1', 'k').kind).toBe('usable');
});

test('configured addresses are kept to, the same one for the same place', async () => {
  const configured = ['127.0.0.2', '127.0.0.3'];
  const rig = await sources(configured, [GOOD]);
  await rig.sources.refresh();
  const seen = new Set<string | null>();
  for (let place = 0; place < 50; place += 1) {
    const first = rig.sources.sourceFor('8.8.8.8', `mx:${place}`);
    expect(rig.sources.sourceFor('9.9.9.9', `mx:${place}`)).toEqual(first);
    if (first.kind === 'usable') seen.add(first.from);
  }
  expect(seen).toEqual(new Set(configured));
  // Only IPv4 was configured: IPv6 would leave from an address that nobody named.
  expect(rig.sources.sourceFor('2a00:1450::1', 'k').kind).toBe('unusable');
});
