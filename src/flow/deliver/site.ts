/**
 * The site for a domain's mail: the first route that matches, else what the delivery mode says.
 *
 * Promises that every address of a site may be dialled: addresses found by DNS are checked against the public internet
 * and `delivery.allow_networks`; addresses that the operator configured are used as they are. Never throws: a domain
 * whose mail cannot go anywhere is an outcome.
 */
import type { Listen, Provider, Smarthost } from '../../base/config.ts';
import { addressesOfHost } from '../../wire/dns/host-addresses.ts';
import type { MtaSts } from '../../wire/tls/mta-sts.ts';
import { findHosts } from '../../wire/dns/mx.ts';
import type { MailHost } from '../../wire/dns/mx.ts';
import { AddressGuard } from '../../wire/addresses/address-guard.ts';
import { parseNetworks } from '../../wire/addresses/networks.ts';
import { planTls } from '../../wire/tls/tls-policy.ts';
import type { Context } from '../context.ts';
import { outcomeWithoutSession } from '../outcome/kinds.ts';
import type { Outcome } from '../outcome/kinds.ts';
import { OTHERS, limitsFor } from '../pacing/provider-limits.ts';
import type { Fallback } from '../pacing/fallback.ts';
import { addressesOf } from './host-address.ts';
import type { DialSettings, HostAddress, SiteHost, Target } from './host-address.ts';
import type { Sources } from './source-address.ts';
import { NO_TLS, policyOf, policyOfDomain } from './tls-policy.ts';

export interface Site {
  /** Domains whose sites have the same key share limits and sessions. */
  key: string;
  /** In the order to be tried. */
  addresses: HostAddress[];
  limits: Provider;
  /** The limits hold for all nodes together, not for each. */
  isShared: boolean;
  /** A smarthost takes mail for others: its 250 is `sent`, not `delivered`. */
  isRelay: boolean;
  /** The recipient's own hosts, found by DNS: a smarthost may replace them. */
  isDirect: boolean;
}

interface Login {
  username: string;
  password: string;
}

export interface SitesOptions {
  ctx: Context;
  /** Where the capture receiver listens; null outside capture mode. */
  captureAt: Listen | null;
  sources: Sources;
  fallback: Fallback;
  mtaSts: Pick<MtaSts, 'policyFor'>;
  dialing: DialSettings;
}

export type SiteResult = { kind: 'site'; site: Site } | { kind: 'none'; outcome: Outcome };

export class Sites {
  readonly #options: SitesOptions;
  readonly #ctx: Context;
  readonly #addressGuard: AddressGuard;

  constructor(options: SitesOptions) {
    this.#options = options;
    this.#ctx = options.ctx;
    this.#addressGuard = new AddressGuard(
      parseNetworks(options.ctx.config.startup.delivery.allowNetworks),
    );
  }

  /** The site for mail to `domain` (lower-case A-labels). */
  async find(domain: string): Promise<SiteResult> {
    const { mode } = this.#ctx.config.startup.delivery;
    const { delivery } = this.#ctx.config.live;
    const route = delivery.routes.find((r) => r.domains.some((d) => isMatch(d, domain)));
    if (route !== undefined) return this.#configured(route.target);
    const { captureAt } = this.#options;
    if (mode === 'capture') {
      return captureAt === null
        ? none('unreached', 'route', 'the capture receiver is not running')
        : this.#capture(captureAt);
    }
    if (mode === 'smarthost') {
      return delivery.smarthost === null
        ? none('impossible', 'route', 'no smarthost is configured')
        : this.#configured(delivery.smarthost);
    }
    const direct = await this.#direct(domain);
    if (direct.kind === 'none') return direct;
    const { fallback } = this.#options;
    const { key } = direct.site;
    if (!fallback.isRelayed(key) || fallback.takeProbe(key)) return direct;
    return (await this.smarthost()) ?? direct;
  }

  /** The smarthost's site, for mail that cannot go directly; null when none is configured. */
  async smarthost(): Promise<SiteResult | null> {
    const { smarthost } = this.#ctx.config.live.delivery;
    return smarthost === null ? null : this.#configured(smarthost);
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
    const admitted = found.hosts
      .map((host) => ({
        ...host,
        addresses: host.addresses.filter((ip) => this.#addressGuard.allows(ip)),
      }))
      .filter((host) => host.addresses.length > 0);
    const best = admitted[0];
    if (best === undefined) {
      const cause = `the mail hosts of ${domain} are not on the public internet`;
      return none('impossible', 'dns', `${cause} (delivery.allow_networks admits none of them)`);
    }
    const names = admitted.filter((h) => h.preference === best.preference).map((h) => h.name);
    const limits = limitsFor(best.name, this.#ctx.config.startup.delivery.providers);
    const key = limits.name === '' ? `mx:${names.toSorted().join(',')}` : `provider:${limits.name}`;
    const { hosts, problem } = await this.#reachable(key, admitted);
    if (hosts.length === 0) return none('unreached', 'route', problem);
    const planned = await this.#planned(domain, hosts, found.isAuthenticated);
    if (planned.hosts.length === 0) return none('unreached', 'policy', planned.problem);
    const site: Site = {
      key,
      addresses: this.#dials(planned.hosts, this.#ctx.config.live.delivery.port, null),
      limits,
      isShared: isShared(limits, false),
      isRelay: false,
      isDirect: true,
    };
    return { kind: 'site', site };
  }

  /** The hosts with the addresses that can be dialled from here, and why others cannot. */
  async #reachable<T extends { addresses: string[] }>(
    key: string,
    hosts: T[],
  ): Promise<{ hosts: (T & { targets: Target[] })[]; problem: string }> {
    const { sources } = this.#options;
    let problem = 'no host has an address';
    const reachable: (T & { targets: Target[] })[] = [];
    for (const host of hosts) {
      const targets: Target[] = [];
      for (const address of host.addresses) {
        const source = await sources.sourceFor(address, key);
        if (source.kind === 'usable') targets.push({ address, from: source.from });
        else problem = `${address} cannot be reached from here: ${source.reason}`;
      }
      if (targets.length > 0) reachable.push({ ...host, targets });
    }
    return { hosts: reachable, problem };
  }

  /** The hosts that the domain's own policy (DANE, MTA-STS) lets have its mail, with the TLS it asks for. */
  async #planned(
    domain: string,
    hosts: (MailHost & { targets: Target[] })[],
    isMxAuthenticated: boolean,
  ): Promise<{ hosts: SiteHost[]; problem: string }> {
    const { resolver, config } = this.#ctx;
    const sts = await this.#options.mtaSts.policyFor(domain);
    const { port } = config.live.delivery;
    let problem = '';
    const usable: SiteHost[] = [];
    for (const { name, preference, targets, isAuthenticated } of hosts) {
      const host = { name, isAuthenticated };
      const plan = await planTls(resolver, sts, host, isMxAuthenticated, port, domain);
      if (plan.kind === 'avoid') problem = plan.reason;
      else usable.push({ name, preference, targets, tls: policyOfDomain(plan.policy) });
    }
    return { hosts: usable, problem };
  }

  async #configured(target: Smarthost): Promise<SiteResult> {
    const addresses = await addressesOfHost(this.#ctx.resolver, target.host);
    if (addresses.kind !== 'found') {
      const reason = addresses.kind === 'failed' ? addresses.reason : 'it has no address';
      return none('unreached', 'dns', `the host ${target.host} of the route: ${reason}`);
    }
    const key = `host:${target.host}:${target.port}`;
    const host = { name: target.host, preference: 0, addresses: addresses.records };
    const { hosts, problem } = await this.#reachable(key, [host]);
    if (hosts.length === 0) return none('unreached', 'route', problem);
    const hasAuth = target.username !== '';
    const auth = hasAuth ? { username: target.username, password: target.password } : null;
    const withTls = hosts.map((h) => ({ ...h, tls: policyOf(target) }));
    const limits = limitsFor(target.host, this.#ctx.config.startup.delivery.providers);
    // A host that requires a login takes mail for others; one that does not is the domain's own.
    const isRelay = hasAuth || target === this.#ctx.config.live.delivery.smarthost;
    const site: Site = {
      key,
      addresses: this.#dials(withTls, target.port, auth),
      limits,
      isShared: isShared(limits, isRelay),
      isRelay,
      isDirect: false,
    };
    return { kind: 'site', site };
  }

  #capture(at: Listen): SiteResult {
    const targets = [{ address: at.host, from: null }];
    const host: SiteHost = { name: 'capture.localhost', preference: 0, targets, tls: NO_TLS };
    const site: Site = {
      key: 'capture',
      addresses: this.#dials([host], at.port, null),
      limits: OTHERS,
      isShared: false,
      isRelay: false,
      isDirect: false,
    };
    return { kind: 'site', site };
  }

  #dials(hosts: SiteHost[], port: number, auth: Login | null): HostAddress[] {
    return addressesOf(hosts, { port, auth }, this.#options.dialing);
  }
}

/** A relay counts what a customer sends; other hosts count what an address sends, and each node has its own. */
function isShared({ scope }: Provider, isRelay: boolean): boolean {
  return scope === null ? isRelay : scope === 'cluster';
}

function none(kind: Outcome['kind'], stage: Outcome['stage'], cause: string): SiteResult {
  return { kind: 'none', outcome: outcomeWithoutSession(kind, stage, cause) };
}

/** `corp.example` is itself, `*.corp.example` everything below it. */
function isMatch(pattern: string, domain: string): boolean {
  return pattern.startsWith('*.') ? domain.endsWith(pattern.slice(1)) : pattern === domain;
}
