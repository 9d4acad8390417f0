/**
 * Where mail for a domain goes: the first route that matches, else what the mode says.
 *
 * Promises that every address of a site may be dialled: those found by DNS are checked against the
 * public internet and `delivery.allow_networks`, those named by the operator are his decision. Never
 * throws; a domain without a place to go is an outcome.
 */
import { isIP } from 'node:net';
import type { Smarthost } from '../base/config.ts';
import type { Listen } from '../base/config.ts';
import { findHosts } from '../wire/mx.ts';
import { isAllowed, parseNetworks } from '../wire/public-address.ts';
import type { Networks } from '../wire/public-address.ts';
import type { DnsAnswer } from '../wire/resolver.ts';
import type { Context } from './context.ts';
import { outcomeWithoutSession } from './outcome-kinds.ts';
import type { Outcome } from './outcome-kinds.ts';

export interface SiteHost {
  name: string;
  preference: number;
  addresses: string[];
}

export interface Site {
  /** Same key, same place: what shares limits and sessions. */
  key: string;
  hosts: SiteHost[];
  port: number;
  tls: 'required' | 'opportunistic' | 'none' | 'implicit';
  auth: { username: string; password: string } | null;
  /** A smarthost takes mail for others: its 250 is `sent`, not `delivered`. */
  isRelay: boolean;
}

export type SiteResult = { kind: 'site'; site: Site } | { kind: 'none'; outcome: Outcome };

export class Sites {
  readonly #ctx: Context;
  readonly #captureAt: Listen | null;
  readonly #admitted: Networks;

  /** `captureAt`: where the capture receiver listens; null outside capture mode. */
  constructor(ctx: Context, captureAt: Listen | null) {
    this.#ctx = ctx;
    this.#captureAt = captureAt;
    this.#admitted = parseNetworks(ctx.config.delivery.allowNetworks);
  }

  /** The site for mail to `domain` (lower-case A-labels). */
  async find(domain: string): Promise<SiteResult> {
    const { delivery } = this.#ctx.config;
    const route = delivery.routes.find((r) => r.domains.some((d) => isMatch(d, domain)));
    if (route !== undefined) return this.#configured(route.target);
    if (delivery.mode === 'capture' && this.#captureAt !== null) return capture(this.#captureAt);
    if (delivery.mode === 'smarthost') {
      return delivery.smarthost === null
        ? none('impossible', 'route', 'no smarthost is configured')
        : this.#configured(delivery.smarthost);
    }
    return this.#direct(domain);
  }

  async #direct(domain: string): Promise<SiteResult> {
    const found = await findHosts(this.#ctx.resolver, domain);
    switch (found.kind) {
      case 'null_mx':
        return none('null_mx', 'dns', `${domain} takes no mail (null MX)`);
      case 'nxdomain':
        return none('impossible', 'dns', `the domain ${domain} does not exist`);
      case 'no_hosts':
        return none('impossible', 'dns', `${domain} has no mail host: ${found.reason}`);
      case 'failed':
        return none('unreached', 'dns', `DNS for ${domain} did not answer: ${found.reason}`);
      case 'hosts':
        break;
    }
    const hosts: SiteHost[] = [];
    for (const host of found.hosts) {
      const addresses = host.addresses.filter((ip) => isAllowed(ip, this.#admitted));
      if (addresses.length > 0) {
        hosts.push({ name: host.name, preference: host.preference, addresses });
      }
    }
    const best = hosts[0];
    if (best === undefined) {
      const cause = `the mail hosts of ${domain} are not on the public internet`;
      return none('impossible', 'dns', `${cause} (delivery.allow_networks admits none of them)`);
    }
    const names = hosts.filter((h) => h.preference === best.preference).map((h) => h.name);
    const site: Site = {
      key: `mx:${names.toSorted().join(',')}`,
      hosts,
      port: this.#ctx.config.delivery.port,
      tls: 'opportunistic',
      auth: null,
      isRelay: false,
    };
    return { kind: 'site', site };
  }

  async #configured(target: Smarthost): Promise<SiteResult> {
    const addresses = await this.#addressesOf(target.host);
    if (addresses.kind !== 'found') {
      const reason = addresses.kind === 'failed' ? addresses.reason : 'it has no address';
      return none('unreached', 'dns', `the host ${target.host} of the route: ${reason}`);
    }
    const hasAuth = target.username !== '';
    const site: Site = {
      key: `host:${target.host}:${target.port}`,
      hosts: [{ name: target.host, preference: 0, addresses: addresses.records }],
      port: target.port,
      // RFC 8314 section 3.3: 465 is TLS from the first byte.
      tls: target.port === 465 && target.tls !== 'none' ? 'implicit' : target.tls,
      auth: hasAuth ? { username: target.username, password: target.password } : null,
      // A host that wants a login takes mail for others; one that does not is the domain's own.
      isRelay: hasAuth || target === this.#ctx.config.delivery.smarthost,
    };
    return { kind: 'site', site };
  }

  async #addressesOf(host: string): Promise<DnsAnswer<string>> {
    if (isIP(host) !== 0) {
      return { kind: 'found', records: [host], ttlSeconds: 0, isAuthenticated: false };
    }
    const [a, aaaa] = await Promise.all([
      this.#ctx.resolver.a(host),
      this.#ctx.resolver.aaaa(host),
    ]);
    if (a.kind !== 'found') return aaaa.kind === 'found' ? aaaa : a;
    if (aaaa.kind !== 'found') return a;
    return { ...a, records: [...a.records, ...aaaa.records] };
  }
}

function capture(at: Listen): SiteResult {
  const site: Site = {
    key: 'capture',
    hosts: [{ name: 'capture.localhost', preference: 0, addresses: [at.host] }],
    port: at.port,
    tls: 'none',
    auth: null,
    isRelay: false,
  };
  return { kind: 'site', site };
}

function none(kind: Outcome['kind'], stage: Outcome['stage'], cause: string): SiteResult {
  return { kind: 'none', outcome: outcomeWithoutSession(kind, stage, cause) };
}

/** `corp.example` is itself, `*.corp.example` everything below it. */
function isMatch(pattern: string, domain: string): boolean {
  return pattern.startsWith('*.') ? domain.endsWith(pattern.slice(1)) : pattern === domain;
}
