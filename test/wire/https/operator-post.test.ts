/** Posts to a service that the operator named: by http and https, bounded, and to that host alone. */
import { afterAll, expect, test } from 'bun:test';
import { createServer, type ServerResponse } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Server } from 'node:net';

import type { DnsAnswer, Resolver } from '../../../src/wire/dns/resolver.ts';
import { operatorPost, type OperatorPost } from '../../../src/wire/https/operator-post.ts';
import { testAuthority } from '../../rig/certificates.ts';
import { openClosedPort } from '../../rig/closed-port.ts';
import { OK, openEndpoint } from './tls-endpoint.ts';

const started: Server[] = [];
afterAll(() => {
  for (const server of started) server.close();
});

async function listening(server: Server, address = '127.0.0.1'): Promise<number> {
  started.push(server);
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  return (server.address() as AddressInfo).port;
}

async function plain(answer: (response: ServerResponse) => void, address?: string) {
  const seen: string[] = [];
  let closed = (): void => undefined;
  const isClosed = new Promise<void>((resolve) => (closed = resolve));
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url} ${request.headers.host}`);
    request.socket.on('close', closed);
    answer(response);
  });
  return { port: await listening(server, address), seen, isClosed };
}

function resolverOf(records: string[] | 'nothing' | 'never'): Pick<Resolver, 'a' | 'aaaa'> {
  const nodata = { kind: 'nodata', isAuthenticated: false } as const;
  const a = async (): Promise<DnsAnswer<string>> => {
    if (records === 'never') return new Promise(() => undefined);
    if (records === 'nothing') return nodata;
    return { kind: 'found', records, ttlSeconds: 60, isAuthenticated: false };
  };
  return { a, aaaa: async () => nodata };
}

const post = (url: string, more: Partial<OperatorPost> = {}) =>
  operatorPost({
    url,
    headers: { 'x-a': 'b' },
    body: Buffer.from('ü'),
    timeoutMs: 10_000,
    maxResponseBytes: 1_000,
    resolver: resolverOf(['127.0.0.1']),
    ca: [],
    ...more,
  });

test('the path below, the name of the host, and the answer whole, whatever its status', async () => {
  const { port, seen } = await plain((response) => response.writeHead(418).end('ä'));
  const answer = await post(`http://spam.rig.test:${port}/below/checkv2`);
  expect(answer).toEqual({ kind: 'responded', statusCode: 418, body: Buffer.from('ä') });
  expect(seen).toEqual([`POST /below/checkv2 spam.rig.test:${port}`]);
});

test('an IPv6 address in brackets is asked without DNS, and named with them', async () => {
  const { port, seen } = await plain((response) => response.end('x'), '::1');
  const answer = await post(`http://[::1]:${port}/`, { resolver: resolverOf('never') });
  expect(answer).toMatchObject({ kind: 'responded', statusCode: 200 });
  expect(seen).toEqual([`POST / [::1]:${port}`]);
});

test('no redirect is followed', async () => {
  const other = await plain((response) => response.end());
  const { port } = await plain((response) =>
    response.writeHead(302, { location: `http://127.0.0.1:${other.port}/` }).end(),
  );
  expect(await post(`http://localhost:${port}/`)).toMatchObject({ statusCode: 302 });
  expect(other.seen).toEqual([]);
});

test('an answer as long as allowed is read; a longer one is given up, and the connection with it', async () => {
  const fits = await plain((response) => response.end('x'.repeat(1_000)));
  expect(await post(`http://127.0.0.1:${fits.port}/`)).toMatchObject({ kind: 'responded' });
  const endless = await plain((response) => {
    const more = (): void => {
      while (!response.destroyed && response.write('x'.repeat(10_000)));
    };
    response.on('drain', more);
    more();
  });
  const answer = await post(`http://127.0.0.1:${endless.port}/`);
  expect(answer).toMatchObject({ kind: 'failed', reason: 'the answer is too long' });
  await endless.isClosed;
});

test('silence and a drip end with the deadline, and leave no connection behind', async () => {
  const silent = await plain(() => undefined);
  const late = { kind: 'failed', reason: 'no complete answer within 0.3 s' } as const;
  expect(await post(`http://127.0.0.1:${silent.port}/`, { timeoutMs: 300 })).toEqual(late);
  await silent.isClosed;
  const dripping = await plain((response) => {
    const timer = setInterval(() => response.write('x'), 20);
    response.on('close', () => clearInterval(timer));
  });
  expect(await post(`http://127.0.0.1:${dripping.port}/`, { timeoutMs: 300 })).toEqual(late);
  await dripping.isClosed;
  const resolver = resolverOf('never');
  expect(await post('http://spam.rig.test/', { timeoutMs: 300, resolver })).toEqual(late);
});

test.each([
  ['', 'the connection was closed before a response came'],
  ['HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf', 'the answer was cut off'],
  ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n', 'the answer was cut off'],
  ['220 mail.example ESMTP\r\n', 'the response is not valid HTTP'],
])('what is answered with %j', async (text, reason) => {
  const server = createTcpServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(text));
  });
  const port = await listening(server);
  expect(await post(`http://127.0.0.1:${port}/`)).toMatchObject({ kind: 'failed', reason });
});

test('a host that is not there, and one without an address', async () => {
  const closed = await openClosedPort();
  const refused = { kind: 'failed', reason: 'the connection was refused' };
  expect(await post(`http://127.0.0.1:${closed.port}/`)).toMatchObject(refused);
  closed.stop();
  const resolver = resolverOf('nothing');
  expect(await post('http://spam.rig.test/', { resolver })).toMatchObject({
    kind: 'failed',
    reason: 'the host has no address in DNS',
  });
});

test('four addresses are tried, one after the other', async () => {
  const { port } = await plain((response) => response.end('ok'));
  const others = [99, 98, 97, 96].map((last) => `127.0.0.${last}`);
  const ask = (before: number) =>
    post(`http://spam.rig.test:${port}/`, {
      resolver: resolverOf([...others.slice(0, before), '127.0.0.1']),
    });
  expect(await ask(3)).toMatchObject({ kind: 'responded', statusCode: 200 });
  expect(await ask(4)).toEqual({ kind: 'failed', reason: 'the connection was refused' });
});

test.each([
  ['HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf', 'the answer was cut off'],
  [`HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n${'x'.repeat(1_001)}`, 'the answer is too long'],
])('once one has begun to answer, no other gets the post', async (text, reason) => {
  const first = createTcpServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(text));
  });
  const port = await listening(first);
  let asked = 0;
  const second = createTcpServer((socket) => {
    asked += 1;
    socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
  });
  started.push(second);
  // An address of this test alone: any other may have given the port to somebody else.
  await new Promise<void>((resolve) => second.listen(port, '127.0.0.78', resolve));
  // What it did is told, whatever an address before it did.
  for (const before of [[], ['127.0.0.99']]) {
    const resolver = resolverOf([...before, '127.0.0.1', '127.0.0.78']);
    expect(await post(`http://spam.rig.test:${port}/`, { resolver })).toEqual({
      kind: 'failed',
      reason,
    });
  }
  expect(asked).toBe(0);
});

test('https is verified, by the name that was asked for and the CA that was given', async () => {
  const { port, requests } = await openEndpoint((socket) => socket.end(OK));
  const resolver = resolverOf(['127.0.0.2']);
  const ca = [testAuthority().cert];
  const good = await post(`https://hook.test:${port}/`, { resolver, ca });
  expect(good).toMatchObject({ kind: 'responded', statusCode: 200 });
  const byAddress = await post(`https://127.0.0.2:${port}/`, { resolver, ca });
  expect(byAddress).toMatchObject({ kind: 'responded', statusCode: 200 });
  expect(await post(`https://hook.test:${port}/`, { resolver })).toMatchObject({
    reason: 'the TLS certificate is not trusted',
  });
  // Whatever the environment says.
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
  try {
    expect(await post(`https://hook.test:${port}/`, { resolver })).toMatchObject({
      reason: 'the TLS certificate is not trusted',
    });
    expect(await post(`https://other.example:${port}/`, { resolver, ca })).toMatchObject({
      reason: 'the TLS certificate is not for this host',
    });
  } finally {
    delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
  }
  // Nothing was said to those that did not verify.
  expect(requests).toHaveLength(2);
});

test('of several addresses that fail, what the first one did is told', async () => {
  const closing = createTcpServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end());
  });
  const port = await listening(closing);
  const closed = 'the connection was closed before a response came';
  for (const [records, reason] of [
    [['127.0.0.1', '127.0.0.99'], closed],
    [['127.0.0.99', '127.0.0.1'], 'the connection was refused'],
  ] as const) {
    const resolver = resolverOf([...records]);
    expect(await post(`http://spam.rig.test:${port}/`, { resolver })).toEqual({
      kind: 'failed',
      reason,
    });
  }
});
