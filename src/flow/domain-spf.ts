/**
 * Whether a return-path host that is not our CNAME serves as well: its own SPF record passes for every
 * address we send from, and its MX leads here.
 *
 * Never throws: a resolver that fails is `unknown`, never `missing`.
 */
import { isPublicAddress } from '../wire/public-address.ts';
import type { Resolver } from '../wire/resolver.ts';
import { checkSpf } from '../wire/spf.ts';
import type { Context } from './context.ts';

export type Finding =
  | { kind: 'found' }
  | { kind: 'missing'; reason: string }
  | { kind: 'unknown'; reason: string };

type SpfContext = Pick<Context, 'config' | 'resolver'>;

/** Judges the SPF record and MX of `host`, whose CNAME is not ours. */
export async function ownSpfServes(ctx: SpfContext, host: string): Promise<Finding> {
  const { config, resolver } = ctx;
  const appliance = await addressesOf(resolver, config.hostname);
  if ('reason' in appliance) return unknown(appliance.reason);
  const sending = config.delivery.sourceAddresses.filter(isPublicAddress);
  // Behind NAT the source addresses are private; the world then sees those of the host name.
  const addresses = sending.length > 0 ? sending : appliance.addresses;
  if (addresses.length === 0) {
    return missing(`no CNAME to ${config.hostname}, and that name has no address to judge SPF by`);
  }
  for (const address of addresses) {
    const result = await checkSpf(ctx.resolver, host, address, config.hostname);
    if (result === 'temperror') return unknown(`the SPF record of ${host} could not be read`);
    if (result !== 'pass') {
      return missing(
        `no CNAME to ${config.hostname}, and the SPF record of ${host} says ${result} for ${address}`,
      );
    }
  }
  return mxLeadsHere(ctx, host, appliance.addresses);
}

async function mxLeadsHere(
  ctx: SpfContext,
  host: string,
  own: readonly string[],
): Promise<Finding> {
  const answer = await ctx.resolver.mx(host);
  if (answer.kind === 'failed') return unknown(answer.reason);
  const exchanges = answer.kind === 'found' ? answer.records.map(({ exchange }) => exchange) : [];
  if (exchanges.includes(ctx.config.hostname)) return { kind: 'found' };
  for (const exchange of exchanges.slice(0, 10)) {
    const found = await addressesOf(ctx.resolver, exchange);
    if ('reason' in found) return unknown(found.reason);
    if (found.addresses.some((address) => own.includes(address))) return { kind: 'found' };
  }
  return missing(`${host} has no CNAME and no MX that leads to ${ctx.config.hostname}`);
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

function missing(reason: string): Finding {
  return { kind: 'missing', reason };
}

function unknown(reason: string): Finding {
  return { kind: 'unknown', reason };
}
