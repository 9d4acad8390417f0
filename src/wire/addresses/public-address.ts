/**
 * Which addresses are public: globally reachable unicast addresses.
 *
 * Promises that loopback, private, link-local, translated (NAT64, 6to4, Teredo), documentation, multicast and
 * reserved ranges are told apart in every form. Anything that is not an IP address is not public.
 */
import { parseAddressLiteral, parseNetworks } from './networks.ts';

/** IANA special-purpose registries (RFC 6890 and its updates), and forms that carry an IPv4 address. */
const NOT_PUBLIC = parseNetworks([
  '0.0.0.0/8', // this network, RFC 791
  '10.0.0.0/8', // private, RFC 1918
  '100.64.0.0/10', // shared address space, RFC 6598
  '127.0.0.0/8', // loopback, RFC 1122
  '169.254.0.0/16', // link local and cloud metadata, RFC 3927
  '172.16.0.0/12', // private, RFC 1918
  '192.0.0.0/24', // protocol assignments, RFC 6890
  '192.0.2.0/24', // documentation, RFC 5737
  '192.88.99.0/24', // 6to4 relay anycast, RFC 7526
  '192.168.0.0/16', // private, RFC 1918
  '198.18.0.0/15', // benchmarking, RFC 2544
  '198.51.100.0/24', // documentation, RFC 5737
  '203.0.113.0/24', // documentation, RFC 5737
  '224.0.0.0/4', // multicast, RFC 5771
  '240.0.0.0/4', // reserved and broadcast, RFC 1112
  '::/96', // unspecified, loopback and IPv4-compatible, RFC 4291
  '::ffff:0:0:0/96', // IPv4-translated, RFC 2765
  '64:ff9b::/96', // NAT64, RFC 6052
  '64:ff9b:1::/48', // local NAT64, RFC 8215
  '100::/64', // discard, RFC 6666
  '2001::/32', // Teredo, RFC 4380
  '2001:2::/48', // benchmarking, RFC 5180
  '2001:10::/28', // ORCHID, RFC 4843
  '2001:20::/28', // ORCHIDv2, RFC 7343
  '2001:db8::/32', // documentation, RFC 3849
  '2002::/16', // 6to4, RFC 3056
  '3fff::/20', // documentation, RFC 9637
  '5f00::/16', // segment routing, RFC 9602
  'fc00::/7', // unique local, RFC 4193
  'fe80::/10', // link local, RFC 4291
  'fec0::/10', // site local, RFC 3879
  'ff00::/8', // multicast, RFC 4291
]);

/** Whether `ip` is a globally reachable unicast address. A mapped address counts as its IPv4 address. */
export function isPublicAddress(ip: string): boolean {
  const address = parseAddressLiteral(ip);
  return address !== null && !NOT_PUBLIC.hasAddress(address);
}
