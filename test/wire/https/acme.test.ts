/** The whole talk with an ACME authority: what it is asked, in which order, and what it is told. */
import { afterEach, expect, spyOn, test } from 'bun:test';
import { createHash, generateKeyPairSync } from 'node:crypto';
import { Agent, createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';

import { keyAuthorization, newAccountKey, orderCertificate } from '../../../src/wire/https/acme.ts';
import type { Resolver } from '../../../src/wire/dns/resolver.ts';
import { testAuthority } from '../../rig/certificates.ts';

const servers: Server[] = [];
const PROXIES = ['HTTPS_PROXY', 'https_proxy', 'ALL_PROXY'];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
  for (const name of PROXIES) delete process.env[name];
});

const CHAIN = '-----BEGIN CERTIFICATE-----\nbGVhZg==\n-----END CERTIFICATE-----\n';
const TOKEN = 'token-17';

/** What a signed request carries. */
function payloadOf(body: string): unknown {
  const { payload } = JSON.parse(body) as { payload: string };
  return payload === '' ? '' : JSON.parse(Buffer.from(payload, 'base64url').toString());
}

/** An authority that gives what it is asked for; `account`: what it answers to an account. */
async function authority(
  account = 201,
  listenAt = '127.0.0.1',
  name = 'home.test',
  challenges = ['tls-alpn-01', 'dns-01', 'http-01'],
): Promise<{ url: string; asked: [string, unknown][] }> {
  const { key, cert } = testAuthority().issue([name]);
  const asked: [string, unknown][] = [];
  let nonce = 0;
  const server = createServer({ key, cert }, (request, response) => {
    const at = `https://${name}:${(server.address() as AddressInfo).port}`;
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      const path = request.url ?? '';
      response.setHeader('replay-nonce', `nonce${(nonce += 1)}`);
      if (request.method === 'POST') asked.push([path, payloadOf(body)]);
      const order = { authorizations: [`${at}/authz`], finalize: `${at}/finalize` };
      const challenge = (type: string) => ({
        type,
        url: `${at}/challenge/${type}`,
        token: TOKEN,
        status: 'valid',
      });
      const answers: Record<string, [status: number, body: unknown]> = {
        '/dir': [
          200,
          { newNonce: `${at}/nonce`, newAccount: `${at}/account`, newOrder: `${at}/order` },
        ],
        '/nonce': [200, {}],
        '/account': [account, { status: 'valid', detail: 'no account for you' }],
        '/order': [201, { status: 'ready', ...order }],
        '/authz': [
          200,
          {
            status: 'pending',
            identifier: { type: 'dns', value: 'mail.rig.test' },
            challenges: challenges.map(challenge),
          },
        ],
        '/challenge/http-01': [200, challenge('http-01')],
        '/finalize': [200, { status: 'valid', ...order, certificate: `${at}/certificate` }],
      };
      if (path === '/account') response.setHeader('location', `${at}/accounts/1`);
      if (path === '/order') response.setHeader('location', `${at}/orders/1`);
      if (path === '/certificate') return void response.end(CHAIN);
      const [status, json] = answers[path] ?? [404, { detail: `nothing at ${path}` }];
      response.statusCode = status;
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(json));
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, listenAt, resolve));
  return { url: `https://${name}:${(server.address() as AddressInfo).port}/dir`, asked };
}

const found = (address: string) => async () => ({
  kind: 'found',
  records: [address],
  ttlSeconds: 0,
  isAuthenticated: false,
});
const none = async () => ({ kind: 'nodata', isAuthenticated: false });
const overIpv4 = { a: found('127.0.0.1'), aaaa: none } as unknown as Resolver;
const overIpv6 = { a: none, aaaa: found('::1') } as unknown as Resolver;

async function order(directoryUrl: string, email: string, resolver = overIpv4) {
  const published: string[] = [];
  const accountKey = await newAccountKey();
  const made = await orderCertificate({
    directoryUrl,
    accountKey,
    email,
    names: ['mail.rig.test', 'mta-sts.rig.test'],
    resolver,
    ca: testAuthority().cert,
    answer: (token, answer) => void published.push(`${token} ${answer}`),
    forget: (token) => void published.push(`${token} forgotten`),
  }).catch((error: unknown) => String(error));
  return { made, published, accountKey };
}

/** Subject and names of a request for a certificate. */
function namesIn(csr: string): string[] {
  const done = Bun.spawnSync(['openssl', 'req', '-inform', 'DER', '-noout', '-text'], {
    stdin: Buffer.from(csr, 'base64url'),
  });
  const text = done.stdout.toString();
  return [
    /Subject: ?CN ?= ?(\S+)/.exec(text)?.[1] ?? '',
    /DNS:.*/.exec(text)?.[0] ?? '',
    /ASN1 OID: (\S+)/.exec(text)?.[1] ?? '',
  ];
}

test('a certificate is ordered for every name and proved by HTTP, past every proxy', async () => {
  for (const name of PROXIES) process.env[name] = 'http://127.0.0.1:9';
  const { url, asked } = await authority();
  const { made, published, accountKey } = await order(url, 'ops@rig.test');
  if (typeof made === 'string') throw new Error(made);
  expect(made.chain).toBe(CHAIN);
  expect(made.key).toContain('PRIVATE KEY');
  expect(published).toEqual([
    `${TOKEN} ${keyAuthorization(TOKEN, accountKey)}`,
    `${TOKEN} forgotten`,
  ]);
  const last = asked.find(([path]) => path === '/finalize')?.[1];
  const { csr } = last as { csr: string };
  expect(namesIn(csr)).toEqual([
    'mail.rig.test',
    'DNS:mail.rig.test, DNS:mta-sts.rig.test',
    'prime256v1',
  ]);
  const names = ['mail.rig.test', 'mta-sts.rig.test'];
  expect(asked).toEqual([
    ['/account', { termsOfServiceAgreed: true, contact: ['mailto:ops@rig.test'] }],
    ['/order', { identifiers: names.map((value) => ({ type: 'dns', value })) }],
    ['/authz', ''],
    ['/challenge/http-01', {}],
    ['/challenge/http-01', ''],
    ['/finalize', { csr }],
    ['/certificate', ''],
  ]);
});

test('an authority that has an IPv6 address alone is reached at it', async () => {
  const { url, asked } = await authority(201, '::1');
  const { made } = await order(url, '', overIpv6);
  expect(made).toMatchObject({ chain: CHAIN });
  expect(asked.at(-1)).toEqual(['/certificate', '']);
});

test('an account that the authority knows is used, though it refuses to change it', async () => {
  const { url, asked } = await authority(200);
  const { made } = await order(url, 'ops@rig.test');
  expect(made).toMatchObject({ chain: CHAIN });
  // Nothing is at the second of these.
  const paths = asked.map(([path]) => path);
  expect(paths.slice(0, 3)).toEqual(['/account', '/accounts/1', '/order']);
});

test('an authority in our own network may be named by its address', async () => {
  const { url, asked } = await authority(201, '127.0.0.1', '127.0.0.1');
  const { made } = await order(url, '');
  expect(made).toMatchObject({ chain: CHAIN });
  expect(asked.at(-1)).toEqual(['/certificate', '']);
});

test('without an address no contact is named', async () => {
  const { url, asked } = await authority();
  await order(url, '');
  expect(asked[0]).toEqual(['/account', { termsOfServiceAgreed: true }]);
});

test('an account that is refused ends the order with the words of the authority', async () => {
  const { url, asked } = await authority(403);
  const { made, published } = await order(url, '');
  expect(made).toContain('no account for you');
  expect([asked.length, published]).toEqual([1, []]);
});

test('where nothing can be proved by HTTP no other proof is begun', async () => {
  const { url, asked } = await authority(201, '127.0.0.1', 'home.test', ['dns-01', 'tls-alpn-01']);
  const { made, published } = await order(url, '');
  // What an authority has checked in vain counts against the operator there.
  expect([made, published]).toEqual([
    'Error: the authority does not let mail.rig.test be proved by HTTP',
    [`${TOKEN} forgotten`],
  ]);
  expect(asked.map(([path]) => path).filter((path) => path.startsWith('/challenge/'))).toEqual([]);
});

test('an authority that does not answer is told so', async () => {
  const { url } = await authority();
  const [server] = servers.splice(0);
  await new Promise((resolve) => server?.close(resolve));
  const { axios } = await import('acme-client');
  // The library would ask five times, with pauses of seconds.
  Object.assign(axios.defaults, { acmeSettings: { retryMaxAttempts: 0, retryDefaultDelay: 0 } });
  const { made, published } = await order(url, '');
  expect([made, published]).toEqual(['Error: the authority could not be reached', []]);
});

test('the answer to a challenge has the thumbprint of RFC 7638, of keys of both kinds', () => {
  // Section 3.1 of it.
  const rsa = {
    kty: 'RSA',
    e: 'AQAB',
    n: '0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw',
  };
  expect(keyAuthorization('tok', { key: rsa, format: 'jwk' })).toBe(
    'tok.NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs',
  );
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { crv, kty, x, y } = publicKey.export({ format: 'jwk' });
  const digest = createHash('sha256').update(JSON.stringify({ crv, kty, x, y }));
  const pem = publicKey.export({ type: 'spki', format: 'pem' });
  expect(keyAuthorization('t', pem)).toBe(`t.${digest.digest('base64url')}`);
});

test.each([201, 403])(
  'an order leaves nothing behind, whether it ends well or not: %i',
  async (account) => {
    const { axios } = await import('acme-client');
    const added = spyOn(axios.interceptors.request, 'use');
    const removed = spyOn(axios.interceptors.request, 'eject');
    const destroyed = spyOn(Agent.prototype, 'destroy');
    const { url } = await authority(account);
    await order(url, '');
    const ours: unknown[] = added.mock.results.map(({ value }) => value);
    expect([ours.length, removed.mock.calls.map(([id]): unknown => id)]).toEqual([1, ours]);
    expect(destroyed.mock.contexts).toContain(axios.defaults.httpsAgent);
    expect([axios.defaults.proxy, axios.defaults.maxRedirects]).toEqual([false, 0]);
    for (const spy of [added, removed, destroyed]) spy.mockRestore();
  },
);
