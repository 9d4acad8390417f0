/**
 * The name under which an address has its reverse DNS records (RFC 1035 section 3.5, RFC 3596 section 2.5).
 *
 * Promises the same name for every spelling of an address. Never throws.
 */
import ipaddr from 'ipaddr.js';

/** `4.3.2.1.in-addr.arpa`, or the 32 nibbles under `ip6.arpa`; null when `address` is no IP address. */
export function reverseName(address: string): string | null {
  if (!ipaddr.isValid(address)) return null;
  const parsed = ipaddr.parse(address);
  if (parsed.kind() === 'ipv4') {
    return `${parsed.toByteArray().toReversed().join('.')}.in-addr.arpa`;
  }
  const nibbles = parsed.toByteArray().flatMap((byte) => [byte >> 4, byte & 15]);
  return `${nibbles
    .toReversed()
    .map((nibble) => nibble.toString(16))
    .join('.')}.ip6.arpa`;
}
