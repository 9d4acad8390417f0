/** Certificates by ACME, against pebble: the authority that refuses what real ones would refuse. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { X509Certificate, createPrivateKey } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { parseConfig } from '../../../src/base/config-file.ts';
import { createLog, type Log } from '../../../src/base/log.ts';
import { CertificateKeeper, certificateFile } from '../../../src/flow/upkeep/certificates.ts';
import { createResolver } from '../../../src/wire/dns/dns.ts';
import { type CertificateAuthority, makeAuthority } from '../../rig/certificates.ts';
import { TestClock } from '../../rig/clock.ts';
import { type Names, startNames } from '../../rig/names.ts';
import { type Pebble, startPebble } from '../../rig/pebble.ts';
import { describeWith } from '../../rig/programs.ts';

const DAY_MS = 86_400_000;
/** The library asks for a verdict again after five seconds, then ten. */
const LIMIT_MS = 90_000;

describeWith(['openssl', 'pebble'], 'certificates by ACME (RFC 8555)', () => {
  let authority: CertificateAuthority;
  let names: Names;
  let pebble: Pebble;
  const folders: string[] = [];

  beforeAll(async () => {
    authority = makeAuthority();
    names = await startNames();
    for (const name of ['mail.acme.test', 'api.acme.test']) names.set(name, 'A', ['127.0.0.1']);
    pebble = await startPebble(authority, names);
  });
  afterAll(async () => {
    await pebble.stop();
    await names.stop();
    for (const folder of folders) rmSync(folder, { recursive: true });
  });

  function keeper(hostname: string, publicUrl: string, clock = new TestClock(Date.now())) {
    const dataDir = mkdtempSync(join(tmpdir(), 'acme-'));
    folders.push(dataDir);
    const config = parseConfig(
      `hostname = "${hostname}"
       data_dir = "${dataDir}"
       [http]
       public_url = "${publicUrl}"
       [tls]
       extra_ca_file = "${authority.certFile}"
       [acme]
       listen = "127.0.0.1:${pebble.challengePort}"
       accept_terms = true
       directory_url = "${pebble.directoryUrl}"`,
      'acme.toml',
    );
    const events: string[] = [];
    const waiting = new Map<string, () => void>();
    const log: Log = createLog(
      (line) => {
        const { event } = JSON.parse(line) as { event: string };
        events.push(line);
        waiting.get(event)?.();
      },
      () => Date.now(),
    );
    const resolver = createResolver({ servers: [names.listen], clock });
    let renewals = 0;
    const made = new CertificateKeeper({ config, clock, log, resolver }, () => (renewals += 1));
    const logged = (event: string): Promise<void> =>
      new Promise((resolve) => waiting.set(event, resolve));
    return { keeper: made, dataDir, events, logged, clock, renewals: () => renewals };
  }

  test(
    'both names, a pair of key and chain, for the owner only',
    async () => {
      const one = keeper('mail.acme.test', 'https://api.acme.test');
      const renewed = one.logged('certificate_renewed');
      one.keeper.start();
      await renewed;
      await one.keeper.stop();
      const file = certificateFile(one.dataDir);
      const pem = readFileSync(file, 'utf8');
      const leaf = new X509Certificate(pem);
      expect(leaf.checkHost('mail.acme.test')).toBeDefined();
      expect(leaf.checkHost('api.acme.test')).toBeDefined();
      expect(leaf.checkPrivateKey(createPrivateKey(pem))).toBe(true);
      expect(pem.match(/BEGIN CERTIFICATE/g)?.length).toBeGreaterThan(1);
      expect(pem).toMatch(/-----END CERTIFICATE-----\n-----BEGIN (?:\w+ )?PRIVATE KEY-----/);
      for (const path of [file, join(one.dataDir, 'acme', 'account.key')]) {
        expect(statSync(path).mode & 0o077).toBe(0);
      }
      expect(one.renewals()).toBe(1);
    },
    LIMIT_MS,
  );

  test.each([
    ['the name of the public URL', ['mail.acme.test']],
    ['the host name', ['api.acme.test']],
    ['both names', ['old.acme.test']],
  ])(
    'renewed at once where it lacks %s',
    async (_, present) => {
      const one = keeper('mail.acme.test', 'https://api.acme.test');
      mkdirSync(join(one.dataDir, 'acme'));
      const file = certificateFile(one.dataDir);
      const { cert, key } = authority.issue(present);
      writeFileSync(file, cert + key);
      const renewed = one.logged('certificate_renewed');
      one.keeper.start();
      await renewed;
      await one.keeper.stop();
      const leaf = new X509Certificate(readFileSync(file));
      expect(leaf.checkHost('mail.acme.test')).toBeDefined();
      expect(leaf.checkHost('api.acme.test')).toBeDefined();
    },
    LIMIT_MS,
  );

  test(
    'renewed at a third of the lifetime, not before',
    async () => {
      const one = keeper('mail.acme.test', 'https://mail.acme.test');
      mkdirSync(join(one.dataDir, 'acme'));
      const present = authority.issue(['mail.acme.test']);
      writeFileSync(certificateFile(one.dataDir), present.cert + present.key);
      const { validFrom, validTo } = new X509Certificate(present.cert);
      const lifetimeMs = Date.parse(validTo) - Date.parse(validFrom);
      one.clock.pass(Date.parse(validFrom) + (lifetimeMs * 2) / 3 - DAY_MS - one.clock.now());
      one.keeper.start();
      await one.clock.advance(DAY_MS / 2);
      expect(one.renewals()).toBe(0);
      const renewed = one.logged('certificate_renewed');
      await one.clock.advance(DAY_MS);
      await renewed;
      expect(one.renewals()).toBe(1);
      await one.keeper.stop();
    },
    LIMIT_MS,
  );

  test(
    'a refusal keeps what is there and waits an hour, then two',
    async () => {
      names.set('gone.acme.test', 'A', []);
      const one = keeper('gone.acme.test', 'https://gone.acme.test');
      const first = one.logged('certificate_failed');
      one.keeper.start();
      await first;
      expect(JSON.parse(one.events[0] ?? '{}')).toMatchObject({ next_in_ms: 3_600_000 });
      const second = one.logged('certificate_failed');
      await one.clock.advance(3_600_000);
      await second;
      expect(JSON.parse(one.events[1] ?? '{}')).toMatchObject({ next_in_ms: 7_200_000 });
      // The name is there now: the next order succeeds with the account that the first one made.
      names.set('gone.acme.test', 'A', ['127.0.0.1']);
      const renewed = one.logged('certificate_renewed');
      await one.clock.advance(7_200_000);
      await renewed;
      expect(one.renewals()).toBe(1);
      // When it is due again and cannot be written, the waits begin anew.
      mkdirSync(`${certificateFile(one.dataDir)}.new`);
      const later = one.logged('certificate_failed');
      const { validTo } = new X509Certificate(readFileSync(certificateFile(one.dataDir)));
      one.clock.pass(Date.parse(validTo) - one.clock.now());
      await one.clock.advance(12 * 3_600_000);
      await later;
      expect(JSON.parse(one.events.at(-1) ?? '{}')).toMatchObject({ next_in_ms: 3_600_000 });
      await one.keeper.stop();
    },
    LIMIT_MS,
  );

  test('the challenge listener tells nothing else, and sends browsers to the page', async () => {
    const one = keeper('mail.acme.test', 'https://api.acme.test');
    const renewed = one.logged('certificate_renewed');
    one.keeper.start();
    const base = `http://127.0.0.1:${one.keeper.port}`;
    const unknown = await fetch(`${base}/.well-known/acme-challenge/../../x`, {
      redirect: 'manual',
    });
    expect(unknown.status).toBe(308);
    expect((await fetch(`${base}/.well-known/acme-challenge/abc`)).status).toBe(404);
    const other = await fetch(`${base}/docs?a=1`, { redirect: 'manual' });
    expect(other.headers.get('location')).toBe('https://api.acme.test/docs?a=1');
    await renewed;
    await one.keeper.stop();
  });

  test('nobody is sent to a page that has no https', async () => {
    const one = keeper('mail.acme.test', 'http://mail.acme.test');
    const renewed = one.logged('certificate_renewed');
    one.keeper.start();
    const page = await fetch(`http://127.0.0.1:${one.keeper.port}/docs`, { redirect: 'manual' });
    expect([page.status, await page.text()]).toEqual([404, 'not found\n']);
    await renewed;
    await one.keeper.stop();
  });
});
