/**
 * The host check's questions about the machine's identity: host name, addresses, reverse DNS, SPF, return path.
 *
 * Receivers compare the name in EHLO, the address that connects and its reverse DNS (RFC 1912 section 2.1);
 * Gmail and Microsoft refuse mail from an address without a matching pair. Asks DNS only; never throws.
 */
import { networkInterfaces } from 'node:os';

import { isSameAddress } from '../wire/addresses/networks.ts';
import { isPublicAddress } from '../wire/addresses/public-address.ts';
import { findHosts } from '../wire/dns/mx.ts';
import { checkSpf } from '../wire/dns/spf.ts';
import { describe } from './resolver.ts';
import { type DoctorContext, type Finding, finding, isDirect, ok } from './finding.ts';

export interface Identity {
  findings: Finding[];
  /** The public addresses that receivers will see. */
  addresses: string[];
}

export async function examineIdentity(ctx: DoctorContext): Promise<Identity> {
  const { hostname } = ctx.config.startup;
  const named = await namedAddresses(ctx);
  const addresses = sendingAddresses(ctx, named.addresses);
  const findings: Finding[] = [];
  findings.push(nameFinding(hostname, named));
  if (!isDirect(ctx.config)) return { findings, addresses };
  if (addresses.length === 0) {
    findings.push(
      finding(
        'addresses',
        'unchecked',
        'The public address of this machine is not known.',
        'If this machine is behind NAT, publish an A record for the host name with the public address, then run doctor again.',
      ),
    );
  }
  for (const address of addresses) findings.push(await reverseFinding(ctx, address));
  findings.push(
    ...(await spfFindings(ctx, addresses)),
    await returnPathFinding(ctx, named.addresses),
  );
  return { findings, addresses };
}

interface Named {
  addresses: string[];
  /** What went wrong, when no address was found. */
  problem: string | null;
  isUnchecked: boolean;
}

async function namedAddresses(ctx: DoctorContext): Promise<Named> {
  const { hostname } = ctx.config.startup;
  const answers = await Promise.all([ctx.resolver.a(hostname), ctx.resolver.aaaa(hostname)]);
  const addresses = answers.flatMap((answer) => (answer.kind === 'found' ? answer.records : []));
  const failed = answers.find((answer) => answer.kind === 'failed');
  const told = failed ?? answers[0];
  const problem = addresses.length > 0 ? null : describe(told);
  return { addresses, problem, isUnchecked: problem !== null && failed !== undefined };
}

function nameFinding(hostname: string, named: Named): Finding {
  if (named.problem === null) {
    return ok('hostname', `${hostname} has the address ${named.addresses.join(', ')}.`);
  }
  const seen = `${hostname} has no address in DNS: ${named.problem}.`;
  return finding(
    'hostname',
    named.isUnchecked ? 'unchecked' : 'error',
    seen,
    `Publish an A record (and AAAA for IPv6) for ${hostname} with this machine's public address. Receivers see this name in EHLO.`,
  );
}

/**
 * The configured source addresses, else the public addresses of the interfaces, else (behind NAT) those of the host
 * name.
 */
function sendingAddresses(ctx: DoctorContext, named: string[]): string[] {
  const configured = ctx.config.startup.delivery.sourceAddresses.filter(isPublicAddress);
  if (configured.length > 0) return configured;
  const local = Object.values(networkInterfaces())
    .flatMap((entries) => entries ?? [])
    .map((entry) => entry.address)
    .filter(isPublicAddress);
  return local.length > 0 ? [...new Set(local)] : named;
}

async function reverseFinding(ctx: DoctorContext, address: string): Promise<Finding> {
  const { hostname } = ctx.config.startup;
  const check = address.includes(':') ? 'reverse_dns_ipv6' : 'reverse_dns_ipv4';
  const answer = await ctx.resolver.ptr(address);
  const advice = `Set the reverse DNS (PTR) of ${address} to ${hostname} in your provider's control panel, and keep an address record of ${hostname} with ${address}.`;
  if (answer.kind === 'failed') {
    return finding(
      check,
      'unchecked',
      `The reverse DNS of ${address} could not be looked up: ${answer.reason}.`,
      advice,
    );
  }
  if (answer.kind !== 'found') {
    const seen = `${address} has no reverse DNS, so large receivers refuse mail from it.`;
    return finding(check, 'error', seen, ipv6Advice(address, advice));
  }
  const confirmed = await Promise.all(
    answer.records.map(async (name) => ((await leadsTo(ctx, name, address)) ? name : null)),
  );
  const names = confirmed.filter((name) => name !== null);
  if (names.includes(hostname)) {
    return ok(check, `${address} and ${hostname} name each other in DNS.`);
  }
  if (names.length > 0) {
    const seen = `The reverse DNS of ${address} is ${names[0]}, not ${hostname}.`;
    return finding(check, 'warning', seen, advice);
  }
  const seen = `The reverse DNS of ${address} is ${answer.records[0]}, but that name does not have this address.`;
  return finding(check, 'error', seen, ipv6Advice(address, advice));
}

function ipv6Advice(address: string, advice: string): string {
  return address.includes(':') ? `${advice} Until then, mail leaves over IPv4 only.` : advice;
}

async function leadsTo(ctx: DoctorContext, name: string, address: string): Promise<boolean> {
  const answer = address.includes(':') ? await ctx.resolver.aaaa(name) : await ctx.resolver.a(name);
  return answer.kind === 'found' && answer.records.some((record) => isSameAddress(record, address));
}

async function spfFindings(ctx: DoctorContext, addresses: string[]): Promise<Finding[]> {
  const { hostname, cluster } = ctx.config.startup;
  const { name } = cluster;
  return Promise.all(
    addresses.map(async (address): Promise<Finding> => {
      const result = await checkSpf(ctx.resolver, name, address, hostname);
      if (result === 'pass') return ok('host_spf', `The SPF record of ${name} allows ${address}.`);
      const mechanism = address.includes(':') ? 'ip6' : 'ip4';
      return finding(
        'host_spf',
        result === 'temperror' ? 'unchecked' : 'error',
        `The SPF check of ${name} gives ${result} for ${address}.`,
        `Publish a TXT record at ${name}: "v=spf1 ${mechanism}:${address} -all" (one record with all addresses). The customers' return paths are aliases of this name, so its SPF record applies to every message.`,
      );
    }),
  );
}

/** `named`: the addresses of `hostname`. */
async function returnPathFinding(ctx: DoctorContext, named: string[]): Promise<Finding> {
  const { hostname, cluster, smtp } = ctx.config.startup;
  const { name } = cluster;
  if (smtp.inbound === null) {
    return finding(
      'return_path',
      'warning',
      'Bounce and complaint reports cannot arrive, because [smtp] inbound is off.',
      `Set inbound = "0.0.0.0:25" under [smtp] and open incoming port 25, so that late bounces become events. ${name} must lead to this machine, by its address or by an MX record.`,
    );
  }
  if (named.length === 0) {
    return finding(
      'return_path',
      'error',
      `Reports are sent to ${hostname}, which has no address in DNS.`,
      `Publish an address record for ${hostname}.`,
    );
  }
  const problem = name === hostname ? null : await sharedNameProblem(ctx, named);
  if (problem !== null) return problem;
  return ok('return_path', `Reports arrive at ${name} on port ${smtp.inbound.port}.`);
}

/** Whether mail for `[cluster] name`, which is not this machine's own, comes here too: by MX, else by address. */
async function sharedNameProblem(ctx: DoctorContext, named: string[]): Promise<Finding | null> {
  const { hostname, cluster } = ctx.config.startup;
  const list = await findHosts(ctx.resolver, cluster.name);
  const hosts = list.kind === 'hosts' ? list.hosts : [];
  const isOurs = hosts
    .flatMap(({ addresses }) => addresses)
    .some((address) => named.some((own) => isSameAddress(own, address)));
  if (isOurs) return null;
  return finding(
    'return_path',
    list.kind === 'failed' ? 'unchecked' : 'error',
    list.kind === 'failed'
      ? `The MX record of ${cluster.name} could not be looked up: ${list.reason}.`
      : `Reports are sent to ${cluster.name}, which does not lead to this machine.`,
    `Publish an MX record at ${cluster.name}: "10 ${hostname}".`,
  );
}
