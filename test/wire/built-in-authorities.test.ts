/**
 * The operator's own authorities (`extra_ca_file`) are trusted beside the built-in ones, never in place of them: wherever
 * TLS is spoken as a client. One authority stands for those that the runtime brings, another is the operator's.
 */
import { afterAll, beforeAll, expect, mock, test } from 'bun:test';
import { createServer } from 'node:https';
import type { Server } from 'node:https';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import * as tls from 'node:tls';

import { parseNetworks } from '../../src/wire/addresses/networks.ts';
import type { DnsAnswer } from '../../src/wire/dns/resolver.ts';
import { GuardedAgent } from '../../src/wire/https/guarded-agent.ts';
import { operatorPost } from '../../src/wire/https/operator-post.ts';
import { ExtraTrust, secure } from '../../src/wire/smtp/tls.ts';
import { makeAuthority } from '../rig/certificates.ts';

const HOST = 'mx.receiver.test';
const [builtIn, own, foreign] = [makeAuthority(), makeAuthority(), makeAuthority()];
const resolver = {
  a: (): Promise<DnsAnswer<string>> =>
    Promise.resolve({
      kind: 'found',
      records: ['127.0.0.1'],
      ttlSeconds: 60,
      isAuthenticated: false,
    }),
  aaaa: (): Promise<DnsAnswer<string>> =>
    Promise.resolve({ kind: 'nodata', isAuthenticated: false }),
};
const real = { ...tls };
const servers: Server[] = [];
const ports: number[] = [];

beforeAll(async () => {
  await mock.module('node:tls', () => ({ ...real, rootCertificates: [builtIn.cert] }));
  for (const authority of [builtIn, own, foreign]) {
    const server = createServer(authority.issue([HOST]), (_request, response) => response.end());
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    servers.push(server);
    ports.push((server.address() as AddressInfo).port);
  }
});
afterAll(async () => {
  for (const server of servers) server.close();
  await mock.module('node:tls', () => real);
});

async function smtp(port: number): Promise<boolean> {
  const plain = connect(port, '127.0.0.1');
  const trust = new ExtraTrust([own.cert]);
  const options = { serverName: HOST, verify: true, trust, checkPeer: undefined };
  const isTrusted = await new Promise<boolean>((resolve) => {
    const socket = secure(plain, options, (problem) => resolve(problem === null));
    socket.on('error', () => resolve(false));
  });
  plain.destroy();
  return isTrusted;
}

async function webhook(port: number): Promise<boolean> {
  const allowNetworks = parseNetworks(['127.0.0.0/8']);
  const agent = new GuardedAgent({ resolver, allowNetworks, ca: [own.cert] });
  const guard = { host: HOST, port, signal: new AbortController().signal };
  const isTrusted = await new Promise<boolean>((resolve) => {
    const options = { guard } as Parameters<GuardedAgent['createConnection']>[0];
    agent.createConnection(options, (error, socket) => {
      if (error === null) socket.destroy();
      resolve(error === null);
    });
  });
  agent.destroy();
  return isTrusted;
}

async function service(port: number): Promise<boolean> {
  const { kind } = await operatorPost({
    url: `https://${HOST}:${port}/`,
    headers: {},
    body: Buffer.alloc(0),
    timeoutMs: 10_000,
    maxResponseBytes: 1_000,
    resolver,
    ca: [own.cert],
  });
  return kind === 'responded';
}

test.each([
  ['a mail server', smtp],
  ['a webhook endpoint', webhook],
  ['a service of the operator', service],
])('%s is trusted by a built-in authority and by one of the operator', async (_who, isTrusted) => {
  const seen = await Promise.all(ports.map((port) => isTrusted(port)));
  expect(seen).toEqual([true, true, false]);
});
