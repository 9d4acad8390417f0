/**
 * DANE (RFC 7672) with zones signed by BIND's tools, validated by a real unbound, and receivers with real chains.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createHash, X509Certificate } from 'node:crypto';
import { systemClock } from '../../../src/base/clock.ts';
import { planDane } from '../../../src/wire/tls/dane.ts';
import type { DanePlan } from '../../../src/wire/tls/dane.ts';
import { createResolver } from '../../../src/wire/dns/dns.ts';
import { findHosts } from '../../../src/wire/dns/mx.ts';
import type { Resolver } from '../../../src/wire/dns/resolver.ts';
import { openSession } from '../../../src/wire/smtp/client.ts';
import { PRODUCTION_DEADLINES } from '../../../src/wire/smtp/deadlines.ts';
import { planTls } from '../../../src/wire/tls/tls-policy.ts';
import { makeChains } from '../../rig/bad-certificates.ts';
import type { Chain } from '../../rig/bad-certificates.ts';
import { startHostileReceiver } from '../../rig/hostile-receiver.ts';
import { describeWith } from '../../rig/programs.ts';
import { startValidator } from '../../rig/signed-zone.ts';
import type { Validator } from '../../rig/signed-zone.ts';

const chains = makeChains();
const leaf = new X509Certificate(chains.good.cert);
const root = new X509Certificate(chains.root);
const intermediate = new X509Certificate(chains.intermediate);

/** `usage selector matching hex` of a certificate. */
function tlsa(usage: number, selector: number, matching: number, of: X509Certificate): string {
  const spki = of.publicKey.export({ type: 'spki', format: 'der' });
  const content = selector === 0 ? of.raw : spki;
  const digest = ['', 'sha256', 'sha512'][matching];
  const data = digest ? createHash(digest).update(content).digest() : content;
  return `${usage} ${selector} ${matching} ${data.toString('hex')}`;
}

const ZEROS = '0'.repeat(64);
const withRoot: Chain = { key: chains.good.key, cert: chains.good.cert + chains.root };
const expired = chains.bad.expired;
const expiredLeaf = new X509Certificate(expired.cert);
const wrongName = chains.bad['wrong name'];

interface Case {
  what: string;
  records: string[];
  server: Chain;
  /** How a delivery ends. */
  expected: 'accepted' | 'refused';
  plan?: DanePlan['kind'];
}

/** Each under a port of its own, so that one host carries them all. */
const CASES: Case[] = [
  { what: '3 1 1', records: [tlsa(3, 1, 1, leaf)], server: chains.good, expected: 'accepted' },
  { what: '3 0 1', records: [tlsa(3, 0, 1, leaf)], server: chains.good, expected: 'accepted' },
  { what: '3 1 2', records: [tlsa(3, 1, 2, leaf)], server: chains.good, expected: 'accepted' },
  { what: '3 1 0', records: [tlsa(3, 1, 0, leaf)], server: chains.good, expected: 'accepted' },
  { what: '3 0 0', records: [tlsa(3, 0, 0, leaf)], server: chains.good, expected: 'accepted' },
  { what: '3 of another', records: [`3 1 1 ${ZEROS}`], server: chains.good, expected: 'refused' },
  {
    what: '3 of the CA is not of the leaf',
    records: [tlsa(3, 1, 1, root)],
    server: withRoot,
    expected: 'refused',
  },
  {
    what: 'a key roll-over: old and new',
    records: [`3 1 1 ${ZEROS}`, tlsa(3, 1, 1, leaf)],
    server: chains.good,
    expected: 'accepted',
  },
  {
    what: '3 with an expired certificate: dates do not matter',
    records: [tlsa(3, 1, 1, expiredLeaf)],
    server: expired,
    expected: 'accepted',
  },
  {
    what: '3 with another name: names do not matter',
    records: [tlsa(3, 0, 1, new X509Certificate(wrongName.cert))],
    server: wrongName,
    expected: 'accepted',
  },
  { what: '2 0 1', records: [tlsa(2, 0, 1, root)], server: withRoot, expected: 'accepted' },
  {
    what: '2 1 1 of an intermediate',
    records: [tlsa(2, 1, 1, intermediate)],
    server: chains.goodWithIntermediate,
    expected: 'accepted',
  },
  {
    what: '2 0 0, the CA whole in DNS and not sent',
    records: [tlsa(2, 0, 0, root)],
    server: chains.good,
    expected: 'accepted',
  },
  {
    what: '2 0 1 of a CA that is not sent',
    records: [tlsa(2, 0, 1, root)],
    server: chains.good,
    expected: 'refused',
  },
  {
    what: '2 with an expired certificate',
    records: [tlsa(2, 0, 0, root)],
    server: expired,
    expected: 'refused',
  },
  {
    what: '2 with another name',
    records: [tlsa(2, 0, 0, root)],
    server: wrongName,
    expected: 'refused',
  },
  {
    what: '2 of another CA',
    records: [tlsa(2, 0, 0, root)],
    server: chains.bad['unknown CA'],
    expected: 'refused',
  },
  {
    what: '2 of a leaf that plays CA',
    records: [tlsa(2, 0, 0, root)],
    server: chains.bad['signed by a leaf'],
    expected: 'refused',
  },
  {
    what: '2 that matches the leaf itself',
    records: [tlsa(2, 1, 1, leaf)],
    server: chains.good,
    expected: 'refused',
  },
  {
    what: 'only unusable records: TLS, with any certificate',
    records: [`0 1 1 ${ZEROS}`, `1 1 1 ${ZEROS}`, `3 1 9 ${ZEROS}`, '3 1 1 00', `3 7 1 ${ZEROS}`],
    server: chains.bad['self-signed'],
    expected: 'accepted',
    plan: 'encrypt',
  },
  {
    what: 'an unusable record beside a usable one counts for nothing',
    records: [`1 1 1 ${ZEROS}`, `3 1 1 ${ZEROS}`],
    server: chains.good,
    expected: 'refused',
  },
  {
    what: 'no record: opportunistic',
    records: [],
    server: chains.bad['self-signed'],
    expected: 'accepted',
    plan: 'none',
  },
];

describeWith(['openssl', 'bind9', 'unbound'], 'DANE', () => {
  let validator: Validator;
  let dns: Resolver & { close(): void };

  beforeAll(async () => {
    const good = tlsa(3, 1, 1, leaf);
    const cases = CASES.flatMap(({ records }, i) =>
      records.map((record) => `_${1000 + i}._tcp.mx TLSA ${record}`),
    );
    const host = ['@ MX 10 mx', 'mx A 192.0.2.1', 'mx AAAA 2001:db8::1'];
    validator = await startValidator([
      {
        name: 'a.test',
        isSigned: true,
        records: [
          ...host,
          ...cases,
          'alias CNAME mx',
          `_25._tcp.alias TLSA 3 1 1 ${ZEROS}`,
          `_25._tcp.mx TLSA ${good}`,
          'lone CNAME bare',
          'bare A 192.0.2.2',
          `_25._tcp.lone TLSA ${good}`,
        ],
      },
      {
        name: 'bogus.test',
        isSigned: true,
        records: [...host, `_25._tcp.mx TLSA ${good}`],
        tamper: (signed) => signed.replace(/TLSA\t3 1 1/, 'TLSA\t3 0 1'),
      },
      { name: 'plain.test', isSigned: false, records: [...host, `_25._tcp.mx TLSA ${good}`] },
    ]);
    dns = createResolver({ servers: [validator.listen], clock: systemClock });
  }, 20_000);

  afterAll(async () => {
    dns?.close();
    await validator?.stop();
  });

  async function plan(domain: string, port: number): Promise<DanePlan> {
    const found = await findHosts(dns, domain);
    if (found.kind !== 'hosts') throw new Error(found.kind);
    const [host] = found.hosts;
    if (host === undefined) throw new Error('no host');
    return planDane(dns, host, found.isAuthenticated, port, domain);
  }

  for (const [i, { what, records, server, expected, plan: kind = 'verify' }] of CASES.entries()) {
    test(`${what}: ${expected}`, async () => {
      expect((await dns.tlsa(`_${1000 + i}._tcp.mx.a.test`)).kind).toBe(
        records.length > 0 ? 'found' : 'nxdomain',
      );
      const made = await plan('a.test', 1000 + i);
      expect(made.kind).toBe(kind);
      const receiver = await startHostileReceiver({
        stage: 'quit',
        behaviour: 'fin',
        dripMs: 10,
        tls: server,
      });
      const opened = await openSession({
        address: '127.0.0.1',
        port: receiver.port,
        localAddress: null,
        heloName: 'client.test',
        serverName: 'mx.a.test',
        tls: {
          mode: made.kind === 'none' ? 'opportunistic' : 'required',
          verify: false,
          ...(made.kind === 'verify' ? { checkPeer: made.checkPeer } : {}),
        },
        auth: null,
        deadlines: PRODUCTION_DEADLINES,
      });
      if (opened.kind === 'ready') await opened.session.quit();
      expect(opened).toMatchObject(
        expected === 'accepted'
          ? { kind: 'ready' }
          : { kind: 'failed', stage: 'handshake', tlsFailed: true },
      );
      const isSecure = receiver.commands.some((command) => command.isSecure);
      expect(isSecure).toBe(expected === 'accepted');
      expect(receiver.commands.at(expected === 'accepted' ? 1 : -1)?.line).toBe('STARTTLS');
      await receiver.stop();
    });
  }

  test('a record whose signature is wrong: the host has to wait', async () => {
    expect(await plan('bogus.test', 25)).toMatchObject({ kind: 'failed' });
    const found = await findHosts(dns, 'bogus.test');
    if (found.kind !== 'hosts') throw new Error(found.kind);
    const host = found.hosts[0] as (typeof found.hosts)[number];
    const policy = await planTls(dns, null, host, found.isAuthenticated, 25, 'bogus.test');
    expect(policy).toMatchObject({ kind: 'avoid', source: 'dane' });
  });

  test('an unsigned zone: its TLSA records are not even asked for', async () => {
    expect(await plan('plain.test', 25)).toEqual({ kind: 'none' });
    const asked: string[] = [];
    const spy = {
      cname: (name: string) => dns.cname(name),
      tlsa: (name: string) => {
        asked.push(name);
        return dns.tlsa(name);
      },
    };
    const insecure = { name: 'mx.a.test', isAuthenticated: false };
    expect(await planDane(spy, insecure, true, 25, 'a.test')).toEqual({ kind: 'none' });
    const secure = { name: 'mx.a.test', isAuthenticated: true };
    expect(await planDane(spy, secure, false, 25, 'a.test')).toEqual({ kind: 'none' });
    expect(asked).toEqual([]);
  });

  test('a host that is an alias: records of the name it leads to come first', async () => {
    const viaAlias = { name: 'alias.a.test', isAuthenticated: true };
    const made = await planDane(dns, viaAlias, true, 25, 'a.test');
    // Those of mx.a.test match; those of alias.a.test are zeros.
    expect(made.kind === 'verify' ? made.checkPeer([leaf]) : made.kind).toBeNull();
    const lone = { name: 'lone.a.test', isAuthenticated: true };
    expect((await planDane(dns, lone, true, 25, 'a.test')).kind).toBe('verify');
  });

  test('DANE comes before MTA-STS', async () => {
    const sts = { mode: 'enforce', mxPatterns: ['other.test'], maxAgeSeconds: 60 } as const;
    const host = { name: 'mx.a.test', isAuthenticated: true };
    const policy = await planTls(
      dns,
      { ...sts, mxPatterns: ['other.test'] },
      host,
      true,
      25,
      'a.test',
    );
    expect(policy).toMatchObject({ kind: 'use', policy: { source: 'dane', mode: 'required' } });
  });
});
