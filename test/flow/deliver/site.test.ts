/** Where mail to a domain goes and how, each decision as one text: key, limits, and every address with its port, TLS, login and source. */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import type { Live, Provider, Smarthost, Startup } from '../../../src/base/config.ts';
import { parseConfig } from '../../../src/base/config-file.ts';
import { Sites, type SiteResult, type SitesOptions } from '../../../src/flow/deliver/site.ts';
import type { DnsAnswer, Resolver } from '../../../src/wire/dns/resolver.ts';
import { PRODUCTION_DEADLINES } from '../../../src/wire/smtp/deadlines.ts';
import { openFixture, type Fixture } from '../fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
});
afterAll(() => fixture.close());

const target = (change: Partial<Smarthost> = {}): Smarthost => ({
  host: 'relay.example',
  port: 2_525,
  username: '',
  password: '',
  tls: 'required',
  ...change,
});

const DNS: Record<string, string[]> = {
  'mx one.example': ['20 b.mx.example', '10 a.mx.example'],
  'mx twin.example': ['10 b.mx.example', '10 a.mx.example', '20 alt.example'],
  'mx google.example': ['5 alt1.gmail-smtp-in.l.google.com'],
  'mx sts.example': ['10 a.mx.example', '20 b.mx.example'],
  'mx strict.example': ['10 a.mx.example'],
  'mx safe.example': ['10 safe-host.example', '20 b.mx.example'],
  'mx unsafe.example': ['10 safe-host.example'],
  'a safe-host.example': ['8.8.7.1'],
  'mx private.example': ['10 inside.example'],
  'mx mixed.example': ['10 inside.example', '20 half.example'],
  'mx null.example': ['0 '],
  'mx six.example': ['10 six-host.example'],
  'a a.mx.example': ['8.8.8.1'],
  'a b.mx.example': ['8.8.4.1'],
  'a alt.example': ['8.8.4.2'],
  'a alt1.gmail-smtp-in.l.google.com': ['8.8.5.1'],
  'a inside.example': ['10.1.1.1'],
  'a half.example': ['10.1.1.1', '8.8.6.1'],
  'aaaa half.example': ['2a00:1450::6'],
  'aaaa six-host.example': ['2a00:1450::5'],
  'a relay.example': ['10.9.9.9'],
  'aaaa relay.example': ['2a00:1450::7'],
  'a smart.example': ['10.8.8.8'],
  'aaaa far6.example': ['2a00:1450::8'],
};

/** DNS of the test; names that begin with `safe` are validated. `asked` lists the questions for TLSA. */
function resolver(asked: string[]): Resolver {
  const answer = (type: string, name: string): DnsAnswer<string> => {
    if (name.startsWith('silent')) return { kind: 'failed', reason: 'no answer' };
    if (name.startsWith('gone')) return { kind: 'nxdomain', isAuthenticated: false };
    const records = DNS[`${type} ${name}`];
    return records === undefined
      ? { kind: 'nodata', isAuthenticated: name.startsWith('safe') }
      : { kind: 'found', records, ttlSeconds: 60, isAuthenticated: name.startsWith('safe') };
  };
  const none = async () => ({ kind: 'nodata', isAuthenticated: false }) as const;
  return {
    a: async (name) => answer('a', name),
    aaaa: async (name) => answer('aaaa', name),
    mx: async (name) => {
      const found = answer('mx', name);
      if (found.kind !== 'found') return found;
      const records = found.records.map((text) => {
        const [preference, exchange = ''] = text.split(' ');
        return { preference: Number(preference), exchange };
      });
      return { ...found, records };
    },
    txt: none,
    cname: none,
    ptr: none,
    tlsa: async (name) => {
      asked.push(`tlsa ${name}`);
      return none();
    },
  };
}

function told(result: SiteResult | null): string {
  if (result === null) return 'none';
  if (result.kind === 'none') {
    const { kind, stage, cause, ...rest } = result.outcome;
    expect(rest).toEqual({
      host: null,
      address: null,
      tls: null,
      reply: null,
      mayBeDuplicate: false,
      throttle: null,
    });
    return `${kind} ${stage}: ${cause}`;
  }
  const { key, addresses, limits, isShared, isRelay, isDirect } = result.site;
  const marks = [isShared && 'shared', isRelay && 'relay', isDirect && 'direct'].filter(Boolean);
  const head = `${key} [${limits.name} ${limits.connections}] ${marks.join(' ')}`.trimEnd();
  const lines = addresses.map(({ host, dial: { options } }) => {
    const { address, port, localAddress, serverName, tls, auth } = options;
    expect(serverName).toBe(host.name);
    const where = `${host.preference} ${host.name} ${address} ${port} from ${localAddress}`;
    const how = `${host.tls.name} ${tls.mode} ${tls.verify}`;
    return `${where}, ${how}${auth === null ? '' : `, ${auth.username}:${auth.password}`}`;
  });
  return [head, ...lines].join('\n  ');
}

interface Change {
  mode?: Startup['delivery']['mode'];
  live?: Partial<Live['delivery']>;
  providers?: Provider[];
  captureAt?: SitesOptions['captureAt'];
  fallback?: Partial<Record<'isRelayed' | 'takeProbe', boolean>>;
}

function start({ mode = 'direct', live, providers = [], captureAt = null, fallback }: Change = {}) {
  const config = parseConfig('hostname = "mail.rig.test"\ndata_dir = "/nowhere"', 'test.toml');
  const asked: string[] = [];
  const delivery = { ...config.startup.delivery, mode, providers };
  const sites = new Sites({
    ctx: {
      ...fixture.ctx,
      resolver: resolver(asked),
      config: {
        startup: { ...config.startup, delivery },
        live: { ...config.live, delivery: { ...config.live.delivery, ...live } },
      },
    },
    captureAt,
    sources: {
      sourceFor: async (address: string, key: string) => {
        asked.push(`${address} for ${key}`);
        return address.includes(':')
          ? { kind: 'unusable', reason: 'no IPv6' }
          : { kind: 'usable', from: '192.0.2.1' };
      },
    } as unknown as SitesOptions['sources'],
    fallback: {
      isRelayed: (key: string) => {
        asked.push(`relayed ${key}`);
        return fallback?.isRelayed === true;
      },
      takeProbe: (key: string) => {
        asked.push(`probe ${key}`);
        return fallback?.takeProbe === true;
      },
    } as unknown as SitesOptions['fallback'],
    mtaSts: {
      policyFor: async (domain) =>
        domain.startsWith('st')
          ? { mode: 'enforce', mxPatterns: ['b.mx.example'], maxAgeSeconds: 60 }
          : null,
    },
    dialing: {
      heloName: 'mail.rig.test',
      deadlines: PRODUCTION_DEADLINES,
      trust: undefined,
      signal: new AbortController().signal,
    },
  });
  return { sites, asked, find: async (domain: string) => told(await sites.find(domain)) };
}

test('hosts found by DNS: the best preference names the site, private addresses and IPv6 are left out, and why is said', async () => {
  const { find, asked } = start();
  expect(await find('one.example')).toBe(`mx:a.mx.example [ 20] direct
  10 a.mx.example 8.8.8.1 25 from 192.0.2.1, opportunistic opportunistic false
  20 b.mx.example 8.8.4.1 25 from 192.0.2.1, opportunistic opportunistic false`);
  expect(asked).toEqual([
    '8.8.8.1 for mx:a.mx.example',
    '8.8.4.1 for mx:a.mx.example',
    'relayed mx:a.mx.example',
  ]);
  // Whichever of the two is tried first: that is left to chance.
  const firsts = new Set<string>();
  for (let time = 0; time < 40; time += 1) {
    const [key, first] = (await find('twin.example')).split('\n');
    expect(key).toBe('mx:a.mx.example,b.mx.example [ 20] direct');
    firsts.add(first?.trim().split(' ')[1] ?? 'none');
  }
  expect(firsts).toEqual(new Set(['a.mx.example', 'b.mx.example']));
  expect(await find('google.example')).toBe(`provider:Gmail [Gmail 10] direct
  5 alt1.gmail-smtp-in.l.google.com 8.8.5.1 25 from 192.0.2.1, opportunistic opportunistic false`);
  expect(await find('mixed.example')).toBe(`mx:half.example [ 20] direct
  20 half.example 8.8.6.1 25 from 192.0.2.1, opportunistic opportunistic false`);
  expect(await find('sts.example')).toBe(`mx:a.mx.example [ 20] direct
  20 b.mx.example 8.8.4.1 25 from 192.0.2.1, mta-sts required true`);
  const nowhere: Record<string, string> = {
    'private.example':
      'impossible dns: the mail hosts of private.example are not on the public internet (delivery.allow_networks admits none of them)',
    'six.example': 'unreached route: 2a00:1450::5 cannot be reached from here: no IPv6',
    'null.example': 'null_mx dns: null.example takes no mail (null MX)',
    'gone.example': 'impossible dns: the domain gone.example does not exist',
    'bare.example':
      'impossible dns: bare.example has no mail host: bare.example has neither MX nor address',
    'silent.example': 'unreached dns: DNS for silent.example did not answer: no answer',
  };
  for (const [domain, words] of Object.entries(nowhere)) expect(await find(domain)).toBe(words);
});

test('DANE is asked for where the domain and its host are validated, by the port of the config', async () => {
  const { find, asked } = start({ live: { port: 26 } });
  for (const domain of ['safe.example', 'unsafe.example', 'one.example']) await find(domain);
  expect(asked.filter((line) => line.startsWith('tlsa'))).toEqual([
    'tlsa _26._tcp.safe-host.example',
  ]);
});

test('a domain whose policy admits no host of it waits, with the reason', async () => {
  const { find } = start({ live: { port: 26 } });
  expect(await find('strict.example')).toBe(
    'unreached policy: a.mx.example is not in the MTA-STS policy of strict.example',
  );
  expect(await find('google.example')).toContain(' 8.8.5.1 26 from ');
});

const RELAY = 'relay.example 10.9.9.9';

test.each([
  [{}, `host:relay.example:2525 [ 20]\n  0 ${RELAY} 2525 from 192.0.2.1, required required true`],
  [
    { tls: 'none' },
    `host:relay.example:2525 [ 20]\n  0 ${RELAY} 2525 from 192.0.2.1, none none false`,
  ],
  [
    { tls: 'opportunistic', port: 465 },
    `host:relay.example:465 [ 20]\n  0 ${RELAY} 465 from 192.0.2.1, opportunistic implicit false`,
  ],
  [
    { port: 2_465 },
    `host:relay.example:2465 [ 20]\n  0 ${RELAY} 2465 from 192.0.2.1, required implicit true`,
  ],
  [
    { username: 'ann', password: 'pw' },
    `host:relay.example:2525 [ 20] shared relay\n  0 ${RELAY} 2525 from 192.0.2.1, required required true, ann:pw`,
  ],
  [
    { host: '10.7.7.7', password: 'unused' },
    `host:10.7.7.7:2525 [ 20]\n  0 10.7.7.7 10.7.7.7 2525 from 192.0.2.1, required required true`,
  ],
  [{ host: 'silent.example' }, 'unreached dns: the host silent.example of the route: no answer'],
  [
    { host: 'gone.example' },
    'unreached dns: the host gone.example of the route: it has no address',
  ],
  [{ host: 'far6.example' }, 'unreached route: 2a00:1450::8 cannot be reached from here: no IPv6'],
] as [Partial<Smarthost>, string][])('a route to %j', async (change, expected) => {
  const routes = [{ domains: ['corp.example'], target: target(change) }];
  expect(await start({ live: { routes } }).find('corp.example')).toBe(expected);
});

test('the first route that names the domain or what is above it counts, in every mode, and no fallback is asked', async () => {
  const routes = ['x.one.example', '*.one.example', '*.example', 'one.example'].map(
    (domain, at) => ({ domains: [`${at}.other`, domain], target: target({ port: 1_000 + at }) }),
  );
  const captureAt = { host: '127.0.0.1', port: 9 };
  for (const mode of ['direct', 'smarthost', 'capture'] as const) {
    const { find, asked } = start({ mode, live: { routes }, captureAt });
    const keys: Record<string, string | undefined> = {};
    for (const domain of ['x.one.example', 'y.one.example', 'one.example', '3.other', '0.other']) {
      keys[domain] = (await find(domain)).split(' ')[0];
    }
    expect(keys).toEqual({
      'x.one.example': 'host:relay.example:1000',
      'y.one.example': 'host:relay.example:1001',
      'one.example': 'host:relay.example:1002',
      '3.other': 'host:relay.example:1003',
      '0.other': 'host:relay.example:1000',
    });
    expect(asked.filter((line) => /^(?:relayed|probe)/.test(line))).toEqual([]);
  }
});

test('capture and smarthost take everything else, or say what is missing', async () => {
  const captureAt = { host: '127.0.0.1', port: 9 };
  expect(await start({ mode: 'capture', captureAt }).find('one.example')).toBe(
    'capture [ 20]\n  0 capture.localhost 127.0.0.1 9 from null, none none false',
  );
  expect(await start({ mode: 'capture' }).find('one.example')).toBe(
    'unreached route: the capture receiver is not running',
  );
  const smarthost = target({ host: 'smart.example' });
  const SMART = `host:smart.example:2525 [ 20] shared relay
  0 smart.example 10.8.8.8 2525 from 192.0.2.1, required required true`;
  const open = start({ mode: 'smarthost', live: { smarthost } });
  expect([await open.find('null.example'), told(await open.sites.smarthost())]).toEqual([
    SMART,
    SMART,
  ]);
  const none = start({ mode: 'smarthost' });
  expect([await none.find('one.example'), told(await none.sites.smarthost())]).toEqual([
    'impossible route: no smarthost is configured',
    'none',
  ]);
});

test('a site that is relayed goes to the smarthost, but for its probe, and directly where there is none', async () => {
  const smarthost = target({ host: 'smart.example' });
  const keyOf = async (change: Change) => {
    const { find, asked } = start(change);
    const key = (await find('google.example')).split(' ')[0];
    return [key, ...asked.filter((line) => /^(?:relayed|probe)/.test(line))];
  };
  const both = ['relayed provider:Gmail', 'probe provider:Gmail'];
  const isRelayed = true;
  expect(await keyOf({ live: { smarthost }, fallback: { isRelayed } })).toEqual([
    'host:smart.example:2525',
    ...both,
  ]);
  expect(await keyOf({ live: { smarthost }, fallback: { isRelayed, takeProbe: true } })).toEqual([
    'provider:Gmail',
    ...both,
  ]);
  expect(await keyOf({ fallback: { isRelayed } })).toEqual(['provider:Gmail', ...both]);
  expect(await keyOf({ live: { smarthost } })).toEqual([
    'provider:Gmail',
    'relayed provider:Gmail',
  ]);
});

test("the operator's own rows come before the table, for routes too", async () => {
  const row = { connections: 3, messagesPerConnection: 7, messagesPerMinute: 11 };
  const providers: Provider[] = [
    { ...row, name: 'Corp', mx: ['relay.example'], scope: 'cluster' },
    { ...row, name: 'Mine', mx: ['.google.com'], scope: 'node' },
    { ...row, name: 'Host', mx: ['a.mx.example'], scope: null },
  ];
  const routes = [{ domains: ['corp.example'], target: target() }];
  const { sites, find } = start({ providers, live: { routes } });
  expect((await find('corp.example')).split('\n')[0]).toBe(
    'host:relay.example:2525 [Corp 3] shared',
  );
  expect((await find('google.example')).split('\n')[0]).toBe('provider:Mine [Mine 3] direct');
  expect(await sites.find('one.example')).toMatchObject({
    site: { key: 'provider:Host', limits: providers[2], isShared: false },
  });
});
