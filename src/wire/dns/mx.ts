/**
 * Which hosts take mail for a domain (RFC 5321 section 5.1, RFC 7505).
 *
 * Promises that "does not exist" and "could not be asked" stay apart: the first is final, the second is
 * tried again. Bounded: at most MAX_HOSTS hosts and MAX_ADDRESSES addresses each, however many a domain
 * publishes. Never returns an address literal or localhost as a host; whether an address may be dialled
 * at all is for the caller to decide.
 */
import { isIP } from 'node:net';
import type { DnsAnswer, MxRecord, Resolver } from './resolver.ts';

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
  /** The domain says that it takes no mail (RFC 7505). */
  | { kind: 'null_mx' }
  | { kind: 'nxdomain' }
  /** The domain exists, but no host of it can be mailed to. */
  | { kind: 'no_hosts'; reason: string }
  /** DNS did not answer: ask again later. */
  | { kind: 'failed'; reason: string };

/** Large providers publish five; RFC 5321 section 5.1 asks for at least two tries. */
const MAX_HOSTS = 10;
const MAX_ADDRESSES = 8;

const HOST_NAME = /^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$/;

/** Hosts for mail to `domain` (lower-case A-labels), in the order to be tried. Never throws. */
export async function findHosts(resolver: Resolver, domain: string): Promise<HostList> {
  const refusal = refuseHost(domain);
  if (refusal !== null) return { kind: 'no_hosts', reason: refusal };
  const answer = await resolver.mx(domain);
  switch (answer.kind) {
    case 'failed':
      return answer;
    case 'nxdomain':
      return { kind: 'nxdomain' };
    case 'nodata': {
      // RFC 5321 section 5.1: only a domain without any MX is its own host, with preference 0.
      const itself = [{ exchange: domain, preference: 0 }];
      return collect(
        resolver,
        itself,
        answer.isAuthenticated,
        `${domain} has neither MX nor address`,
      );
    }
    case 'found':
      break;
  }
  // RFC 7505 section 3: a lone record for the root. Beside others it is a mistake, and only skipped.
  const real = answer.records.filter((record) => record.exchange !== '');
  if (real.length === 0) return { kind: 'null_mx' };
  const usable = real.filter((record) => refuseHost(record.exchange) === null);
  if (usable.length === 0) {
    const why = refuseHost(real[0]?.exchange ?? '') ?? 'is unusable';
    return { kind: 'no_hosts', reason: `every MX of ${domain} is unusable: ${why}` };
  }
  const hosts = byPreference(usable).slice(0, MAX_HOSTS);
  return collect(resolver, hosts, answer.isAuthenticated, `no MX of ${domain} has an address`);
}

/** Why a name cannot be a mail host, or null. */
function refuseHost(name: string): string | null {
  if (isIP(name) !== 0 || /^\d+(\.\d+){3}$/.test(name)) {
    // RFC 5321 section 5.1: the exchange is a domain name.
    return `"${name}" is an address, not a host name`;
  }
  if (/(^|\.)localhost(\.localdomain)?$/.test(name)) return `"${name}" is the machine itself`;
  return HOST_NAME.test(name) ? null : `"${name}" is not a host name`;
}

/** Ascending; equal preferences in random order, to spread the load (RFC 5321 section 5.1). */
function byPreference(records: readonly MxRecord[]): MxRecord[] {
  const unique = new Map<string, MxRecord>();
  for (const record of records) {
    const known = unique.get(record.exchange);
    if (known === undefined || record.preference < known.preference) {
      unique.set(record.exchange, record);
    }
  }
  return shuffle([...unique.values()]).sort((a, b) => a.preference - b.preference);
}

async function collect(
  resolver: Resolver,
  records: readonly MxRecord[],
  isAuthenticated: boolean,
  noneReason: string,
): Promise<HostList> {
  const looked = await Promise.all(records.map((record) => lookUp(resolver, record)));
  const hosts = looked.flatMap(({ host }) => (host.addresses.length > 0 ? [host] : []));
  if (hosts.length > 0) return { kind: 'hosts', hosts, isAuthenticated };
  const failure = looked.find(({ failure }) => failure !== null)?.failure;
  return failure === undefined || failure === null
    ? { kind: 'no_hosts', reason: noneReason }
    : { kind: 'failed', reason: failure };
}

async function lookUp(
  resolver: Resolver,
  record: MxRecord,
): Promise<{ host: MailHost; failure: string | null }> {
  const name = record.exchange;
  const [v4, v6] = await Promise.all([resolver.a(name), resolver.aaaa(name)]);
  const addresses = [...addressesOf(v4), ...addressesOf(v6)];
  const isAuthenticated =
    v4.kind !== 'failed' && v6.kind !== 'failed' && v4.isAuthenticated && v6.isAuthenticated;
  const failed = [v4, v6].find((answer) => answer.kind === 'failed');
  const failure = failed?.kind === 'failed' ? failed.reason : null;
  return { host: { name, preference: record.preference, addresses, isAuthenticated }, failure };
}

function addressesOf(answer: DnsAnswer<string>): string[] {
  return answer.kind === 'found' ? shuffle([...answer.records]).slice(0, MAX_ADDRESSES) : [];
}

/** Fisher and Yates, in place. The order decides load only, so Math.random is good enough. */
function shuffle<T>(list: T[]): T[] {
  for (let i = list.length - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1));
    [list[i], list[j]] = [list[j] as T, list[i] as T];
  }
  return list;
}
