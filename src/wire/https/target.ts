/**
 * Which host an https URL names, and whether the appliance may connect to it.
 *
 * Promises that a target is https without user info and not a special name such as localhost, and that addresses
 * are handed out only when every one the name resolves to may be dialled: one inner address among public ones
 * refuses the whole name. Every end is a value; nothing throws.
 */
import { isIP } from 'node:net';
import type { AddressGuard } from '../addresses/address-guard.ts';
import type { Resolver } from '../dns/resolver.ts';

export interface Target {
  url: URL;
  /** Lower-case A-labels without the closing dot, or an IP address without brackets. */
  host: string;
  port: number;
}

export type TargetAddresses =
  | { kind: 'found'; addresses: string[] }
  /** An address that may not be dialled. */
  | { kind: 'refused'; reason: string }
  /** The name has no address. */
  | { kind: 'missing'; reason: string }
  /** The resolver failed: nothing is known of the name. */
  | { kind: 'failed'; reason: string };

const NOT_PUBLIC = 'the host does not lead to a public address';

/** Names that never stand in the public DNS: RFC 6761 section 6.3 (localhost), RFC 6762 section 3 (local). */
const SPECIAL_NAME = /(^|\.)(localhost|local)$/;

/** Reads a URL. `URL` turns other spellings of addresses (`127.1`, octal, full-width digits) into the usual one. */
export function parseTarget(text: string): Target | { refused: string } {
  const url = URL.parse(text);
  if (url === null) return { refused: 'not a valid URL' };
  if (url.protocol !== 'https:') return { refused: 'the URL must begin with https://' };
  if (url.username !== '' || url.password !== '') {
    return { refused: 'the URL must not carry a user name or password' };
  }
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
  if (host === '' || SPECIAL_NAME.test(host)) return { refused: NOT_PUBLIC };
  return { url, host, port: url.port === '' ? 443 : Number(url.port) };
}

/** All addresses of `host`, each of them checked. IPv4 first: a host without IPv6 routes loses no time. */
export async function findAddresses(
  host: string,
  resolver: Pick<Resolver, 'a' | 'aaaa'>,
  guard: AddressGuard,
): Promise<TargetAddresses> {
  if (isIP(host) !== 0) return checked([host], guard);
  const answers = await Promise.all([resolver.a(host), resolver.aaaa(host)]);
  const addresses = answers.flatMap((answer) => (answer.kind === 'found' ? answer.records : []));
  if (addresses.length > 0) return checked(addresses, guard);
  if (answers.some((answer) => answer.kind === 'failed')) {
    return { kind: 'failed', reason: 'the host name could not be resolved' };
  }
  return { kind: 'missing', reason: 'the host name does not exist or has no address' };
}

function checked(addresses: string[], guard: AddressGuard): TargetAddresses {
  return addresses.every((address) => guard.allows(address))
    ? { kind: 'found', addresses }
    : { kind: 'refused', reason: NOT_PUBLIC };
}
