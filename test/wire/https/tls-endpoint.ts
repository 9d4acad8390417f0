/**
 * TLS servers that write exactly what a test wants, and guarded requests to them.
 *
 * Promises a certificate of the rig's CA for `hook.test`, one free port each, and a count of connections
 * that includes those which never finish a handshake. DNS answers come from the test.
 */
import type { Server } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';

import { GuardedAgent } from '../../../src/wire/https/guarded-agent.ts';
import { guardedPost, type PostResult } from '../../../src/wire/https/post.ts';
import { parseNetworks } from '../../../src/wire/addresses/networks.ts';
import type { DnsAnswer, Resolver } from '../../../src/wire/dns/resolver.ts';
import { type CertificateOptions, testAuthority } from '../../rig/certificates.ts';

const ca = [testAuthority().cert];
/** A whole answer on a connection that stays. */
export const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

export interface TlsEndpoint {
  port: number;
  connections: () => number;
  requests: string[];
  server: Server;
}

const endpoints: TlsEndpoint[] = [];

/** A TLS server that hands each whole request to `answer` and writes what the test wants. */
export async function openEndpoint(
  answer: (socket: TLSSocket, request: string) => void,
  host = '127.0.0.2',
  options: CertificateOptions & { names?: string[]; maxVersion?: 'TLSv1.1' | 'TLSv1.2' } = {},
): Promise<TlsEndpoint> {
  const names = options.names ?? ['hook.test', '*.hook.test', host];
  const { key, cert } = testAuthority().issue(names, options);
  const requests: string[] = [];
  let connections = 0;
  const versions =
    options.maxVersion === undefined
      ? {}
      : ({ minVersion: 'TLSv1', maxVersion: options.maxVersion } as const);
  const server = createServer({ key, cert, ...versions }, (socket) => {
    let text = '';
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      const head = text.indexOf('\r\n\r\n');
      if (head < 0) return;
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? '0');
      if (text.length < head + 4 + length) return;
      requests.push(text.slice(0, head + 4 + length));
      text = text.slice(head + 4 + length);
      answer(socket, requests.at(-1) ?? '');
    });
  });
  server.on('connection', () => (connections += 1));
  server.on('tlsClientError', () => undefined);
  const port = await listen(server, host);
  const made = { port, connections: () => connections, requests, server };
  endpoints.push(made);
  return made;
}

/** Listens on a free port of `host`; resolves with the port. */
export function listen(server: Server, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, host, () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : 0);
    });
  });
}

/** Closes every endpoint of this test file. */
export function closeEndpoints(): void {
  for (const { server } of endpoints.splice(0)) server.close();
}

export const found = (...records: string[]): DnsAnswer<string> => ({
  kind: 'found',
  records,
  ttlSeconds: 0,
  isAuthenticated: false,
});
export const NODATA: DnsAnswer<string> = { kind: 'nodata', isAuthenticated: false };

/** Answers to A and AAAA questions, whatever the name. */
export function names(
  a: () => DnsAnswer<string>,
  aaaa: () => DnsAnswer<string> = () => NODATA,
): Pick<Resolver, 'a' | 'aaaa'> {
  return { a: async () => a(), aaaa: async () => aaaa() };
}

/** Leads every name to the endpoints' usual address. */
export const toServer = names(() => found('127.0.0.2'));

export function agentWith(
  resolver: Pick<Resolver, 'a' | 'aaaa'> = toServer,
  admitted: string[] = ['127.0.0.2/32', '127.0.0.3/32'],
  idleMs = 4_000,
): GuardedAgent {
  return new GuardedAgent({ resolver, allowNetworks: parseNetworks(admitted), ca, idleMs });
}

/** Posts to `hook.test` at `port`. */
export function post(
  port: number,
  change: Partial<Parameters<typeof guardedPost>[0]> = {},
): Promise<PostResult> {
  return guardedPost({
    url: `https://hook.test:${port}/in?x=1`,
    headers: { 'content-type': 'application/json' },
    body: '{"ä":1}',
    agent: agentWith(),
    timeoutMs: 5_000,
    maxResponseBytes: 65_536,
    ...change,
  });
}
