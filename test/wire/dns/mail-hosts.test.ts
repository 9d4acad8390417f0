/** Which of the hosts and addresses that a domain publishes are used, whatever the order in which DNS gives them. */
import { expect, test } from 'bun:test';

import { findHosts } from '../../../src/wire/dns/mx.ts';
import type { DnsAnswer, Resolver } from '../../../src/wire/dns/resolver.ts';

const found = <T>(...records: T[]): DnsAnswer<T> => {
  return { kind: 'found', records, ttlSeconds: 60, isAuthenticated: true };
};
const range = (count: number): number[] => Array.from({ length: count }, (_, at) => at + 1);

/** A resolver that knows these MX records (`10 mx.test`) of every domain, and these addresses of every host. */
function knowing(mx: string[], v4 = ['192.0.2.1'], v6: string[] | null = null): Resolver {
  const records = mx.map((text) => {
    const [preference = '', exchange = ''] = text.split(' ');
    return { preference: Number(preference), exchange };
  });
  const none = { kind: 'nodata', isAuthenticated: true } as const;
  return {
    mx: () => Promise.resolve(found(...records)),
    a: () => Promise.resolve(v4.length === 0 ? none : found(...v4)),
    aaaa: () =>
      Promise.resolve(v6 === null ? { kind: 'failed', reason: 'SERVFAIL' } : found(...v6)),
  } as unknown as Resolver;
}

async function hostsOf(resolver: Resolver) {
  const list = await findHosts(resolver, 'a.test');
  if (list.kind !== 'hosts') throw new Error(list.kind);
  return list.hosts;
}

test.each([
  [['20 one.test', '15 two.test', '10 one.test']],
  [['10 one.test', '15 two.test', '20 one.test']],
  [['15 two.test', '20 one.test', '10 one.test']],
])('a host that is named twice has the better of its preferences: %j', async (mx) => {
  const hosts = await hostsOf(knowing(mx));
  expect(hosts.map(({ name, preference }) => `${preference} ${name}`)).toEqual([
    '10 one.test',
    '15 two.test',
  ]);
});

test('of twelve hosts the ten best are used, though they come last', async () => {
  const mx = range(12).map((at) => `${at} mx${at}.test`);
  const best = mx.slice(0, 10).map((text) => text.split(' ')[1] ?? '');
  expect((await hostsOf(knowing(mx.toReversed()))).map(({ name }) => name)).toEqual(best);
  expect((await hostsOf(knowing(mx))).map(({ name }) => name)).toEqual(best);
});

test('of each family eight addresses are used, of IPv4 first', async () => {
  const v4 = range(10).map((at) => `192.0.2.${at}`);
  const v6 = range(10).map((at) => `2001:db8::${at}`);
  const [host] = await hostsOf(knowing(['10 mx.test'], v4, v6));
  const used = host?.addresses ?? [];
  expect(used.map((address) => address.includes(':'))).toEqual(range(16).map((at) => at > 8));
  expect(new Set(used).size).toBe(16);
});

test.each([true, false])(
  'without any MX the domain is its own host, validated as that answer was: %p',
  async (isAuthenticated) => {
    const resolver = {
      ...knowing([], ['192.0.2.1'], []),
      mx: () => Promise.resolve({ kind: 'nodata', isAuthenticated } as const),
    };
    expect(await findHosts(resolver, 'a.test')).toStrictEqual({
      kind: 'hosts',
      hosts: [{ name: 'a.test', preference: 0, addresses: ['192.0.2.1'], isAuthenticated: true }],
      isAuthenticated,
    });
  },
);

test.each(['localhost', 'localhost.localdomain', 'mx.localhost', 'mx.localhost.localdomain'])(
  '%s is the machine itself, and no mail host',
  async (name) => {
    const reason = `every MX of a.test is unusable: "${name}" is the machine itself`;
    const expected = { kind: 'no_hosts', reason } as const;
    expect(await findHosts(knowing([`10 ${name}`]), 'a.test')).toEqual(expected);
    // A name that only begins so is like any other.
    expect(await hostsOf(knowing([`10 ${name}.example`]))).toHaveLength(1);
  },
);

test('where no host can be used the first is named', async () => {
  expect(await findHosts(knowing(['10 localhost', '5 192.0.2.1']), 'a.test')).toEqual({
    kind: 'no_hosts',
    reason: 'every MX of a.test is unusable: "localhost" is the machine itself',
  });
});

test('a host of which one family could not be asked is no validated one', async () => {
  expect(await hostsOf(knowing(['10 mx.test']))).toStrictEqual([
    { name: 'mx.test', preference: 10, addresses: ['192.0.2.1'], isAuthenticated: false },
  ]);
});
