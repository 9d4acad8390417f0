/**
 * Whether the return path of a domain works: bounces reach the appliance, and SPF passes for its addresses.
 *
 * Either the return-path host is a CNAME to the service or to this machine, or its own SPF record passes for every
 * address that mail is sent from and its MX is the appliance. Never throws: a resolver that fails is `unknown`, never
 * `missing`.
 */
import { ownNames } from '../../base/config.ts';
import type { Startup } from '../../base/config.ts';
import { isPublicAddress } from '../../wire/addresses/public-address.ts';
import type { Resolver } from '../../wire/dns/resolver.ts';
import { checkSpf } from '../../wire/dns/spf.ts';
import type { Context } from '../context.ts';
import { missing, unknown, type Finding } from './finding.ts';
import { returnPathHost } from './records.ts';

type ReturnPathContext = Pick<Context, 'config' | 'resolver'>;

/** Asks DNS about the return-path host of `domainName`. */
export async function findReturnPath(
  { config, resolver }: ReturnPathContext,
  domainName: string,
): Promise<Finding> {
  const { hostname, delivery } = config.startup;
  const host = returnPathHost(domainName);
  const answer = await resolver.cname(host);
  if (answer.kind === 'failed') return unknown(answer.reason);
  const targets = answer.kind === 'found' ? answer.records : [];
  const published = { at: host, values: targets };
  const names = ownNames(config.startup);
  if (targets.some((target) => names.includes(target))) return { kind: 'found', published };
  if (answer.kind === 'nxdomain') return missing(`there is no CNAME record at ${host}`, published);
  const appliance = await addressesOf(resolver, hostname);
  if ('reason' in appliance) return unknown(appliance.reason);
  const sending = delivery.sourceAddresses.filter(isPublicAddress);
  // Behind NAT the source addresses are private; receivers then see those of the host name.
  const addresses = sending.length > 0 ? sending : appliance.addresses;
  const spf = await ownSpfPasses(resolver, host, config.startup, addresses);
  const finding =
    spf.kind === 'found' ? await mxIsOurs(resolver, host, names, appliance.addresses) : spf;
  if (finding.kind === 'unknown') return finding;
  // A CNAME is all that a name can have (RFC 1034 section 3.6.2).
  const values = targets.length > 0 ? targets : await ownRecords(resolver, host);
  return { ...finding, published: { at: host, values } };
}

/** What the host has in place of the CNAME: its SPF and MX records. */
async function ownRecords(resolver: Resolver, host: string): Promise<string[]> {
  const [txt, mx] = await Promise.all([resolver.txt(host), resolver.mx(host)]);
  const spf = txt.kind === 'found' ? txt.records.filter((text) => /^v=spf1\b/i.test(text)) : [];
  return [
    ...spf.map((text) => `TXT ${text}`),
    ...(mx.kind === 'found' ? mx.records : []).map((one) => `MX ${one.preference} ${one.exchange}`),
  ];
}

async function ownSpfPasses(
  resolver: Resolver,
  host: string,
  { cluster, hostname }: Pick<Startup, 'cluster' | 'hostname'>,
  addresses: readonly string[],
): Promise<Finding> {
  if (addresses.length === 0) {
    return missing(`no CNAME to ${cluster.name}, and ${hostname} has no address to check SPF with`);
  }
  for (const address of addresses) {
    const result = await checkSpf(resolver, host, address, hostname);
    if (result === 'temperror') return unknown(`the SPF record of ${host} could not be read`);
    if (result !== 'pass') {
      return missing(
        `no CNAME to ${cluster.name}, and the SPF record of ${host} says ${result} for ${address}`,
      );
    }
  }
  return { kind: 'found' };
}

/**
 * `names`: the appliance's, the service's first. `own`: the addresses of `hostname`; an MX with one of them is the
 * appliance under another name.
 */
async function mxIsOurs(
  resolver: Resolver,
  host: string,
  names: readonly string[],
  own: readonly string[],
): Promise<Finding> {
  const answer = await resolver.mx(host);
  if (answer.kind === 'failed') return unknown(answer.reason);
  const exchanges = answer.kind === 'found' ? answer.records.map(({ exchange }) => exchange) : [];
  if (exchanges.some((exchange) => names.includes(exchange))) return { kind: 'found' };
  for (const exchange of exchanges.slice(0, 10)) {
    const found = await addressesOf(resolver, exchange);
    if ('reason' in found) return unknown(found.reason);
    if (found.addresses.some((address) => own.includes(address))) return { kind: 'found' };
  }
  return missing(`${host} has no CNAME and no MX that leads to ${names[0]}`);
}

async function addressesOf(
  resolver: Resolver,
  name: string,
): Promise<{ addresses: string[] } | { reason: string }> {
  const answers = await Promise.all([resolver.a(name), resolver.aaaa(name)]);
  const failed = answers.find((answer) => answer.kind === 'failed');
  if (failed !== undefined) return { reason: failed.reason };
  return {
    addresses: answers.flatMap((answer) => (answer.kind === 'found' ? answer.records : [])),
  };
}
