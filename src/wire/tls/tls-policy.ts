/**
 * Which TLS each host that takes a domain's mail needs: by DANE, by MTA-STS, or opportunistic.
 *
 * The story of this folder. `flow/deliver` asks for the policy of each mail host. DANE (`dane.ts`) decides where the
 * domain has validated TLSA records; else MTA-STS (`mta-sts.ts`, `mta-sts-policy.ts`) where the domain announces a
 * policy; else TLS is used where offered. What comes out fits the options of an SMTP session, or says why the host
 * must not be used now. Enforced MTA-STS policies survive a restart; the rest is looked up again.
 *
 * Promises that DANE comes before MTA-STS, which never overrules it (RFC 8461 section 2), and that a host
 * which may not be used is named with the reason instead of being left out silently. Never throws.
 */
import { planDane } from './dane.ts';
import type { CheckPeer } from './dane.ts';
import type { MtaSts } from './mta-sts.ts';
import { allowsMx } from './mta-sts-policy.ts';
import type { StsPolicy } from './mta-sts-policy.ts';
import type { Resolver } from '../dns/resolver.ts';

/** In the form of `SessionOptions.tls`. */
export interface TlsPolicy {
  /** What requires it, for the event. */
  source: 'opportunistic' | 'dane' | 'mta-sts' | 'mta-sts-testing';
  mode: 'opportunistic' | 'required';
  verify: boolean;
  checkPeer?: CheckPeer;
}

export type HostPolicy =
  | { kind: 'use'; policy: TlsPolicy }
  /** This host must not get the mail now: try another one, else later. */
  | { kind: 'avoid'; source: 'dane' | 'mta-sts'; reason: string };

const OPPORTUNISTIC: TlsPolicy = { source: 'opportunistic', mode: 'opportunistic', verify: false };

/**
 * The policy for one host of `domain`. `sts` is `MtaSts.policyFor(domain)`, asked once for all its hosts;
 * `isMxAuthenticated` and the host come from findHosts.
 */
export async function planTls(
  resolver: Pick<Resolver, 'cname' | 'tlsa'>,
  sts: Awaited<ReturnType<MtaSts['policyFor']>>,
  host: { name: string; isAuthenticated: boolean },
  isMxAuthenticated: boolean,
  port: number,
  domain: string,
): Promise<HostPolicy> {
  const dane = await planDane(resolver, host, isMxAuthenticated, port, domain);
  switch (dane.kind) {
    case 'failed':
      return { kind: 'avoid', source: 'dane', reason: `TLSA of ${host.name}: ${dane.reason}` };
    case 'verify':
      return use({ source: 'dane', mode: 'required', verify: false, checkPeer: dane.checkPeer });
    case 'encrypt':
      return use({ source: 'dane', mode: 'required', verify: false });
    case 'none':
      return planSts(sts, host.name, domain);
  }
}

function planSts(sts: StsPolicy | null, host: string, domain: string): HostPolicy {
  if (sts === null || sts.mode === 'none') return use(OPPORTUNISTIC);
  // RFC 8461 section 5: testing changes nothing about delivery.
  if (sts.mode === 'testing') return use({ ...OPPORTUNISTIC, source: 'mta-sts-testing' });
  if (allowsMx(sts, host)) return use({ source: 'mta-sts', mode: 'required', verify: true });
  const reason = `${host} is not in the MTA-STS policy of ${domain}`;
  return { kind: 'avoid', source: 'mta-sts', reason };
}

function use(policy: TlsPolicy): HostPolicy {
  return { kind: 'use', policy };
}
