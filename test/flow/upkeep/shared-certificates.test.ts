/** What nodes on one store have in common with a certificate authority, against pebble. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test';
import { X509Certificate, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { parseConfig } from '../../../src/base/config-file.ts';
import { createLog } from '../../../src/base/log.ts';
import { SecretBox } from '../../../src/base/secret-box.ts';
import type { Context } from '../../../src/flow/context.ts';
import {
  CertificateKeeper,
  certificateFile,
  sharedCertificates,
} from '../../../src/flow/upkeep/certificates.ts';
import { SharedCertificates } from '../../../src/flow/upkeep/shared-certificates.ts';
import { createResolver } from '../../../src/wire/dns/dns.ts';
import { IdSource } from '../../../src/base/ids.ts';
import { keyAuthorization } from '../../../src/wire/https/acme.ts';
import { type CertificateAuthority, makeAuthority } from '../../rig/certificates.ts';
import { TestClock } from '../../rig/clock.ts';
import { type Names, startNames } from '../../rig/names.ts';
import { type Pebble, startPebble } from '../../rig/pebble.ts';
import { describeWith } from '../../rig/programs.ts';

const HOUR_MS = 3_600_000;
/** acme-client asks again after 5 s where a busy machine has no verdict yet at its first question. */
const LIMIT_MS = 60_000;
const TOKEN = 'evaGxfADs6pSRb2LAv9IZf17Dt3juxGJ-PCt92wr-oA';

/** Settings and jobs of nodes, as a database keeps them. */
class Shared {
  readonly settings = new Map<string, string>();
  readonly jobs = new Map<string, { holder: string; until: number }>();
  readonly #clock: TestClock;
  reads = 0;
  /** When a job was given to somebody, in steady time. */
  readonly given: { name: string; at: number }[] = [];

  constructor(clock: TestClock) {
    this.#clock = clock;
  }

  setting = async (name: string): Promise<string | null> => {
    this.reads += 1;
    return this.settings.get(name) ?? null;
  };

  setSetting = async (name: string, value: string | null): Promise<void> => {
    if (value === null) this.settings.delete(name);
    else this.settings.set(name, value);
  };

  takeJob = async (name: string, holder: string, forMs: number): Promise<boolean> => {
    const kept = this.jobs.get(name);
    if (kept !== undefined && kept.holder !== holder && kept.until > this.#clock.steady())
      return false;
    if (kept?.holder !== holder) this.given.push({ name, at: this.#clock.steady() });
    this.jobs.set(name, { holder, until: this.#clock.steady() + forMs });
    return true;
  };

  endJob = async (name: string, holder: string, restMs: number): Promise<void> => {
    if (this.jobs.get(name)?.holder === holder)
      this.jobs.set(name, { holder: '', until: this.#clock.steady() + restMs });
  };
}

const secrets = new SecretBox(randomBytes(32));
const ids = new IdSource();
let clock: TestClock;
let shared: Shared;

beforeEach(() => {
  clock = new TestClock(Date.now());
  shared = new Shared(clock);
});

function certificates(names: string[], holder: string, box = secrets): SharedCertificates {
  const ctx = { store: shared as unknown as Context['store'], secrets: box, clock };
  return new SharedCertificates(ctx, names, holder);
}

/** Lets everything else run until it is so. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
}

test('an answer is the token and the thumbprint of the key (RFC 7638, section 3.1)', () => {
  const n =
    '0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw';
  const key = { format: 'jwk', key: { kty: 'RSA', n, e: 'AQAB' } } as const;
  expect(keyAuthorization('t', key)).toBe('t.NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs');
});

test('nodes that ask for an account at once have the same one, and its key is sealed', async () => {
  const nodes = ['a', 'b', 'c'].map((holder) => certificates(['mail.acme.test'], holder));
  const keys = await Promise.all(nodes.map((node) => node.accountKey(null)));
  const made = keys.filter((key) => key !== null);
  expect(new Set(made).size).toBe(1);
  const [key = ''] = made;
  for (const node of nodes) expect(await node.accountKey(null)).toBe(key);
  for (const text of shared.settings.values()) {
    expect(Buffer.from(text, 'hex').includes('PRIVATE KEY')).toBe(false);
  }
  for (const node of nodes) {
    clock.pass(1_000);
    expect(await node.answerTo(TOKEN)).toBe(keyAuthorization(TOKEN, key));
  }
});

test('the account that a node had by itself is that of all', async () => {
  const own = (await certificates([], 'x').accountKey(null)) ?? '';
  shared.settings.clear();
  expect(await certificates([], 'a').accountKey(own)).toBe(own);
  expect(await certificates([], 'b').accountKey(null)).toBe(own);
});

test('an account that another node made just before its own turn is not made anew', async () => {
  const { takeJob } = shared;
  shared.takeJob = async (name, holder, forMs) => {
    shared.takeJob = takeJob;
    await certificates([], 'b').accountKey('the key of b');
    expect(forMs).toBe(30_000);
    return takeJob(name, holder, forMs);
  };
  expect(await certificates([], 'a').accountKey('the key of a')).toBe('the key of b');
});

test('what was sealed under another secret key counts as absent', async () => {
  const [old, node] = [
    certificates(['a.test'], 'old', new SecretBox(randomBytes(32))),
    certificates(['a.test'], 'a'),
  ];
  const key = await old.accountKey(null);
  await old.keep('pem');
  expect(await node.certificate()).toBeNull();
  const fresh = await node.accountKey(null);
  expect(fresh).not.toBe(key);
  expect(fresh).toContain('PRIVATE KEY');
});

test('certificates are kept by their names, in any order', async () => {
  await certificates(['a.test', 'b.test'], 'a').keep('pem');
  expect(await certificates(['b.test', 'a.test'], 'b').certificate()).toBe('pem');
  expect(await certificates(['a.test'], 'b').certificate()).toBeNull();
});

test('what is no token is not answered, and a flood reads the store once a second', async () => {
  const node = certificates(['a.test'], 'a');
  await node.accountKey(null);
  shared.reads = 0;
  for (const token of [
    '',
    'short',
    `${TOKEN}/x`,
    `${TOKEN}%0a`,
    'x'.repeat(129),
    '<b>'.repeat(9),
  ]) {
    expect(await node.answerTo(token)).toBeNull();
  }
  expect(shared.reads).toBe(0);
  for (const token of ['x'.repeat(16), 'x'.repeat(128)]) {
    expect(await node.answerTo(token)).toStartWith(`${token}.`);
  }
  clock.pass(1_000);
  shared.reads = 0;
  await Promise.all(Array.from({ length: 1_000 }, () => node.answerTo(TOKEN)));
  expect(shared.reads).toBe(1);
  clock.pass(1_000);
  await node.answerTo(TOKEN);
  expect(shared.reads).toBe(2);
});

describeWith(['openssl', 'pebble'], 'certificates of nodes that share a store', () => {
  let authority: CertificateAuthority;
  let names: Names;
  let pebble: Pebble;
  const folders: string[] = [];

  beforeAll(async () => {
    authority = makeAuthority();
    names = await startNames();
    pebble = await startPebble(authority, names);
    // The authority asks for the shared name at the second node, whichever has ordered.
    names.set('n1.acme.test', 'A', ['127.0.0.1']);
    for (const name of ['n2.acme.test', 'api.acme.test']) names.set(name, 'A', ['127.0.0.2']);
  });
  afterAll(async () => {
    await pebble.stop();
    await names.stop();
    for (const folder of folders) rmSync(folder, { recursive: true });
  });

  function node(hostname: string, address: string, service = 'api.acme.test') {
    const dataDir = mkdtempSync(join(tmpdir(), 'acme-'));
    folders.push(dataDir);
    const config = parseConfig(
      `hostname = "${hostname}"
       data_dir = "${dataDir}"
       [http]
       public_url = "https://${service}"
       [tls]
       extra_ca_file = "${authority.certFile}"
       [acme]
       listen = "${address}:${pebble.challengePort}"
       accept_terms = true
       directory_url = "${pebble.directoryUrl}"`,
      'acme.toml',
    );
    const events: string[] = [];
    const log = createLog(
      (line) => void events.push((JSON.parse(line) as { event: string }).event),
      () => Date.now(),
    );
    const resolver = createResolver({ servers: [names.listen], clock });
    const store = shared as unknown as Context['store'];
    const sharing = {
      certificates: sharedCertificates({ config, store, secrets, clock, ids }),
      store,
    };
    let renewals = 0;
    const keeper = new CertificateKeeper(
      { config, clock, log, resolver },
      () => (renewals += 1),
      sharing,
    );
    const file = certificateFile(dataDir);
    return { keeper, file, events, renewals: () => renewals };
  }

  test(
    'the authority asks another node than the one that ordered, and both get theirs',
    async () => {
      const [one, two] = [node('n1.acme.test', '127.0.0.1'), node('n2.acme.test', '127.0.0.2')];
      one.keeper.start();
      two.keeper.start();
      // They order one after the other: the second asks again after 10 s.
      await until(() => one.events.length + two.events.length > 0);
      await clock.advance(10_000);
      await until(() => one.events.length > 0 && two.events.length > 0);
      for (const { file, events } of [one, two]) {
        const leaf = new X509Certificate(readFileSync(file));
        expect(leaf.checkHost('api.acme.test')).toBeDefined();
        expect(events).toEqual(['certificate_renewed']);
      }
      await Promise.all([one.keeper.stop(), two.keeper.stop()]);
    },
    LIMIT_MS,
  );

  test(
    'of nodes with the same names one orders, and the others take what it got',
    async () => {
      const [one, two] = [node('api.acme.test', '127.0.0.1'), node('api.acme.test', '127.0.0.2')];
      const both = (): string[] => [...one.events, ...two.events];
      two.keeper.start();
      one.keeper.start();
      await until(() => both().length > 0);
      await clock.advance(60_000);
      await until(() => both().length > 1);
      expect(readFileSync(one.file, 'utf8')).toBe(readFileSync(two.file, 'utf8'));
      expect(both().toSorted()).toEqual(['certificate_renewed', 'certificate_taken']);
      expect([one.renewals(), two.renewals()]).toEqual([1, 1]);
      await Promise.all([one.keeper.stop(), two.keeper.stop()]);
    },
    LIMIT_MS,
  );

  test(
    'a node that has lost its disk takes the certificate that it had, and a first one gives its own',
    async () => {
      const names1 = ['n1.acme.test', 'api.acme.test'];
      const { cert, key } = authority.issue(names1);
      const first = node('n1.acme.test', '127.0.0.1');
      mkdirSync(join(first.file, '..'));
      writeFileSync(first.file, cert + key);
      first.keeper.start();
      await clock.advance(0);
      await until(() => shared.settings.size > 0);
      await first.keeper.stop();
      const again = node('n1.acme.test', '127.0.0.1');
      again.keeper.start();
      await clock.advance(0);
      await until(() => again.events.length > 0);
      expect(again.events).toEqual(['certificate_taken']);
      expect(readFileSync(again.file, 'utf8')).toBe(cert + key);
      expect(first.events).toEqual([]);
      await again.keeper.stop();
    },
    LIMIT_MS,
  );

  test(
    'after a refusal no node orders for a quarter of an hour, whatever its other names',
    async () => {
      names.set('gone.acme.test', 'A', []);
      const nodes = [
        node('n1.acme.test', '127.0.0.1', 'gone.acme.test'),
        node('n2.acme.test', '127.0.0.2', 'gone.acme.test'),
        node('n3.acme.test', '127.0.0.3', 'gone.acme.test'),
      ];
      const failed = (): number[] => nodes.map(({ events }) => events.length);
      const sum = (): number => failed().reduce((all, one) => all + one, 0);
      for (const { keeper } of nodes) keeper.start();
      for (let refusals = 1; refusals <= 3; refusals += 1) {
        await until(() => sum() >= refusals);
        for (let minute = 0; minute < 20; minute += 1) await clock.advance(60_000);
      }
      expect(failed()).toEqual([1, 1, 1]);
      const [one = 0, two = 0, three = 0] = shared.given
        .filter(({ name }) => name === 'acme_order')
        .map(({ at }) => at);
      expect([two - one >= HOUR_MS / 4, three - two >= HOUR_MS / 4]).toEqual([true, true]);
      await Promise.all(nodes.map(({ keeper }) => keeper.stop()));
    },
    LIMIT_MS,
  );

  test(
    'after a refusal no node with these names orders for an hour',
    async () => {
      names.set('gone.acme.test', 'A', []);
      const [one, two] = [node('gone.acme.test', '127.0.0.1'), node('gone.acme.test', '127.0.0.2')];
      one.keeper.start();
      await until(() => one.events.length > 0);
      two.keeper.start();
      for (let minute = 0; minute < 58; minute += 1) await clock.advance(60_000);
      expect([...one.events, ...two.events]).toEqual(['certificate_failed']);
      await clock.advance(HOUR_MS / 10);
      await until(() => one.events.length + two.events.length > 1);
      await Promise.all([one.keeper.stop(), two.keeper.stop()]);
    },
    LIMIT_MS,
  );
});
