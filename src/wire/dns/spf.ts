/**
 * Whether an address may send mail for a name, by the name's published SPF policy (RFC 7208).
 *
 * mailauth evaluates, in its strict mode; its questions go through our own resolver. A resolver that fails gives
 * `temperror`, never `none` or `fail`.
 */
import type { DNSResolver } from 'mailauth';
import type { DnsAnswer, Resolver } from './resolver.ts';

export type SpfResult =
  | 'pass'
  | 'fail'
  | 'softfail'
  | 'neutral'
  | 'none'
  | 'temperror'
  | 'permerror';

const RESULTS = ['pass', 'fail', 'softfail', 'neutral', 'none', 'temperror', 'permerror'] as const;

/** Longest evaluation in milliseconds (RFC 7208 section 4.6.4 asks for at least 20 s before giving up). */
const MAX_ELAPSED_MS = 20_000;

/** The result for `postmaster@<domain>` coming from `address`; `helo` is the name in EHLO. */
export async function checkSpf(
  resolver: Resolver,
  domain: string,
  address: string,
  helo: string,
): Promise<SpfResult> {
  // Loaded when first needed: it loads a schema library that nothing else needs at the start.
  const { spf } = await import('mailauth/lib/spf');
  const result = await spf({
    sender: `postmaster@${domain}`,
    ip: address,
    helo,
    mta: helo,
    strict: true,
    maxElapsedTime: MAX_ELAPSED_MS,
    resolver: nodeStyle(resolver),
  });
  const word = result.status.result;
  return RESULTS.find((known) => known === word) ?? 'permerror';
}

/** Our resolver in the shape of `dns.promises.resolve`, which mailauth expects. */
export function nodeStyle(resolver: Resolver): DNSResolver {
  return async (name, type) => {
    switch (type) {
      case 'A':
        return records(await resolver.a(name));
      case 'AAAA':
        return records(await resolver.aaaa(name));
      case 'MX':
        // mailauth reads objects here, as Node gives them; its type knows only text.
        return records(await resolver.mx(name)).map((mx) => ({
          exchange: mx.exchange,
          priority: mx.preference,
        })) as unknown as string[];
      case 'TXT':
        return records(await resolver.txt(name)).map((text) => [text]);
      case 'CNAME':
        return records(await resolver.cname(name));
      default:
        throw dnsError('ENODATA', `${type} is not supported here`);
    }
  };
}

function records<T>(answer: DnsAnswer<T>): T[] {
  switch (answer.kind) {
    case 'found':
      return answer.records;
    case 'nodata':
      throw dnsError('ENODATA', 'no such record');
    case 'nxdomain':
      throw dnsError('ENOTFOUND', 'no such name');
    case 'failed':
      throw dnsError('ESERVFAIL', answer.reason);
  }
}

function dnsError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}
