/**
 * The addresses of a host that the operator names: an address, a name in DNS, or this machine.
 *
 * Promises that `localhost` is this machine whatever DNS says (RFC 6761 section 6.3); IPv4 comes first. Reads no
 * hosts file. Never throws. Not for names that others choose: the addresses are not checked here.
 */
import { isIP } from 'node:net';
import type { DnsAnswer, Resolver } from './resolver.ts';

const THIS_MACHINE = ['127.0.0.1', '::1'];

/** `host`: an IP address or a name in lower case. */
export async function addressesOfHost(
  resolver: Pick<Resolver, 'a' | 'aaaa'>,
  host: string,
): Promise<DnsAnswer<string>> {
  if (isIP(host) !== 0) return known([host]);
  if (host === 'localhost' || host.endsWith('.localhost')) return known(THIS_MACHINE);
  const [a, aaaa] = await Promise.all([resolver.a(host), resolver.aaaa(host)]);
  if (a.kind === 'found' && aaaa.kind === 'found') {
    return { ...a, records: [...a.records, ...aaaa.records] };
  }
  // What could not be asked is never "none".
  const both = [a, aaaa];
  const found = both.find(({ kind }) => kind === 'found');
  return found ?? both.find(({ kind }) => kind === 'failed') ?? a;
}

function known(records: string[]): DnsAnswer<string> {
  return { kind: 'found', records, ttlSeconds: 0, isAuthenticated: false };
}
