/**
 * Which hosts take mail: every shape of MX and address answers (docs/reliability.md R27; RFC 5321 section 5.1, RFC
 * 7505).
 */
import { afterEach, beforeEach, describe, expect, spyOn, test } from 'bun:test';
import { findHosts } from '../../../src/wire/dns/mx.ts';
import type { HostList } from '../../../src/wire/dns/mx.ts';
import type { DnsAnswer, Resolver } from '../../../src/wire/dns/resolver.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { Lookups, SHORT } from '../../rig/lookups.ts';
import type { Failure, Names } from '../../rig/names.ts';

const lookups = new Lookups();
let server: Names;
let dns: Resolver;

beforeEach(async () => {
  server = await lookups.names();
  dns = lookups.resolver([server], systemClock, SHORT);
});

afterEach(() => lookups.close());

/** The kind, or the hosts with their addresses. */
async function find(domain: string): Promise<string | Record<string, string[]>> {
  const list = await findHosts(dns, domain);
  if (list.kind !== 'hosts') return list.kind;
  return Object.fromEntries(list.hosts.map((host) => [host.name, host.addresses]));
}

describe('one row a rule', () => {
  test('no such domain', async () => {
    expect(await find('a.test')).toBe('nxdomain');
  });

  test('MX with address', async () => {
    server.set('a.test', 'MX', ['10 mx.a.test']);
    server.set('mx.a.test', 'A', ['192.0.2.1']);
    expect(await find('a.test')).toEqual({ 'mx.a.test': ['192.0.2.1'] });
  });

  test('no MX: the domain itself, IPv4 before IPv6', async () => {
    server.set('a.test', 'AAAA', ['2001:db8::1']);
    server.set('a.test', 'A', ['192.0.2.1']);
    expect(await find('a.test')).toEqual({ 'a.test': ['192.0.2.1', '2001:db8::1'] });
  });

  test('no MX and only an IPv6 address', async () => {
    server.set('a.test', 'AAAA', ['2001:db8::1']);
    expect(await find('a.test')).toEqual({ 'a.test': ['2001:db8::1'] });
  });

  test('an MX that is an address, also one that only looks like it: no host', async () => {
    for (const name of ['192.0.2.1', '192.0.2.999', '1.2.3.4']) {
      server.set('a.test', 'MX', [`10 ${name}`]);
      // A resolver of its own: the first answer would be kept.
      const list = await findHosts(lookups.resolver([server], systemClock, SHORT), 'a.test');
      expect(list).toEqual({
        kind: 'no_hosts',
        reason: `every MX of a.test is unusable: "${name}" is an address, not a host name`,
      });
    }
    expect(await findHosts(dns, '2001:db8::1')).toMatchObject({ kind: 'no_hosts' });
  });

  test('no MX and no address', async () => {
    server.set('a.test', 'TXT', ['only words']);
    expect(await findHosts(dns, 'a.test')).toEqual({
      kind: 'no_hosts',
      reason: 'a.test has neither MX nor address',
    });
  });

  test('an address of the domain is not used where there is an MX, even one without address', async () => {
    server.set('a.test', 'MX', ['10 mx.a.test']);
    server.set('a.test', 'A', ['192.0.2.1']);
    expect(await find('a.test')).toBe('no_hosts');
  });

  test('null MX', async () => {
    server.set('a.test', 'MX', ['0 .']);
    server.set('a.test', 'A', ['192.0.2.1']);
    expect(await find('a.test')).toBe('null_mx');
  });

  test('a null MX beside a real one is skipped', async () => {
    server.set('a.test', 'MX', ['0 .', '10 mx.a.test']);
    server.set('mx.a.test', 'A', ['192.0.2.1']);
    expect(await find('a.test')).toEqual({ 'mx.a.test': ['192.0.2.1'] });
  });

  test('an MX that is an alias is followed', async () => {
    server.set('a.test', 'MX', ['10 alias.a.test']);
    server.set('alias.a.test', 'CNAME', ['real.b.test']);
    server.set('real.b.test', 'A', ['192.0.2.1']);
    expect(await find('a.test')).toEqual({ 'alias.a.test': ['192.0.2.1'] });
  });

  test('a domain that is an alias', async () => {
    server.set('a.test', 'CNAME', ['b.test']);
    server.set('b.test', 'MX', ['10 mx.b.test']);
    server.set('mx.b.test', 'A', ['192.0.2.1']);
    expect(await find('a.test')).toEqual({ 'mx.b.test': ['192.0.2.1'] });
  });

  test('why a name is no host is told in full', async () => {
    const why: Record<string, string> = {
      'x.localhost': '"x.localhost" is the machine itself',
      'a_-.test': '"a_-.test" is not a host name',
    };
    for (const [name, reason] of Object.entries(why)) {
      expect(await findHosts(dns, name)).toEqual({ kind: 'no_hosts', reason });
      server.set('a.test', 'MX', [`10 ${name}`]);
      const list = await findHosts(lookups.resolver([server], systemClock, SHORT), 'a.test');
      const all = `every MX of a.test is unusable: ${reason}`;
      expect(list).toEqual({ kind: 'no_hosts', reason: all });
    }
  });

  test('all that is told of a host', async () => {
    server.set('a.test', 'MX', ['20 MX2.a.test', '10 mx1.a.test']);
    server.set('mx1.a.test', 'AAAA', ['2001:db8::1']);
    server.set('mx2.a.test', 'A', ['192.0.2.2']);
    const host = { isAuthenticated: false };
    expect(await findHosts(dns, 'a.test')).toEqual({
      kind: 'hosts',
      hosts: [
        { name: 'mx1.a.test', preference: 10, addresses: ['2001:db8::1'], ...host },
        { name: 'mx2.a.test', preference: 20, addresses: ['192.0.2.2'], ...host },
      ],
      isAuthenticated: false,
    });
    server.set('b.test', 'A', ['192.0.2.3']);
    expect(await findHosts(dns, 'b.test')).toEqual({
      kind: 'hosts',
      hosts: [{ name: 'b.test', preference: 0, addresses: ['192.0.2.3'], ...host }],
      isAuthenticated: false,
    });
  });

  const unusable = [
    '192.0.2.1',
    'localhost',
    'x.localhost',
    'localhost.localdomain',
    'a\u0001b.test',
  ];
  for (const exchange of unusable) {
    test(`an MX to ${JSON.stringify(exchange)} alone`, async () => {
      server.set('a.test', 'MX', [`10 ${exchange}`]);
      server.set('a.test', 'A', ['192.0.2.9']);
      expect(await find('a.test')).toBe('no_hosts');
    });

    test(`an MX to ${JSON.stringify(exchange)} beside a good one`, async () => {
      server.set('a.test', 'MX', [`10 ${exchange}`, '20 mx.a.test']);
      server.set('mx.a.test', 'A', ['192.0.2.1']);
      expect(await find('a.test')).toEqual({ 'mx.a.test': ['192.0.2.1'] });
    });
  }

  for (const domain of ['localhost', '127.0.0.1', '[127.0.0.1]', '', 'a b.test']) {
    test(`mail for ${JSON.stringify(domain)} goes nowhere, and DNS is not asked`, async () => {
      expect(await find(domain)).toBe('no_hosts');
      expect(server.queries).toEqual([]);
    });
  }

  test('every MX host missing', async () => {
    server.set('a.test', 'MX', ['10 mx1.a.test', '20 mx2.a.test']);
    expect(await findHosts(dns, 'a.test')).toEqual({
      kind: 'no_hosts',
      reason: 'no MX of a.test has an address',
    });
  });

  for (const failure of ['servfail', 'refused', 'timeout', 'wrong-id', 'truncated'] as Failure[]) {
    test(`MX lookup: ${failure}`, async () => {
      server.set('a.test', 'A', ['192.0.2.1']);
      server.fail('a.test', failure);
      expect(await find('a.test')).toBe('failed');
    });

    test(`address of the only MX: ${failure}`, async () => {
      server.set('a.test', 'MX', ['10 mx.a.test']);
      server.fail('mx.a.test', failure);
      expect(await find('a.test')).toBe('failed');
    });
  }

  test.each(['a', 'aaaa'] as const)(
    'only its %s records cannot be looked up: asked again later, unless there are others',
    async (type) => {
      server.set('a.test', 'MX', ['10 mx.a.test']);
      server.set('b.test', 'MX', ['10 mx.b.test']);
      const address = type === 'a' ? '2001:db8::1' : '192.0.2.1';
      server.set('mx.b.test', type === 'a' ? 'AAAA' : 'A', [address]);
      dns = { ...dns, a: dns.a.bind(dns), aaaa: dns.aaaa.bind(dns), mx: dns.mx.bind(dns) };
      dns[type] = () => Promise.resolve({ kind: 'failed', reason: 'servfail' });
      expect(await find('a.test')).toBe('failed');
      expect(await find('b.test')).toEqual({ 'mx.b.test': [address] });
    },
  );

  test('one MX that cannot be looked up does not stop the others', async () => {
    server.set('a.test', 'MX', ['10 mx1.a.test', '20 mx2.a.test']);
    server.fail('mx1.a.test', 'servfail');
    server.set('mx2.a.test', 'A', ['192.0.2.2']);
    expect(await find('a.test')).toEqual({ 'mx2.a.test': ['192.0.2.2'] });
  });

  test('one MX missing and one that cannot be looked up: asked again later', async () => {
    server.set('a.test', 'MX', ['10 mx1.a.test', '20 mx2.a.test']);
    server.fail('mx2.a.test', 'servfail');
    expect(await find('a.test')).toBe('failed');
  });

  test('an alias loop at the MX', async () => {
    server.set('a.test', 'MX', ['10 mx.a.test']);
    server.set('mx.a.test', 'CNAME', ['mx2.a.test']);
    server.set('mx2.a.test', 'CNAME', ['mx.a.test']);
    expect(await find('a.test')).toBe('failed');
  });
});

describe('order', () => {
  const names = async (): Promise<string[]> => {
    const list: HostList = await findHosts(dns, 'a.test');
    return list.kind === 'hosts' ? list.hosts.map((host) => host.name) : [];
  };

  test('by preference, not by position', async () => {
    server.set('a.test', 'MX', ['30 c.test', '10 a1.test', '20 b.test']);
    for (const name of ['a1.test', 'b.test', 'c.test']) server.set(name, 'A', ['192.0.2.1']);
    expect(await names()).toEqual(['a1.test', 'b.test', 'c.test']);
  });

  test('equals in random order, each first at times', async () => {
    server.set('a.test', 'MX', ['10 x.test', '10 y.test', '10 z.test', '20 last.test']);
    for (const name of ['x', 'y', 'z', 'last']) server.set(`${name}.test`, 'A', ['192.0.2.1']);
    const firsts = new Map<string, number>();
    for (let i = 0; i < 300; i++) {
      const order = await names();
      expect(order[3]).toBe('last.test');
      firsts.set(order[0] ?? '', (firsts.get(order[0] ?? '') ?? 0) + 1);
    }
    // A fair choice gives 100 each; below 50 happens less than once in a billion runs.
    for (const name of ['x.test', 'y.test', 'z.test']) expect(firsts.get(name)).toBeGreaterThan(50);
  });

  test.each([
    // With the least draw each moves to the front, with the greatest all stay.
    [0, ['192.0.2.2', '192.0.2.3', '192.0.2.1', '2001:db8::2', '2001:db8::1'], ['y', 'z', 'x']],
    [0.999, ['192.0.2.1', '192.0.2.2', '192.0.2.3', '2001:db8::1', '2001:db8::2'], ['x', 'y', 'z']],
  ])('drawn with %d: equal hosts, and the addresses of each family', async (drawn, all, hosts) => {
    server.set('a.test', 'MX', ['10 x.test', '10 y.test', '10 z.test']);
    for (const name of ['x', 'y', 'z']) {
      server.set(`${name}.test`, 'A', ['192.0.2.1', '192.0.2.2', '192.0.2.3']);
      server.set(`${name}.test`, 'AAAA', ['2001:db8::1', '2001:db8::2']);
    }
    const drawing = spyOn(Math, 'random').mockReturnValue(drawn);
    const list = await findHosts(dns, 'a.test');
    drawing.mockRestore();
    if (list.kind !== 'hosts') throw new Error(list.kind);
    expect(list.hosts.map(({ name }) => name)).toEqual(hosts.map((name) => `${name}.test`));
    expect(list.hosts.map(({ addresses }) => addresses)).toEqual([all, all, all]);
  });

  test('a host named twice counts once, at its better preference', async () => {
    server.set('a.test', 'MX', ['30 x.test', '20 y.test', '10 X.test']);
    for (const name of ['x.test', 'y.test']) server.set(name, 'A', ['192.0.2.1']);
    expect(await names()).toEqual(['x.test', 'y.test']);
  });

  test('bounded: at most 10 hosts and 8 addresses of each family', async () => {
    const exchanges = Array.from({ length: 40 }, (_, i) => `${i} mx${i}.many.test`);
    server.set('a.test', 'MX', exchanges);
    server.set(
      '*.many.test',
      'A',
      Array.from({ length: 30 }, (_, i) => `192.0.2.${i}`),
    );
    const list = await findHosts(dns, 'a.test');
    if (list.kind !== 'hosts') throw new Error(list.kind);
    expect(list.hosts.map((host) => host.name)).toEqual(
      Array.from({ length: 10 }, (_, i) => `mx${i}.many.test`),
    );
    expect(new Set(list.hosts.map((host) => host.addresses.length))).toEqual(new Set([8]));
    expect(server.queries.length).toBeLessThan(60);
  });
});

test('DNSSEC is carried through for each part', async () => {
  server.set('a.test', 'MX', ['10 mx.a.test']);
  server.set('mx.a.test', 'A', ['192.0.2.1']);
  server.setAuthenticated(true);
  const secure = await findHosts(dns, 'a.test');
  expect(secure).toMatchObject({ isAuthenticated: true, hosts: [{ isAuthenticated: true }] });
  server.setAuthenticated(false);
  const fresh = lookups.resolver([server], systemClock, SHORT);
  const insecure = await findHosts(fresh, 'a.test');
  expect(insecure).toMatchObject({ isAuthenticated: false, hosts: [{ isAuthenticated: false }] });
});

test.each([
  [true, true, true],
  [true, false, false],
  [false, true, false],
])('a host counts as validated with A %p and AAAA %p: %p', async (a, aaaa, both) => {
  server.set('a.test', 'MX', ['10 mx.a.test']);
  server.set('mx.a.test', 'A', ['192.0.2.1']);
  server.set('mx.a.test', 'AAAA', ['2001:db8::1']);
  const marked: Resolver = {
    ...dns,
    mx: (name) => dns.mx(name),
    a: async (name) => validated(await dns.a(name), a),
    aaaa: async (name) => validated(await dns.aaaa(name), aaaa),
  };
  const list = await findHosts(marked, 'a.test');
  expect(list).toMatchObject({ hosts: [{ isAuthenticated: both }] });
});

function validated<T>(answer: DnsAnswer<T>, isAuthenticated: boolean): DnsAnswer<T> {
  return answer.kind === 'failed' ? answer : { ...answer, isAuthenticated };
}

test('of a host that cannot be asked about, what was said of IPv4 is told, and of hosts the first', async () => {
  const failed = (what: string, name: string): Promise<DnsAnswer<string>> =>
    Promise.resolve({ kind: 'failed', reason: `${what} of ${name}` });
  const records = [
    { exchange: 'two.test', preference: 20 },
    { exchange: 'one.test', preference: 10 },
  ];
  const list = await findHosts(
    {
      ...dns,
      mx: () => Promise.resolve({ kind: 'found', records, ttlSeconds: 60, isAuthenticated: false }),
      a: (name) => failed('A', name),
      aaaa: (name) => failed('AAAA', name),
    },
    'a.test',
  );
  expect(list).toEqual({ kind: 'failed', reason: 'A of one.test' });
});
