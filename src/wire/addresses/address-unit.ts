/**
 * Who a peer is, for limits: one IPv4 address, or a whole IPv6 network, whose hosts choose their addresses.
 *
 * Promises the same name for the same peer, however its address is spelled. Never fails.
 */
import { isIPv6 } from 'node:net';

/** The unit that limits count: an IPv4 address, or the /64 an IPv6 host chooses its addresses from. */
export function addressUnit(address: string): string {
  // Most peers: no colon, nothing to parse.
  if (!address.includes(':')) return address;
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
  if (!isIPv6(plain)) return plain;
  const [head = '', tail] = plain.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : 8 - left.length - right.length;
  const groups = [...left, ...Array.from({ length: Math.max(0, zeros) }, () => '0'), ...right];
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}
