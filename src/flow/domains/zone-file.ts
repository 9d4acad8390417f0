/**
 * A domain's records in the forms in which DNS providers take them: relative to the zone, and as a zone file.
 *
 * Pure text. Promises a file that BIND, Knot and NSD load, and that a long key is split as DNS needs it. The zone is
 * taken to be the organisational domain, which is what a provider's form shows; nobody can see from outside where a
 * zone is really cut.
 */
import { getDomain } from 'tldts';
import type { DnsRecord } from './records.ts';

/** Octets of one string of a TXT record (RFC 1035 section 3.3). */
const MAX_STRING = 255;
const TTL_SECONDS = 3_600;

/** The zone that most likely holds the records of a domain. */
export function zoneOf(domainName: string): string {
  return getDomain(domainName, { allowPrivateDomains: true }) ?? domainName;
}

/** `name` as a form of the zone `zone` takes it: without the zone, `@` for the zone itself. */
export function relativeName(name: string, zone: string): string {
  if (name === zone) return '@';
  return name.endsWith(`.${zone}`) ? name.slice(0, -zone.length - 1) : name;
}

/** The records in the master format (RFC 1035 section 5.1), with full names, for any zone they may be in. */
export function zoneFile(domainName: string, records: readonly DnsRecord[]): string {
  const lines = records.map(
    ({ name, type, value }) =>
      `${name}. ${TTL_SECONDS} IN ${type} ${type === 'CNAME' ? `${value}.` : quoted(value)}`,
  );
  return [`; DNS records of ${domainName} for sending with Postrider`, ...lines, ''].join('\n');
}

/** A TXT value as strings of at most 255 octets; ours are ASCII. */
function quoted(value: string): string {
  const strings: string[] = [];
  for (let at = 0; at < value.length; at += MAX_STRING) {
    strings.push(value.slice(at, at + MAX_STRING).replace(/["\\]/g, String.raw`\$&`));
  }
  return strings.map((text) => `"${text}"`).join(' ');
}
