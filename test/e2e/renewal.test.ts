/**
 * The compiled binary renews its certificate by ACME while mail is being sent to both listeners: every handshake after
 * the renewal is shown the new certificate, which clients trust, and not one request fails.
 *
 * What it begins with is in the last tenth of its time, so it orders at once; the authority lets it wait until the load
 * runs. How the keeper decides and waits, with a clock moved by hand, is in `flow/certificates.test.ts`.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { X509Certificate } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { BinaryAppliance } from '../rig/binary.ts';
import { testAuthority } from '../rig/certificates.ts';
import { startNames } from '../rig/names.ts';
import { startPebble } from '../rig/pebble.ts';
import type { Pebble } from '../rig/pebble.ts';
import { describeWith } from '../rig/programs.ts';
import { shownCertificate, startLoad } from '../rig/tls-load.ts';
import type { Listeners } from '../rig/tls-load.ts';

const NAME = 'mail.acme.test';
/** Answers and replies awaited with each certificate. */
const ENOUGH = 30;
const HANDSHAKES = 20;

describeWith(['openssl', 'pebble'], 'renewal of a certificate in use', () => {
  let pebble: Pebble;
  let appliance: BinaryAppliance;
  let listeners: Listeners;
  let file: string;
  /** In the order of their starts: a start that fails leaves nothing behind. */
  const started: { stop(): Promise<void> }[] = [];

  beforeAll(async () => {
    const names = await startNames();
    started.push(names);
    names.set(NAME, 'A', ['127.0.0.1']);
    pebble = await startPebble(testAuthority(), names);
    started.push(pebble);
    const ca = [testAuthority().cert, await pebble.root()];
    pebble.pause();

    appliance = await BinaryAppliance.create({ hostname: NAME });
    started.push(appliance);
    const made = testAuthority().issue([NAME], { isNearEnd: true });
    file = join(appliance.made.data_dir, 'acme', 'certificate.pem');
    mkdirSync(join(file, '..'), { mode: 0o700 });
    writeFileSync(file, made.cert + made.key, { mode: 0o600 });
    // Every address: on loopback alone, HTTP would be behind a proxy, and the certificate the proxy's.
    writeFileSync(
      appliance.made.config,
      `hostname = "${NAME}"
data_dir = "${appliance.made.data_dir}"
[http]
listen = "0.0.0.0:0"
public_url = "https://${NAME}"
[smtp]
submissions = ["127.0.0.1:0"]
[acme]
listen = "127.0.0.1:${pebble.challengePort}"
accept_terms = true
directory_url = "${pebble.directoryUrl}"
[dns]
servers = ["${names.listen.host}:${names.listen.port}"]
[tls]
extra_ca_file = "${testAuthority().certFile}"
[[plans]]
id = "load"
rate_per_second = 10000
`,
    );
    await appliance.json(['account', 'create', 'load', '--plan', 'load']);
    const key = ['key', 'create', '--account', 'load', '--name', 'k', '--test'];
    const { token } = await appliance.json([...key, '--permission', 'full_access']);
    await appliance.start();
    const ready = await appliance.log.first(({ event }) => event === 'ready');
    const portOf = (address: unknown): number => Number(/:(\d+)$/.exec(String(address))?.[1]);
    const [httpPort, smtpPort] = [portOf(appliance.url), portOf(ready['submissions'])];
    listeners = { httpPort, smtpPort, token: String(token), ca, name: NAME };
  }, 30_000);

  afterAll(async () => {
    for (const one of started.toReversed()) await one.stop();
  });

  /** Fingerprints that new handshakes are shown, HTTP and SMTP. */
  const shown = async (): Promise<string[]> => {
    const ports = [listeners.httpPort, listeners.smtpPort];
    const certificates = await Promise.all(ports.map((port) => shownCertificate(listeners, port)));
    return certificates.map(({ fingerprint256 }) => fingerprint256);
  };
  const inFile = (): string => new X509Certificate(readFileSync(file)).fingerprint256;

  test('new handshakes are shown the new certificate, and no request fails', async () => {
    const old = inFile();
    expect(await shown()).toEqual([old, old]);
    const load = startLoad(listeners);
    await load.answers.atLeast(ENOUGH);
    await load.replies.atLeast(ENOUGH);
    expect(inFile()).toBe(old);

    pebble.resume();
    await appliance.log.first(({ event }) => event === 'certificate_renewed', 40_000);
    const renewed = inFile();
    expect(renewed).not.toBe(old);
    for (let time = 0; time < HANDSHAKES; time += 1) {
      expect(await shown()).toEqual([renewed, renewed]);
    }
    await load.answers.atLeast(load.answers.items.length + ENOUGH);
    await load.replies.atLeast(load.replies.items.length + ENOUGH);
    await load.stop();

    expect(load.answers.items.filter(({ status }) => status !== 200)).toEqual([]);
    const isTaken = (reply: string): boolean => reply.startsWith('250 2.0.0 OK sent');
    expect(load.replies.items.filter((reply) => !isTaken(reply))).toEqual([]);
    // A slow machine may have its event loop late.
    const complaints = appliance.log.items.filter(
      ({ level, event }) => level !== 'info' && event !== 'loop_blocked',
    );
    expect(complaints).toEqual([]);
  }, 90_000);
});
