/** When an MTA-STS policy is looked at again, tried again and expired, to the millisecond. No network: each fetch fails. */
import { afterEach, expect, test } from 'bun:test';

import { GuardedAgent } from '../../../src/wire/https/guarded-agent.ts';
import { parseNetworks } from '../../../src/wire/addresses/networks.ts';
import type { DnsAnswer } from '../../../src/wire/dns/resolver.ts';
import { MtaSts } from '../../../src/wire/tls/mta-sts.ts';
import { TestClock } from '../../rig/clock.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const NOTHING: DnsAnswer<string> = { kind: 'nodata', isAuthenticated: false };
const POLICY = {
  mode: 'enforce',
  mxPatterns: ['mx.a.test'],
  maxAgeSeconds: 604_800,
} as const;

const agents: GuardedAgent[] = [];
afterEach(() => agents.splice(0).forEach((agent) => agent.destroy()));

/** One that keeps `POLICY` for a.test under the id `one`, and finds this id in DNS; null: none there. */
function keeping(
  announced: string | null,
  more: readonly (readonly [domain: string, patterns: readonly string[]])[] = [],
): {
  sts: MtaSts;
  clock: TestClock;
  fetches: string[];
  announce: (id: string) => void;
} {
  let id = announced;
  const fetches: string[] = [];
  const agent = new GuardedAgent({
    resolver: {
      a: (name) => {
        fetches.push(name);
        return Promise.resolve(NOTHING);
      },
      aaaa: () => Promise.resolve(NOTHING),
    },
    allowNetworks: parseNetworks([]),
    ca: [],
  });
  agents.push(agent);
  const clock = new TestClock();
  const kept = [['a.test', POLICY.mxPatterns] as const, ...more].map(([domain, mxPatterns]) => [
    domain,
    { id: 'one', policy: { ...POLICY, mxPatterns }, fetchedAt: clock.steady() },
  ]);
  const sts = new MtaSts({
    resolver: {
      txt: () => {
        const records = [`v=STSv1; id=${id}`];
        const found = {
          kind: 'found',
          records,
          ttlSeconds: 60,
          isAuthenticated: false,
        } as const;
        return Promise.resolve(id === null ? NOTHING : { ...found, records });
      },
    },
    clock,
    agent,
    memory: {
      read: () => Promise.resolve(JSON.stringify(kept)),
      write: () => Promise.resolve(),
    },
  });
  return { sts, clock, fetches, announce: (next) => void (id = next) };
}

test('it expires as many seconds after its fetch as it says', async () => {
  const { sts, clock, fetches } = keeping(null);
  // What is done to the wall clock expires nothing, here and below.
  clock.jump(30 * DAY_MS);
  clock.pass(7 * DAY_MS - 1);
  expect(await sts.policyFor('a.test')).toEqual(POLICY as never);
  clock.pass(1);
  expect(await sts.policyFor('a.test')).toBeNull();
  expect(fetches).toEqual([]);
});

test('under the same id it is looked at again after a day, and counts on where that fails', async () => {
  const { sts, clock, fetches } = keeping('one');
  clock.jump(30 * DAY_MS);
  clock.pass(DAY_MS - 1);
  expect(await sts.policyFor('a.test')).toEqual(POLICY as never);
  expect(fetches).toEqual([]);
  clock.pass(1);
  expect(await sts.policyFor('a.test')).toEqual(POLICY as never);
  expect(fetches).toEqual(['mta-sts.a.test']);
});

test('a fetch that failed is tried again after five minutes, and at once for another id or domain', async () => {
  const { sts, clock, fetches, announce } = keeping('two');
  const look = async (domain = 'a.test'): Promise<number> => {
    await sts.policyFor(domain);
    return fetches.length;
  };
  expect(await look()).toBe(1);
  clock.jump(-30 * DAY_MS);
  clock.pass(5 * MINUTE_MS - 1);
  expect(await look()).toBe(1);
  expect(await look('b.test')).toBe(2);
  clock.pass(1);
  expect(await look()).toBe(3);
  // The five minutes begin anew with each failure.
  clock.pass(5 * MINUTE_MS - 1);
  expect(await look()).toBe(3);
  announce('three');
  expect(await look()).toBe(4);
});

test('the failures of ten thousand domains are kept, and with one more the oldest is forgotten', async () => {
  const { sts, clock, fetches } = keeping('two');
  for (let n = 0; n < 10_000; n += 1) {
    await sts.policyFor(`d${n}.test`);
    clock.pass(1);
  }
  // A failure that comes again is the newest one.
  clock.pass(5 * MINUTE_MS - 10_000);
  await sts.policyFor('d0.test');
  expect(fetches).toHaveLength(10_001);
  await sts.policyFor('d9999.test');
  expect(fetches).toHaveLength(10_001);
  await sts.policyFor('one-more.test');
  const tried = async (domain: string): Promise<boolean> => {
    const before = fetches.length;
    await sts.policyFor(domain);
    return fetches.length > before;
  };
  expect([await tried('d0.test'), await tried('d2.test')]).toEqual([false, false]);
  expect(await tried('d1.test')).toBe(true);
});

test('ten thousand policies are kept, and with one more the one that was asked for least lately goes', async () => {
  const many = (count: number) =>
    Array.from({ length: count }, (_, n) => [`d${n}.test`, ['mx.test']] as const);
  const full = keeping(null, many(9_999));
  expect(await full.sts.policyFor('a.test')).toEqual(POLICY as never);
  const over = keeping(null, many(10_000));
  expect(await over.sts.policyFor('a.test')).toBeNull();
  expect(await over.sts.policyFor('d0.test')).not.toBeNull();
});

test('policies of less than four MiB together are kept, those of more are not', async () => {
  const keptOf = async (mebibytes: number): Promise<number> => {
    const long = Array.from(
      { length: mebibytes },
      (_, n) => [`d${n}.test`, ['x'.repeat(1_048_000)]] as const,
    );
    const { sts } = keeping(null, long);
    let count = 0;
    for (const [domain] of long) if ((await sts.policyFor(domain)) !== null) count += 1;
    return count;
  };
  expect([await keptOf(3), await keptOf(5)]).toEqual([3, 4]);
});
