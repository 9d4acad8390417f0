/**
 * Posts to a server on this very machine, without TLS: webhooks of a developer's emulator.
 *
 * Promises that only loopback is ever dialled, whatever a name or a proxy in the environment says, that no redirect is
 * followed, and an end within the deadline. Every end is a value; nothing throws.
 */
import { request } from 'node:http';
import { isLoopback } from '../dns/dns.ts';
import { excerptOf, type GuardedPost, type PostResult } from './post.ts';

/** More of a response is read and forgotten. */
const MAX_KEPT_BYTES = 65_536;

/** The URL when it is http to this machine (`localhost` or a loopback address), else null. */
export function loopbackUrl(text: string): URL | null {
  const url = URL.parse(text);
  if (url === null || url.protocol !== 'http:' || url.username !== '' || url.password !== '') {
    return null;
  }
  return addressesOf(url).length > 0 ? url : null;
}

/** Posts `body`; of the response the first words are kept. `localhost` is tried by IPv4, then by IPv6. */
export async function loopbackPost(
  url: URL,
  { headers, body, timeoutMs, signal }: Omit<GuardedPost, 'agent' | 'url' | 'maxResponseBytes'>,
): Promise<PostResult> {
  const startedAt = performance.now();
  const deadline = AbortSignal.timeout(timeoutMs);
  const until = signal === undefined ? deadline : AbortSignal.any([deadline, signal]);
  let reason = 'not an address of this machine';
  for (const host of addressesOf(url)) {
    try {
      const response = await post(url, host, headers, body, until);
      const durationMs = Math.round(performance.now() - startedAt);
      return { kind: 'responded', ...response, durationMs, retryAfterSeconds: null };
    } catch {
      reason = until.aborted ? 'the deadline passed' : 'the connection failed';
      if (until.aborted) break;
    }
  }
  const durationMs = Math.round(performance.now() - startedAt);
  return { kind: 'failed', reason, durationMs, isRefused: false, isLocal: false };
}

function addressesOf({ hostname }: URL): string[] {
  if (hostname === 'localhost') return ['127.0.0.1', '::1'];
  const address = hostname.replace(/^\[(.*)\]$/, '$1');
  return isLoopback(address) ? [address] : [];
}

function post(
  url: URL,
  host: string,
  headers: Readonly<Record<string, string>>,
  body: string | Uint8Array,
  signal: AbortSignal,
): Promise<{ statusCode: number; excerpt: string | null }> {
  return new Promise((resolve, reject) => {
    const call = request(
      {
        host,
        port: url.port === '' ? 80 : Number(url.port),
        path: `${url.pathname}${url.search}`,
        method: 'POST',
        headers: { ...headers, host: url.host, 'content-length': Buffer.byteLength(body) },
        agent: false,
        signal,
      },
      (response) => {
        const { statusCode = 0 } = response;
        const chunks: Buffer[] = [];
        let length = 0;
        response.on('error', reject);
        response.on('data', (chunk: Buffer) => {
          if (length < MAX_KEPT_BYTES) chunks.push(chunk);
          length += chunk.length;
        });
        response.on('end', () => resolve({ statusCode, excerpt: excerptOf(chunks) }));
      },
    );
    call.on('error', reject);
    call.end(body);
  });
}
