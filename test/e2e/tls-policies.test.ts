/**
 * TLS towards receivers, on the compiled binary: whatever certificate where nobody asks for more, plaintext on a new
 * connection after a garbled handshake, and mail that waits where MTA-STS or DANE are not met.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createHash, X509Certificate } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { Server } from 'node:https';

import { makeChains } from '../rig/bad-certificates.ts';
import { testAuthority } from '../rig/certificates.ts';
import type { Certificate } from '../rig/certificates.ts';
import { startHostileReceiver } from '../rig/hostile-receiver.ts';
import type { HostileReceiver } from '../rig/hostile-receiver.ts';
import { eventOf, explanationOf, listen, sendTo } from '../rig/journey.ts';
import { describeWith } from '../rig/programs.ts';
import { startReceiver } from '../rig/receiver.ts';
import type { Receiver } from '../rig/receiver.ts';
import { startValidator } from '../rig/signed-zone.ts';
import type { Validator, Zone } from '../rig/signed-zone.ts';
import { startWorld } from '../rig/world.ts';
import type { World } from '../rig/world.ts';

/** Port 443 is fixed: an address of its own keeps runs beside each other apart. */
const POLICY_HOST = `127.${100 + Math.floor(Math.random() * 100)}.44.3`;
const CIPHER = expect.stringMatching(/^TLS_/);

interface Site {
  receiver: Receiver;
  domain: string;
}

describeWith(['root', 'openssl', 'bind9', 'unbound'], 'TLS towards receivers', () => {
  const authority = testAuthority();
  const sites: Site[] = [];
  let garbled: HostileReceiver;
  let world: World;

  beforeAll(async () => {
    const { key, cert } = authority.issue(['mx.garbled.test']);
    garbled = await startHostileReceiver({
      stage: 'handshake',
      behaviour: 'wrong-code',
      dripMs: 1_000,
      tls: { key, cert },
    });
    // Direct delivery knows one port: all receivers have it, each with an address of its own.
    world = await startWorld({ port: garbled.port });
    await listen(world);
  }, 60_000);

  afterAll(async () => {
    await world.stop();
    await Promise.all([garbled.stop(), ...sites.map(({ receiver }) => receiver.stop())]);
  });

  /** A receiver at `domain`, whose MX is `mx.<domain>` unless told otherwise. */
  async function siteAt(
    domain: string,
    certificate: Pick<Certificate, 'key' | 'cert'> | null,
    mx = `mx.${domain}`,
  ): Promise<Site> {
    const host = `127.0.44.${10 + sites.length}`;
    const files = { keyFile: '', certFile: '' };
    const receiver = await startReceiver({
      hostname: mx,
      host,
      port: garbled.port,
      certificate: certificate === null ? null : { ...certificate, ...files },
    });
    world.names.set(domain, 'MX', [`10 ${mx}`]);
    // Several domains of these suites have one MX name, one after the other.
    world.names.set(mx, 'A', [host], 0);
    const site = { receiver, domain };
    sites.push(site);
    return site;
  }

  describe('nobody asks for more', () => {
    const chains = makeChains();

    test('a certificate that is right is said to be', async () => {
      const certificate = authority.issue(['mx.known.test']);
      const { receiver } = await siteAt('known.test', certificate);
      const id = await sendTo(world, 'ann@known.test');
      expect(await eventOf(world, id, 'email.delivered')).toMatchObject({
        host: 'mx.known.test',
        tls: { version: 'TLSv1.3', cipher: CIPHER, verified: true, policy: 'opportunistic' },
      });
      expect(receiver.messages.items[0]?.tls?.servername).toBe('mx.known.test');
    });

    test.each(Object.entries(chains.bad))(
      '%s: delivered under TLS, said to be unverified',
      async (what, chain) => {
        const domain = `${what.replaceAll(' ', '-').toLowerCase()}.bad.test`;
        const { receiver } = await siteAt(domain, chain, 'mx.a.test');
        const id = await sendTo(world, `ann@${domain}`);
        expect(await eventOf(world, id, 'email.delivered')).toMatchObject({
          attempt: 1,
          address: receiver.host,
          tls: { version: 'TLSv1.3', cipher: CIPHER, verified: false, policy: 'opportunistic' },
        });
        expect(receiver.connections()).toBe(1);
        expect(receiver.messages.items[0]?.tls?.protocol).toBe('TLSv1.3');
      },
    );

    test('no STARTTLS: delivered in the clear, and the event says so', async () => {
      await siteAt('stripped.test', null);
      const id = await sendTo(world, 'ann@stripped.test');
      expect(await eventOf(world, id, 'email.delivered')).toMatchObject({ tls: null });
    });

    test('a garbled handshake: a new connection in plaintext, and none tried for the next mail', async () => {
      for (const domain of ['garbled.test', 'also-garbled.test']) {
        world.names.set(domain, 'MX', ['10 mx.garbled.test']);
      }
      world.names.set('mx.garbled.test', 'A', ['127.0.0.1']);
      const first = await sendTo(world, 'ann@garbled.test');
      const facts = await eventOf(world, first, 'email.delivered');
      expect(facts).toMatchObject({ attempt: 1, tls: null, host: 'mx.garbled.test' });
      expect(garbled.connections()).toBe(2);
      // A session that nobody needs is ended after two seconds.
      const verbs = (): string[] =>
        garbled.commands.map(({ line }) => line.slice(0, 4)).filter((verb) => verb !== 'QUIT');
      // Behind STARTTLS nothing is said on the first connection.
      expect(verbs()).toEqual(['EHLO', 'STAR', 'EHLO', 'MAIL', 'RCPT', 'DATA']);

      const second = await sendTo(world, 'ann@also-garbled.test');
      await eventOf(world, second, 'email.delivered');
      expect(garbled.received).toHaveLength(2);
      expect(verbs().filter((verb) => verb === 'STAR')).toHaveLength(1);
    });
  });

  describe('MTA-STS', () => {
    const policies = new Map<string, string>();
    let policyHost: Server;

    const DOMAINS = [
      'good',
      'mismatch',
      'expired',
      'misnamed',
      'selfsigned',
      'plain',
      'kept',
      'testing',
    ];

    beforeAll(async () => {
      const names = DOMAINS.map((name) => `mta-sts.${name}.sts.test`);
      const { key, cert } = authority.issue(names);
      policyHost = createServer({ key, cert }, (request, response) => {
        const policy = policies.get(request.headers.host ?? '');
        const isRight = policy !== undefined && request.url === '/.well-known/mta-sts.txt';
        response.writeHead(isRight ? 200 : 404, { 'content-type': 'text/plain' });
        response.end(policy);
      });
      policyHost.on('tlsClientError', () => undefined);
      // RFC 8461 section 3.3 knows only this port.
      await new Promise<void>((resolve, reject) => {
        policyHost.once('error', reject);
        policyHost.listen(443, POLICY_HOST, resolve);
      });
    });

    afterAll(() => {
      policyHost.closeAllConnections();
      policyHost.close();
    });

    function publish(domain: string, mode: string, mx: string): void {
      world.names.set(`_mta-sts.${domain}`, 'TXT', ['v=STSv1; id=1']);
      world.names.set(`mta-sts.${domain}`, 'A', [POLICY_HOST]);
      const lines = ['version: STSv1', `mode: ${mode}`, `mx: ${mx}`, 'max_age: 604800', ''];
      policies.set(`mta-sts.${domain}`, lines.join('\r\n'));
    }

    test('met: delivered, and the event names the policy', async () => {
      const domain = 'good.sts.test';
      publish(domain, 'enforce', `*.${domain}`);
      await siteAt(domain, authority.issue([`mx.${domain}`]));
      const id = await sendTo(world, `ann@${domain}`);
      expect(await eventOf(world, id, 'email.delivered')).toMatchObject({
        tls: { version: 'TLSv1.3', cipher: CIPHER, verified: true, policy: 'mta-sts' },
      });
    });

    const good = (domain: string): Certificate => authority.issue([`mx.${domain}`]);
    // [name, the receiver's certificate, the policy's mx, stage, what the explanation says]
    const rows: [string, (domain: string) => Certificate | null, string, string, RegExp][] = [
      [
        'mismatch',
        good,
        'other.sts.test',
        'policy',
        /mx\.mismatch\.sts\.test is not in the MTA-STS policy of mismatch\.sts\.test/,
      ],
      [
        'expired',
        (domain) => authority.issue([`mx.${domain}`], { isExpired: true }),
        '',
        'handshake',
        /expired/i,
      ],
      [
        'misnamed',
        () => authority.issue(['mx.elsewhere.test']),
        '',
        'handshake',
        /mx\.misnamed\.sts\.test/,
      ],
      [
        'selfsigned',
        (domain) => authority.issue([`mx.${domain}`], { isSelfSigned: true }),
        '',
        'handshake',
        /self.signed/i,
      ],
      ['plain', () => null, '', 'starttls', /does not offer STARTTLS/],
    ];
    test.each(rows)('%s: waits, and says why', async (name, certificate, mx, stage, why) => {
      const domain = `${name}.sts.test`;
      publish(domain, 'enforce', mx === '' ? `mx.${domain}` : mx);
      const { receiver } = await siteAt(domain, certificate(domain));
      const id = await sendTo(world, `ann@${domain}`);
      expect(await eventOf(world, id, 'email.delivery_delayed')).toMatchObject({
        stage,
        attempt: 1,
      });
      expect(await explanationOf(world, id)).toMatch(why);
      expect(receiver.messages.items).toEqual([]);
      // One connection at most: never a second one in plaintext.
      expect(receiver.connections()).toBe(stage === 'policy' ? 0 : 1);
    });

    test('an enforced policy holds after a restart, though its record cannot be had any more', async () => {
      const domain = 'kept.sts.test';
      publish(domain, 'enforce', 'other.sts.test');
      const { receiver } = await siteAt(domain, good(domain));
      await eventOf(world, await sendTo(world, `ann@${domain}`), 'email.delivery_delayed');
      await world.appliance.signal('SIGTERM');
      world.names.fail(`_mta-sts.${domain}`, 'servfail');
      await world.appliance.start();
      const id = await sendTo(world, `ben@${domain}`);
      expect(await eventOf(world, id, 'email.delivery_delayed')).toMatchObject({ stage: 'policy' });
      expect(receiver.connections()).toBe(0);
    });

    test('testing: delivered whatever the certificate', async () => {
      const domain = 'testing.sts.test';
      publish(domain, 'testing', 'other.sts.test');
      await siteAt(domain, authority.issue(['mx.elsewhere.test']));
      const id = await sendTo(world, `ann@${domain}`);
      expect(await eventOf(world, id, 'email.delivered')).toMatchObject({
        tls: { verified: false, policy: 'mta-sts-testing' },
      });
    });
  });

  describe('DANE, zones signed and validated by BIND and unbound', () => {
    let validator: Validator;
    const daneReceivers: Receiver[] = [];

    beforeAll(async () => {
      const certificate = authority.issue(['somewhere.test'], { isSelfSigned: true });
      const key = new X509Certificate(certificate.cert).publicKey;
      const digest = createHash('sha256')
        .update(key.export({ type: 'spki', format: 'der' }))
        .digest('hex');
      const zoneOf = async (zone: string, hex: string): Promise<Zone> => {
        const [host, { port }] = [`127.0.45.${10 + daneReceivers.length}`, garbled];
        const hostname = `mx.${zone}`;
        daneReceivers.push(await startReceiver({ hostname, host, port, certificate }));
        const records = ['@ MX 10 mx', `mx A ${host}`, `_${port}._tcp.mx TLSA 3 1 1 ${hex}`];
        return { name: zone, isSigned: true, records };
      };
      validator = await startValidator([
        await zoneOf('right.test', digest),
        await zoneOf('wrong.test', '0'.repeat(64)),
        {
          ...(await zoneOf('bogus.test', digest)),
          tamper: (signed) => signed.replace(/TLSA\t3 1 1/, 'TLSA\t3 0 1'),
        },
        { name: 'rig.test', isSigned: false, records: ['hook A 127.0.0.1'] },
      ]);
      // Believed only from a resolver on loopback that validates: this one does.
      const { config } = world.appliance.made;
      const text = readFileSync(config, 'utf8');
      const { host, port: dnsPort } = validator.listen;
      writeFileSync(config, text.replace(/^servers = .*$/m, `servers = ["${host}:${dnsPort}"]`));
      await world.appliance.signal('SIGTERM');
      await world.appliance.start();
    }, 60_000);

    afterAll(async () => {
      await validator.stop();
      await Promise.all(daneReceivers.map((receiver) => receiver.stop()));
    });

    test('the right key: delivered, whoever signed it and whatever its name', async () => {
      const id = await sendTo(world, 'ann@right.test');
      expect(await eventOf(world, id, 'email.delivered')).toMatchObject({
        host: 'mx.right.test',
        tls: { version: 'TLSv1.3', cipher: CIPHER, policy: 'dane' },
      });
    });

    test('another key: waits, and says why', async () => {
      const id = await sendTo(world, 'ann@wrong.test');
      expect(await eventOf(world, id, 'email.delivery_delayed')).toMatchObject({
        stage: 'handshake',
      });
      expect(await explanationOf(world, id)).toContain('matches no TLSA record');
      expect(daneReceivers[1]?.messages.items).toEqual([]);
      expect(daneReceivers[1]?.connections()).toBe(1);
    });

    test('a record changed on its way: waits, nothing is dialled', async () => {
      const id = await sendTo(world, 'ann@bogus.test');
      expect(await eventOf(world, id, 'email.delivery_delayed')).toMatchObject({ stage: 'policy' });
      expect(await explanationOf(world, id)).toContain('TLSA of mx.bogus.test');
      expect(daneReceivers[2]?.connections()).toBe(0);
    });
  });
});
