/**
 * What the appliance asks of DNS, as an interface, so that tests can answer instead.
 *
 * Promises that a query never throws: each end is a value, and `failed` (SERVFAIL, REFUSED, timeout,
 * malformed answer) is never mistaken for "does not exist".
 */

export type DnsAnswer<T> =
  | {
      kind: 'found';
      records: T[];
      /** Seconds the answer may be kept. */
      ttlSeconds: number;
      /** DNSSEC-validated (AD bit), all resolvers being on loopback. */
      isAuthenticated: boolean;
    }
  /** The name exists, but has no such record (RFC 2308 section 2.2). */
  | { kind: 'nodata'; isAuthenticated: boolean }
  /** The name does not exist (RFC 2308 section 2.1). */
  | { kind: 'nxdomain'; isAuthenticated: boolean }
  | { kind: 'failed'; reason: string };

export interface MxRecord {
  /** Lower case, without the closing dot; empty for the root of a null MX (RFC 7505). */
  exchange: string;
  preference: number;
}

/** RFC 6698 section 2.1. */
export interface TlsaRecord {
  usage: number;
  selector: number;
  matchingType: number;
  data: Uint8Array;
}

export interface Resolver {
  mx(name: string): Promise<DnsAnswer<MxRecord>>;
  a(name: string): Promise<DnsAnswer<string>>;
  aaaa(name: string): Promise<DnsAnswer<string>>;
  /** The strings of one record are joined (RFC 7208 section 3.3). */
  txt(name: string): Promise<DnsAnswer<string>>;
  cname(name: string): Promise<DnsAnswer<string>>;
  /** Host names of an IPv4 or IPv6 address. */
  ptr(address: string): Promise<DnsAnswer<string>>;
  tlsa(name: string): Promise<DnsAnswer<TlsaRecord>>;
  /** Forgets the answers for `domain` and every name below it, so that the next question is asked anew. */
  forget?(domain: string): void;
}
