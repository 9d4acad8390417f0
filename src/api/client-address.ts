/**
 * The address a request came from, for the log.
 *
 * Promises that `X-Forwarded-For` is believed only as far as trusted proxies wrote it: read from the
 * right, the first address that is not a trusted proxy's. Never fails; null when there is no socket.
 */
import type { Config } from '../base/config.ts';
import { parseAddressLiteral, parseNetworks, type Networks } from '../wire/networks.ts';

const parsed = new WeakMap<readonly string[], Networks>();

/** The config's trusted proxies, parsed once for each list: a reload brings a new one. */
export function trustedProxies({ http }: Config): Networks {
  const kept = parsed.get(http.trustedProxies) ?? parseNetworks(http.trustedProxies);
  parsed.set(http.trustedProxies, kept);
  return kept;
}

/** How a socket that listens on `::` names an IPv4 client (RFC 4291 section 2.5.5.2). */
const MAPPED = /^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i;

/** `peer`: the socket's own address, null for a request without one. */
export function clientAddress(
  peer: string | null,
  headers: Headers,
  trusted: Networks,
): string | null {
  if (peer === null) return null;
  const forwardedFor = headers.get('x-forwarded-for');
  const hops = forwardedFor === null ? [] : forwardedFor.split(',');
  let address = peer;
  while (hops.length > 0 && trusted.has(address)) {
    const hop = hops.pop()?.trim() ?? '';
    if (parseAddressLiteral(hop) === null) break;
    address = hop;
  }
  return address.replace(MAPPED, '');
}
