/**
 * Every way by which the appliance asks others over HTTP: which files can, and that none of them leads inside,
 * whatever a customer, a domain or an authority names and whatever DNS says of it.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { Server } from 'node:https';
import { createServer as createPlainServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

import { fetchAttachments } from '../../../src/api/routes/fetch-attachments.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { newAccountKey, orderCertificate } from '../../../src/wire/https/acme.ts';
import { GuardedAgent } from '../../../src/wire/https/guarded-agent.ts';
import { guardedPost } from '../../../src/wire/https/post.ts';
import { MtaSts } from '../../../src/wire/tls/mta-sts.ts';
import { parseNetworks } from '../../../src/wire/addresses/networks.ts';
import type { DnsAnswer, Resolver } from '../../../src/wire/dns/resolver.ts';
import { testAuthority } from '../../rig/certificates.ts';

const SRC = join(import.meta.dir, '../../../src');

/** What can carry a request, and who may use it. */
const MAY_ASK: Record<string, string[]> = {
  // The first dials loopback alone, for the webhooks of `postrider dev`; the second only what the config names.
  'node:http': ['wire/https/loopback-post.ts', 'wire/https/operator-post.ts'],
  'node:https': [
    'wire/https/acme.ts',
    'wire/https/guarded-agent.ts',
    'wire/https/operator-post.ts',
    'wire/https/post.ts',
  ],
  'acme-client': ['wire/https/acme.ts'],
};
const CARRIERS =
  /(?:from|import\(|require\()\s*'(node:https?|node:http2|undici|axios|acme-client)'/g;

test('only these files can ask anybody over HTTP', () => {
  const found: Record<string, string[]> = {};
  for (const file of Array.from(new Bun.Glob('**/*.ts').scanSync(SRC)).toSorted()) {
    const text = readFileSync(join(SRC, file), 'utf8').replaceAll(/^import type .*$/gm, '');
    for (const [, carrier = ''] of text.matchAll(CARRIERS)) (found[carrier] ??= []).push(file);
    // The runtime's own client follows redirects and proxies and knows no checked addresses.
    const global = text.replaceAll(/#fetch\(|async fetch\(|\.fetch\(/g, '');
    expect([file, /\bfetch\(|\bWebSocket\(|\bBun\.connect\(/.test(global)]).toEqual([file, false]);
  }
  expect(found).toEqual(MAY_ASK);
});

const found = (...records: string[]): DnsAnswer<string> => ({
  kind: 'found',
  records,
  ttlSeconds: 0,
  isAuthenticated: false,
});
const NODATA = { kind: 'nodata', isAuthenticated: false } as const;

function resolverBy(a: (name: string) => DnsAnswer<string>): Resolver {
  const none = async (): Promise<typeof NODATA> => NODATA;
  return {
    a: async (name) => a(name),
    txt: async () => found('v=STSv1; id=one;'),
    aaaa: none,
    mx: none,
    cname: none,
    ptr: none,
    tlsa: none,
  };
}

/** Answers that lead inside, or that might at the second look. */
const INSIDE: [what: string, answers: () => (name: string) => DnsAnswer<string>][] = [
  ['loopback', () => () => found('127.0.0.1')],
  ['the metadata service', () => () => found('169.254.169.254')],
  ['a public and an inner address', () => () => found('192.0.43.8', '127.0.0.1')],
  [
    'first none, then an inner address',
    () => {
      let asked = 0;
      return () => ((asked += 1) === 1 ? NODATA : found('127.0.0.1'));
    },
  ],
];

let inner: Server;
let port = 0;
let connections = 0;

beforeAll(async () => {
  const { key, cert } = testAuthority().issue(['inner.test', 'mta-sts.inner.test', '127.0.0.1']);
  inner = createServer({ key, cert }, (_request, response) => response.end('inside'));
  inner.on('connection', () => (connections += 1));
  await new Promise<void>((resolve) => inner.listen(port, '127.0.0.1', resolve));
  ({ port } = inner.address() as AddressInfo);
});
afterAll(() => inner.close());

function agentWith(resolver: Resolver): GuardedAgent {
  return new GuardedAgent({
    resolver,
    allowNetworks: parseNetworks([]),
    ca: [testAuthority().cert],
  });
}

const WAYS: [who: string, ask: (agent: GuardedAgent, resolver: Resolver) => Promise<boolean>][] = [
  [
    'a webhook call',
    async (agent) => {
      const url = `https://inner.test:${port}/`;
      const post = { url, headers: {}, body: '{}', agent, timeoutMs: 2_000, maxResponseBytes: 100 };
      return (await guardedPost(post)).kind === 'responded';
    },
  ],
  [
    'an attachment by path',
    async (agent) => {
      const links = [{ at: 0, url: `https://inner.test:${port}/`, path: 'attachments[0].path' }];
      const read = { draft: { attachments: [] }, links } as never;
      return fetchAttachments(agent, read, { attachmentBytes: 100 }, () => true).then(
        () => true,
        () => false,
      );
    },
  ],
  [
    'a policy of a domain',
    async (agent, resolver) => {
      const sts = new MtaSts({ resolver, clock: systemClock, agent, policyPort: port });
      return (await sts.policyFor('inner.test')) !== null;
    },
  ],
];

describe.each(WAYS)('%s', (_who, ask) => {
  test.each(INSIDE)('is not led to %s', async (_what, answers) => {
    const resolver = resolverBy(answers());
    const agent = agentWith(resolver);
    const before = connections;
    for (let round = 0; round < 3; round += 1) expect(await ask(agent, resolver)).toBe(false);
    expect(connections).toBe(before);
    agent.destroy();
  });
});

describe('an ACME authority', () => {
  // The library would ask five times, with pauses of seconds.
  beforeAll(async () => {
    const { axios } = await import('acme-client');
    Object.assign(axios.defaults, { acmeSettings: { retryMaxAttempts: 0, retryDefaultDelay: 0 } });
  });

  /** Its directory, in which every link is `link`; `redirect`: what its links answer. */
  async function order(
    link: (home: number) => string,
    answers: (name: string) => DnsAnswer<string>,
    redirect: string | null = null,
  ): Promise<string> {
    const { key, cert } = testAuthority().issue(['home.test']);
    const home = createServer({ key, cert }, (request, response) => {
      if (request.url !== '/dir') {
        response.writeHead(302, { location: redirect ?? '/' }).end();
        return;
      }
      const to = link((home.address() as AddressInfo).port);
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ newNonce: to, newAccount: to, newOrder: to, meta: {} }));
    });
    await new Promise<void>((resolve) => home.listen(0, '127.0.0.1', resolve));
    const { port: homePort } = home.address() as AddressInfo;
    try {
      await orderCertificate({
        directoryUrl: `https://home.test:${homePort}/dir`,
        accountKey: await newAccountKey(),
        email: '',
        names: ['mail.rig.test'],
        // What the operator names may stand anywhere.
        resolver: resolverBy((name) => (name === 'home.test' ? found('127.0.0.1') : answers(name))),
        ca: testAuthority().cert,
        answer: () => undefined,
        forget: () => undefined,
      });
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    } finally {
      home.close();
    }
    throw new Error('it ordered a certificate from nobody');
  }

  test.each(INSIDE)('does not lead to %s', async (_what, answers) => {
    const before = connections;
    expect(await order(() => `https://inner.test:${port}/`, answers())).toMatch(
      /does not lead to a public address|has no address/,
    );
    expect(connections).toBe(before);
  });

  test('does not lead to an inner address without a name, nor to plain HTTP', async () => {
    let plain = 0;
    const server = createPlainServer((socket) => {
      plain += 1;
      socket.destroy();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port: plainPort } = server.address() as AddressInfo;
    const before = connections;
    const public8 = (): DnsAnswer<string> => found('192.0.43.8');
    for (const link of [
      `https://127.0.0.1:${port}/`,
      `https://2130706433:${port}/`,
      `https://[::ffff:127.0.0.1]:${port}/`,
      `http://127.0.0.1:${plainPort}/`,
      `http://inner.test:${plainPort}/`,
      'file:///etc/passwd',
    ]) {
      expect([link, await order(() => link, public8)]).toEqual([
        link,
        expect.stringContaining('not on the public internet'),
      ]);
    }
    expect([connections, plain]).toEqual([before, 0]);
    server.close();
  });

  test('does not lead anywhere by a redirect', async () => {
    const before = connections;
    const link = (home: number): string => `https://home.test:${home}/nonce`;
    for (const to of [`https://127.0.0.1:${port}/`, `http://127.0.0.1:${port}/`]) {
      expect(await order(link, () => found('127.0.0.1'), to)).not.toBe('');
    }
    expect(connections).toBe(before);
  });
});
