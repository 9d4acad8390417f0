/**
 * Who a guarded request connects to: verified TLS only, no proxy of the environment, and no address that
 * may not be dialled, whatever DNS says from one question to the next.
 */
import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test';
import { createServer as createTcpServer, Socket, type Server } from 'node:net';
import * as tls from 'node:tls';

import { AddressGuard } from '../../../src/wire/addresses/address-guard.ts';
import { type CertificateOptions, testAuthority } from '../../rig/certificates.ts';
import {
  agentWith,
  closeEndpoints,
  found,
  listen,
  names,
  NODATA,
  OK,
  openEndpoint,
  post,
} from './tls-endpoint.ts';

afterAll(closeEndpoints);

describe('TLS', () => {
  const rows: [
    string,
    CertificateOptions & { names?: string[]; maxVersion?: 'TLSv1.1' },
    string,
  ][] = [
    ['an expired certificate', { isExpired: true }, 'the TLS certificate has expired'],
    ['a self-signed one', { isSelfSigned: true }, 'the TLS certificate is not trusted'],
    ['another name', { names: ['other.test'] }, 'the TLS certificate is not for this host'],
    ['TLS 1.1', { maxVersion: 'TLSv1.1' }, 'the TLS handshake failed'],
  ];
  test.each(rows)('%s is refused before a byte is sent', async (_name, options, reason) => {
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    try {
      const { port, requests } = await openEndpoint(
        (socket) => socket.write(OK),
        '127.0.0.2',
        options,
      );
      expect(await post(port)).toMatchObject({ kind: 'failed', reason, isRefused: false });
      expect(requests).toHaveLength(0);
    } finally {
      delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    }
  });

  test('a server that speaks something else leaks nothing into the reason', async () => {
    const marker = 'SSH-2.0-secret-banner';
    const plain = createTcpServer((socket) => {
      socket.on('error', () => undefined);
      socket.end(`${marker}\r\n`);
    });
    const port = await listen(plain, '127.0.0.2');
    const result = await post(port);
    expect(result).toMatchObject({ kind: 'failed' });
    expect(JSON.stringify(result)).not.toContain('secret');
    plain.close();
    const { port: garbage } = await openEndpoint((socket) => socket.end(`${marker}\r\n\r\n`));
    const second = await post(garbage);
    expect(second).toMatchObject({ kind: 'failed', reason: 'the response is not valid HTTP' });
  });
});

test('HTTP/1.1 is what the handshake agrees on, also with a server that would rather speak HTTP/2', async () => {
  const agreed: unknown[] = [];
  const identity = testAuthority().issue(['hook.test']);
  const server = tls.createServer({ ...identity, ALPNProtocols: ['h2', 'http/1.1'] }, (socket) => {
    agreed.push(socket.alpnProtocol);
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(OK));
  });
  const port = await listen(server, '127.0.0.2');
  expect(await post(port)).toMatchObject({ statusCode: 200 });
  expect(agreed).toEqual(['http/1.1']);
  server.close();
});

test('an address that may not be dialled any more once it is connected gets nothing', async () => {
  const { port, requests } = await openEndpoint((socket) => socket.write(OK));
  const verdicts = [true, false];
  const asked = spyOn(AddressGuard.prototype, 'allows').mockImplementation(
    () => verdicts.shift() === true,
  );
  const result = await post(port);
  const addresses = asked.mock.calls.flat();
  asked.mockRestore();
  expect([result, requests]).toEqual([
    {
      kind: 'failed',
      reason: 'connected to another address than was checked',
      durationMs: expect.any(Number) as number,
      isRefused: true,
      isLocal: false,
    },
    [],
  ]);
  expect(addresses).toEqual(['127.0.0.2', '127.0.0.2']);
});

test('a caller who gives up while the name is looked up has nobody dialled', async () => {
  const stop = new AbortController();
  const agent = agentWith(
    names(() => {
      stop.abort();
      return found('127.0.0.2', '127.0.0.3');
    }),
  );
  const dialled = spyOn(Socket.prototype, 'connect');
  expect(await post(1, { agent, signal: stop.signal })).toMatchObject({ kind: 'failed' });
  await new Promise((resolve) => setImmediate(resolve));
  const count = dialled.mock.calls.length;
  dialled.mockRestore();
  expect(count).toBe(0);
});

test('TLS 1.2 is enough', async () => {
  const { port } = await openEndpoint((socket) => socket.write(OK), '127.0.0.2', {
    maxVersion: 'TLSv1.2',
  });
  expect(await post(port)).toMatchObject({ statusCode: 200 });
});

/** The sockets that are made while `work` runs. `change` is told of each before anything has come on it. */
async function socketsOf(
  work: () => Promise<unknown>,
  change: (socket: tls.TLSSocket) => unknown = () => undefined,
): Promise<tls.TLSSocket[]> {
  const sockets: tls.TLSSocket[] = [];
  const real = tls.connect;
  const made = spyOn(tls, 'connect').mockImplementation(((options: tls.ConnectionOptions) => {
    const socket = real(options);
    change(socket);
    sockets.push(socket);
    return socket;
  }) as never);
  await work();
  made.mockRestore();
  return sockets;
}

test('a runtime that hands over what it has not verified is not believed', async () => {
  const { port, requests } = await openEndpoint((socket) => socket.write(OK));
  const [socket] = await socketsOf(
    async () => {
      expect(await post(port)).toMatchObject({
        kind: 'failed',
        reason: 'TLS verification failed',
        isRefused: false,
        isLocal: false,
      });
    },
    (one) => one.on('secureConnect', () => Object.assign(one, { authorized: false })),
  );
  expect([requests, socket?.destroyed]).toEqual([[], true]);
});

test('a connection that is given up is closed, and what it says afterwards is no fault', async () => {
  const silent = createTcpServer(() => undefined);
  const port = await listen(silent, '127.0.0.2');
  const [socket] = await socketsOf(async () => {
    expect(await post(port, { timeoutMs: 50 })).toMatchObject({ kind: 'failed' });
  });
  expect(socket?.destroyed).toBe(true);
  // Without a listener it would end the process.
  socket?.emit('error', new Error('late'));
  silent.close();
});

describe('the environment', () => {
  let proxy: Server;
  let visits = 0;
  beforeAll(async () => {
    proxy = createTcpServer((socket) => {
      visits += 1;
      socket.destroy();
    });
    const url = `http://127.0.0.1:${await listen(proxy, '127.0.0.1')}`;
    for (const name of ['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY']) {
      process.env[name] = url;
      process.env[name.toLowerCase()] = url;
    }
    process.env['NODE_USE_ENV_PROXY'] = '1';
  });
  afterAll(() => {
    for (const name of ['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY']) {
      delete process.env[name];
      delete process.env[name.toLowerCase()];
    }
    delete process.env['NODE_USE_ENV_PROXY'];
    proxy.close();
  });

  test('names a proxy, which is not used', async () => {
    const { port } = await openEndpoint((socket) => socket.write(OK));
    expect(await post(port)).toMatchObject({ kind: 'responded', statusCode: 200 });
    expect(visits).toBe(0);
  });
});

describe('names that lead inside', () => {
  test.each([
    ['a loopback address', names(() => found('127.0.0.1'))],
    ['a public and a loopback address', names(() => found('192.0.43.8', '127.0.0.1'))],
    [
      'a public IPv4 and an inner IPv6 address',
      names(
        () => found('192.0.43.8'),
        () => found('::1'),
      ),
    ],
    [
      'a mapped address',
      names(
        () => NODATA,
        () => found('::ffff:127.0.0.1'),
      ),
    ],
    [
      'NAT64 of loopback',
      names(
        () => NODATA,
        () => found('64:ff9b::7f00:1'),
      ),
    ],
  ])('%s: refused, nothing is connected', async (_name, resolver) => {
    const inside = await openEndpoint((socket) => socket.write(OK), '127.0.0.1');
    const result = await post(inside.port, { agent: agentWith(resolver, []) });
    expect(result).toMatchObject({
      kind: 'failed',
      isRefused: true,
      reason: 'the host does not lead to a public address',
    });
    expect(inside.connections()).toBe(0);
  });

  test('of a name with many addresses four are tried, one after the other', async () => {
    // Of this test alone: nobody else listens there, at whatever port.
    const addresses = [81, 82, 83, 84, 85].map((last) => `127.0.0.${last}`);
    const agent = agentWith(
      names(() => found(...addresses)),
      ['127.0.0.0/8'],
    );
    const fourth = await openEndpoint((socket) => socket.write(OK), '127.0.0.84');
    expect(await post(fourth.port, { agent })).toMatchObject({ statusCode: 200 });
    const fifth = await openEndpoint((socket) => socket.write(OK), '127.0.0.85');
    expect(await post(fifth.port, { agent })).toMatchObject({
      reason: 'the connection was refused',
    });
    expect(fifth.connections()).toBe(0);
    agent.destroy();
  });

  test('of several addresses that fail, what the last one did is told', async () => {
    const { port } = await openEndpoint((socket) => socket.write(OK), '127.0.0.2', {
      isSelfSigned: true,
    });
    for (const [addresses, reason] of [
      [['127.0.0.3', '127.0.0.2'], 'the TLS certificate is not trusted'],
      [['127.0.0.2', '127.0.0.3'], 'the connection was refused'],
    ] as const) {
      const agent = agentWith(names(() => found(...addresses)));
      expect(await post(port, { agent })).toMatchObject({ kind: 'failed', reason });
    }
  });

  test('a name that does not exist and a resolver that fails are told apart', async () => {
    const nowhere = names(() => ({ kind: 'nxdomain', isAuthenticated: false }));
    const broken = names(() => ({ kind: 'failed', reason: 'servfail' }));
    expect(await post(1, { agent: agentWith(nowhere) })).toMatchObject({
      reason: 'the host name does not exist or has no address',
      isRefused: false,
    });
    expect(await post(1, { agent: agentWith(broken) })).toMatchObject({
      reason: 'the host name could not be resolved',
      isRefused: false,
    });
  });

  test('1,000 calls to a name that alternates between an outer and an inner address: 0 inside', async () => {
    // Of this test alone: no other file's server may get the inner server's port there.
    const outer = '127.0.0.77';
    const inside = await openEndpoint((socket) => socket.write(OK), '127.0.0.1');
    const outside = await openEndpoint(
      (socket) => socket.end(OK.replace('OK', 'OK\r\nConnection: close')),
      outer,
    );
    let query = 0;
    const resolver = names(() => found((query += 1) % 2 === 0 ? '127.0.0.1' : outer));
    const agent = agentWith(resolver, [`${outer}/32`]);
    const results = new Map<string, number>();
    for (let at = 0; at < 1_000; at += 1) {
      const port = at % 4 < 2 ? outside.port : inside.port;
      const result = await post(port, { agent, timeoutMs: 20_000 });
      const key = result.kind === 'responded' ? 'responded' : result.reason;
      results.set(key, (results.get(key) ?? 0) + 1);
    }
    expect(inside.connections()).toBe(0);
    expect(Object.fromEntries(results)).toEqual({
      responded: 250,
      'the host does not lead to a public address': 500,
      // The checked address at the inner server's port: nobody listens there.
      'the connection was refused': 250,
    });
  }, 60_000);
});
