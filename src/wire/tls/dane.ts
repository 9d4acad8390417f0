/**
 * DANE for SMTP (RFC 7672): TLSA records, and whether a server's certificates match them.
 *
 * Promises that TLSA records count only where the MX, the addresses and the records themselves were DNSSEC-validated
 * by a resolver on loopback, and that a lookup which fails (a bogus zone gives SERVFAIL) is never read as "no records":
 * the host is tried later. The public CAs play no part.
 */
import { createHash, X509Certificate } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { Resolver, TlsaRecord } from '../dns/resolver.ts';

/** A chain as the server sent it, leaf first. Returns why it is refused, null to accept it. */
export type CheckPeer = (chain: readonly X509Certificate[]) => string | null;

export type DanePlan =
  /** DNS has no usable record: DANE does not apply. */
  | { kind: 'none' }
  /** TLS is required and `checkPeer` decides about the certificate. */
  | { kind: 'verify'; checkPeer: CheckPeer }
  /** Records exist, none is usable: TLS is required, its certificate may be any (RFC 7672 section 2.2). */
  | { kind: 'encrypt' }
  /** The records could not be looked up: this host is tried later (RFC 7672 section 2.1.2). */
  | { kind: 'failed'; reason: string };

/** Certificate usages that SMTP knows (RFC 7672 section 3.1); the PKIX ones, 0 and 1, are unusable. */
const DANE_TA = 2;
const DANE_EE = 3;

/** Digest by matching type (RFC 6698 section 2.1.3); 0 is the whole content. */
const DIGESTS: Readonly<Record<number, { algorithm: string; bytes: number }>> = {
  1: { algorithm: 'sha256', bytes: 32 },
  2: { algorithm: 'sha512', bytes: 64 },
};

/**
 * What DANE asks of one host. `isMxAuthenticated` and `host.isAuthenticated` as findHosts gives them;
 * `domain` is the recipient's, which a certificate under a trust anchor may name as well.
 */
export async function planDane(
  resolver: Pick<Resolver, 'cname' | 'tlsa'>,
  host: { name: string; isAuthenticated: boolean },
  isMxAuthenticated: boolean,
  port: number,
  domain: string,
): Promise<DanePlan> {
  // RFC 7672 section 2.2.1 and 2.1.2: no TLSA lookup at all below an insecure name; some name servers fail on it.
  if (!isMxAuthenticated || !host.isAuthenticated) return { kind: 'none' };
  for (const base of await baseDomains(resolver, host.name)) {
    const answer = await resolver.tlsa(`_${port}._tcp.${base}`);
    if (answer.kind === 'failed') return answer;
    if (answer.kind !== 'found' || !answer.isAuthenticated) continue;
    const usable = answer.records.filter(isUsable);
    if (usable.length === 0) return { kind: 'encrypt' };
    const names = [base, host.name, domain];
    return { kind: 'verify', checkPeer: (chain) => checkChain(usable, names, chain) };
  }
  return { kind: 'none' };
}

/** RFC 7672 section 2.2.2: where the host is a secure alias, the name it leads to comes first. */
async function baseDomains(resolver: Pick<Resolver, 'cname'>, name: string): Promise<string[]> {
  const alias = await resolver.cname(name);
  const target = alias.kind === 'found' && alias.isAuthenticated ? alias.records[0] : undefined;
  return target === undefined ? [name] : [target, name];
}

function isUsable(record: TlsaRecord): boolean {
  const { usage, selector, matchingType, data } = record;
  if ((usage !== DANE_TA && usage !== DANE_EE) || (selector !== 0 && selector !== 1)) return false;
  return matchingType === 0 ? data.length > 0 : DIGESTS[matchingType]?.bytes === data.length;
}

function checkChain(
  records: readonly TlsaRecord[],
  names: readonly string[],
  chain: readonly X509Certificate[],
): string | null {
  const [leaf] = chain;
  if (leaf === undefined) return 'the server sent no certificate';
  // RFC 7672 section 3.1.1: names and dates do not matter when the key itself is published.
  if (records.some((r) => r.usage === DANE_EE && matches(r, leaf))) return null;
  const anchors = records.filter((record) => record.usage === DANE_TA);
  const anchored = anchors.some((record) => isAnchored(record, chain));
  if (!anchored) return 'the certificate matches no TLSA record';
  // RFC 7672 section 3.1.2: below a trust anchor the certificate must name the host, and be in date.
  if (!names.some((name) => leaf.checkHost(name) !== undefined)) {
    return `the certificate under the TLSA trust anchor does not name ${names[0] ?? 'the host'}`;
  }
  return null;
}

/** Whether the chain, each certificate signed by the next, leads to the trust anchor of `record`. */
function isAnchored(record: TlsaRecord, chain: readonly X509Certificate[]): boolean {
  for (const [i, certificate] of chain.entries()) {
    if (!isInDate(certificate) || (i > 0 && !certificate.ca)) return false;
    // The leaf is never its own anchor.
    if (i > 0 && matches(record, certificate)) return true;
    // A trust anchor that the record holds whole need not be sent (RFC 7671 section 5.2.2).
    const outside = anchorKey(record);
    if (outside !== null && isSignedBy(certificate, outside)) return true;
    const issuer = chain[i + 1];
    if (issuer === undefined || !isSignedBy(certificate, issuer.publicKey)) return false;
  }
  return false;
}

/** The content that the selector means: the certificate, or its public key. */
function matches(record: TlsaRecord, certificate: X509Certificate): boolean {
  const content =
    record.selector === 0
      ? certificate.raw
      : certificate.publicKey.export({ type: 'spki', format: 'der' });
  const digest = DIGESTS[record.matchingType];
  const value =
    digest === undefined ? content : createHash(digest.algorithm).update(content).digest();
  return value.equals(record.data);
}

/** The public key of a trust anchor that the record holds as a whole certificate; else null. */
function anchorKey(record: TlsaRecord): KeyObject | null {
  if (record.matchingType !== 0 || record.selector !== 0) return null;
  try {
    const anchor = new X509Certificate(record.data);
    return anchor.ca && isInDate(anchor) ? anchor.publicKey : null;
  } catch {
    return null;
  }
}

function isSignedBy(certificate: X509Certificate, key: KeyObject): boolean {
  try {
    return certificate.verify(key);
  } catch {
    // A key of another kind than the signature.
    return false;
  }
}

function isInDate(certificate: X509Certificate): boolean {
  const now = Date.now();
  return Date.parse(certificate.validFrom) <= now && now <= Date.parse(certificate.validTo);
}
