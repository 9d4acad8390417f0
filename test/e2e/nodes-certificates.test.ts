/**
 * Two compiled binaries on one database, and an authority that asks for the name which both have at one of them alone: each
 * gets its certificate, and one that has lost its disk has it again (docs/reliability.md R120).
 */
import { SQL } from 'bun';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { BinaryAppliance } from '../rig/binary.ts';
import { testAuthority } from '../rig/certificates.ts';
import { startNames } from '../rig/names.ts';
import type { Names } from '../rig/names.ts';
import { startPebble } from '../rig/pebble.ts';
import type { Pebble } from '../rig/pebble.ts';
import { testServer } from '../rig/postgres.ts';
import { describeWith } from '../rig/programs.ts';

const SERVICE = 'api.acme.test';

describeWith(['openssl', 'pebble'], 'certificates of two nodes', () => {
  let names: Names;
  let pebble: Pebble;
  let store: string;
  const nodes: BinaryAppliance[] = [];

  beforeAll(async () => {
    names = await startNames();
    names.set('n1.acme.test', 'A', ['127.0.0.1']);
    names.set('n2.acme.test', 'A', ['127.0.0.2']);
    names.set('n3.acme.test', 'A', ['127.0.0.3']);
    names.set('n4.acme.test', 'A', ['127.0.0.4']);
    names.set(SERVICE, 'A', ['127.0.0.1']);
    pebble = await startPebble(testAuthority(), names);
    store = await (await testServer()).freshDatabase();
  }, 60_000);

  afterAll(async () => {
    for (const node of nodes) await node.stop();
    await pebble.stop();
    await names.stop();
  });

  async function start(hostname: string, address: string): Promise<BinaryAppliance> {
    const [joins] = nodes;
    const node = await BinaryAppliance.create({
      hostname,
      store,
      // Every address: on loopback alone, HTTP would be behind a proxy, and the certificate the proxy's.
      listen: '0.0.0.0:0',
      config: `public_url = "https://${SERVICE}"
[cluster]
name = "${SERVICE}"
[node]
name = "${hostname}"
[acme]
listen = "${address}:${pebble.challengePort}"
accept_terms = true
directory_url = "${pebble.directoryUrl}"
[dns]
servers = ["${names.listen.host}:${names.listen.port}"]
[tls]
extra_ca_file = "${testAuthority().certFile}"`,
      ...(joins === undefined ? {} : { joins }),
    });
    nodes.push(node);
    await node.start();
    return node;
  }

  const fileOf = (node: BinaryAppliance): string =>
    join(node.folder, 'data', 'acme', 'certificate.pem');
  const namesOf = (node: BinaryAppliance): string[] =>
    (new X509Certificate(readFileSync(fileOf(node))).subjectAltName ?? '').split(', ').toSorted();

  test('each gets its own, with the name of all', async () => {
    const first = await start('n1.acme.test', '127.0.0.1');
    await first.log.first(({ event }) => event === 'certificate_renewed', 30_000);
    // The authority asks the first node for the service's name, of which it has ordered nothing this time.
    const second = await start('n2.acme.test', '127.0.0.2');
    await second.log.first(({ event }) => event === 'certificate_renewed', 30_000);
    expect(namesOf(first)).toEqual([`DNS:${SERVICE}`, 'DNS:n1.acme.test']);
    expect(namesOf(second)).toEqual([`DNS:${SERVICE}`, 'DNS:n2.acme.test']);
    // A minute after a start a node also says what is wrong with its host.
    const troubles = nodes.flatMap(({ log }) =>
      log.items.filter(({ level, event }) => level === 'error' && event !== 'host_problem_found'),
    );
    expect(troubles).toEqual([]);
  }, 90_000);

  test('one that has lost its disk has it again, and orders none', async () => {
    const [, second] = nodes;
    if (second === undefined) throw new Error('it did not start');
    const had = readFileSync(fileOf(second), 'utf8');
    await second.signal('SIGKILL');
    rmSync(join(second.folder, 'data', 'acme'), { recursive: true });
    expect(existsSync(fileOf(second))).toBe(false);
    const from = second.log.items.length;
    await second.start();
    await second.log.first(({ event }) => event === 'certificate_taken', 30_000);
    expect(readFileSync(fileOf(second), 'utf8')).toBe(had);
    const orders = second.log.items
      .slice(from)
      .filter(({ event }) => event === 'certificate_renewed');
    expect(orders).toEqual([]);
  }, 60_000);

  test('a node that is killed in its order is followed by the next', async () => {
    pebble.pause();
    const third = await start('n3.acme.test', '127.0.0.3');
    await ordering();
    const fourth = await start('n4.acme.test', '127.0.0.4');
    await third.signal('SIGKILL');
    pebble.resume();
    // The lease of the killed one has to end first: a minute.
    await fourth.log.first(({ event }) => event === 'certificate_renewed', 110_000);
    expect(namesOf(fourth)).toEqual([`DNS:${SERVICE}`, 'DNS:n4.acme.test']);
    await third.start();
    await third.log.first(({ event }) => event === 'certificate_renewed', 110_000);
    expect(namesOf(third)).toEqual([`DNS:${SERVICE}`, 'DNS:n3.acme.test']);
  }, 240_000);

  /** Resolves when a node is in an order. */
  async function ordering(): Promise<void> {
    const database = new SQL(store);
    const taken = "SELECT 1 FROM jobs WHERE name = 'acme_order' AND holder <> ''";
    while ((await database.unsafe(taken)).length === 0) await Bun.sleep(20);
    await database.end();
  }
});
