/**
 * Which hosts take mail for a domain (RFC 5321 section 5.1, RFC 7505).
 */
import type { Resolver } from './resolver.ts';

export interface MailHost {
  /** Lower case, without the closing dot. */
  name: string;
  preference: number;
  /** IPv4 first, then IPv6. */
  addresses: string[];
  /** Both address answers were DNSSEC-validated: TLSA may be looked up (RFC 7672 section 2.2.2). */
  isAuthenticated: boolean;
}

export type HostList =
  /** Best first. `isAuthenticated`: the MX records (or their absence) were DNSSEC-validated. */
  | { kind: 'hosts'; hosts: MailHost[]; isAuthenticated: boolean }
  | { kind: 'null_mx' }
  | { kind: 'nxdomain' }
  | { kind: 'no_hosts'; reason: string }
  | { kind: 'failed'; reason: string };

/** Hosts for mail to `domain` (lower-case A-labels), in the order to be tried. Never throws. */
export function findHosts(_resolver: Resolver, _domain: string): Promise<HostList> {
  throw new Error('being written');
}
