/**
 * Posts to a service of the operator's own that the config names, over http or https: rspamd.
 *
 * The operator chose the host, so any address of it is dialled, this machine too; never use it for a URL that somebody
 * else gave. Promises that no other host is asked, whatever a redirect or a proxy in the environment says, an end within
 * the deadline, name lookup included, that a longer answer than allowed is a failure, and that no error text repeats what
 * the other side said. Every end is a value; nothing throws.
 */
import { request as httpRequest, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import { rootCertificates } from 'node:tls';
import { addressesOfHost } from '../dns/host-addresses.ts';
import type { Resolver } from '../dns/resolver.ts';
import { wordsFor } from './post.ts';

/** Of a host with more, the others are not tried. */
const MAX_ADDRESSES = 4;

export interface OperatorPost {
  /** http or https, without user info. */
  url: string;
  headers: Readonly<Record<string, string>>;
  body: Uint8Array;
  /** Absolute, from the call to the last byte of the answer. */
  timeoutMs: number;
  maxResponseBytes: number;
  resolver: Pick<Resolver, 'a' | 'aaaa'>;
  /** PEM certificates of private CAs, in addition to the public roots. */
  ca: readonly string[];
}

export type OperatorPostResult =
  | { kind: 'responded'; statusCode: number; body: Buffer }
  /** `reason`: fixed words, such as `the connection was refused`. */
  | { kind: 'failed'; reason: string };

/** Posts `body`. The addresses of the host are tried one after the other until one takes the connection. */
export async function operatorPost(post: OperatorPost): Promise<OperatorPostResult> {
  const late = `no complete answer within ${post.timeoutMs / 1000} s`;
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(), post.timeoutMs);
  const passed = new Promise<OperatorPostResult>((resolve) => {
    deadline.signal.addEventListener('abort', () => resolve({ kind: 'failed', reason: late }), {
      once: true,
    });
  });
  try {
    return await Promise.race([tryAll(post, deadline.signal), passed]);
  } finally {
    clearTimeout(timer);
  }
}

async function tryAll(post: OperatorPost, signal: AbortSignal): Promise<OperatorPostResult> {
  const url = new URL(post.url);
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const found = await addressesOfHost(post.resolver, host);
  const addresses = found.kind === 'found' ? found.records.slice(0, MAX_ADDRESSES) : [];
  let reason = 'the host has no address in DNS';
  for (const [at, address] of addresses.entries()) {
    if (signal.aborted) break;
    const result = await exchange(post, url, { host, address, signal });
    if (result.kind === 'responded') return result;
    if (at === 0 || result.wasReached) reason = result.reason;
    if (result.wasReached) break;
  }
  return { kind: 'failed', reason };
}

/** `wasReached`: the service has begun to answer, so that no other address is tried. */
type Failed = { kind: 'failed'; reason: string; wasReached: boolean };

/** One exchange with one address; always resolves, and leaves no connection behind. */
function exchange(
  { headers, body, maxResponseBytes, ca }: OperatorPost,
  url: URL,
  { host, address, signal }: { host: string; address: string; signal: AbortSignal },
): Promise<Failed | (OperatorPostResult & { kind: 'responded' })> {
  const isTls = url.protocol === 'https:';
  const options: RequestOptions = {
    host: address,
    port: url.port === '' ? (isTls ? 443 : 80) : Number(url.port),
    path: url.pathname,
    method: 'POST',
    headers: { ...headers, host: url.host, 'content-length': String(body.length) },
    agent: false,
    signal,
  };
  const tls = {
    // RFC 6066 section 3: no IP address as server name; the certificate is then checked against `host`.
    ...(isIP(host) === 0 && { servername: host }),
    minVersion: 'TLSv1.2' as const,
    // A `ca` replaces the public roots (node:tls), so both are given.
    ...(ca.length > 0 && { ca: [...rootCertificates, ...ca] }),
    // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED would turn the default off.
    rejectUnauthorized: true,
  };
  return new Promise((resolve) => {
    const call = isTls ? httpsRequest({ ...options, ...tls }) : httpRequest(options);
    const fail = (reason: string, wasReached: boolean): void =>
      resolve({ kind: 'failed', reason, wasReached });
    call.on('error', (error: Error) => fail(wordsFor(error), false));
    call.on('response', (message) => {
      const chunks: Buffer[] = [];
      let length = 0;
      const cut = (): void => fail('the answer was cut off', true);
      message.on('data', (chunk: Buffer) => {
        length += chunk.length;
        if (length <= maxResponseBytes) return void chunks.push(chunk);
        fail('the answer is too long', true);
        call.destroy();
      });
      message.on('error', cut);
      message.on('close', cut);
      message.on('end', () => {
        const { statusCode = 0 } = message;
        resolve({ kind: 'responded', statusCode, body: Buffer.concat(chunks) });
      });
    });
    call.end(body);
  });
}
