/**
 * Whether a return-path host that is not our CNAME serves as well: its own SPF record passes for every
 * address we send from, and its MX leads here.
 *
 * SPF itself is mailauth's (RFC 7208 section 4), fed by our resolver. Never throws: a resolver that
 * fails is `unknown`, never `missing`.
 */
import { isPublicAddress } from '../wire/public-address.ts';
import type { DnsAnswer, Resolver } from '../wire/resolver.ts';
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
    return unknown(`${config.hostname} has no address yet, so SPF can not be judged`);
  }
  for (const address of addresses) {
    const result = await spfResult(ctx, host, address);
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

/** `pass`, `fail`, `softfail`, `neutral`, `none`, `permerror` or `temperror` (RFC 7208 section 2.6). */
async function spfResult(ctx: SpfContext, host: string, ip: string): Promise<string> {
  const { spf } = await import('mailauth/lib/spf/index.js');
  const { status } = await spf({
    sender: `postmaster@${host}`,
    ip,
    helo: ctx.config.hostname,
    mta: ctx.config.hostname,
    strict: true,
    // mailauth's types leave out that MX answers are objects.
    resolver: (name, type) => lookup(ctx.resolver, name, type) as Promise<string[]>,
  });
  return status.result;
}

/** Answers in the shape of node:dns, which mailauth expects; failures as errors with its codes. */
async function lookup(resolver: Resolver, name: string, type: string): Promise<unknown[]> {
  switch (type) {
    case 'TXT':
      return records(await resolver.txt(name)).map((text) => [text]);
    case 'A':
      return records(await resolver.a(name));
    case 'AAAA':
      return records(await resolver.aaaa(name));
    case 'MX':
      return records(await resolver.mx(name)).map(({ exchange, preference }) => ({
        exchange,
        priority: preference,
      }));
    default:
      // PTR is asked by reverse name; `ptr` terms are deprecated (RFC 7208 section 5.5) and never match here.
      throw Object.assign(new Error(`${type} is not asked`), { code: 'ENOTFOUND' });
  }
}

function records<T>(answer: DnsAnswer<T>): T[] {
  switch (answer.kind) {
    case 'found':
      return answer.records;
    case 'nodata':
      throw Object.assign(new Error('no data'), { code: 'ENODATA' });
    case 'nxdomain':
      throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' });
    case 'failed':
      throw Object.assign(new Error(answer.reason), { code: 'ESERVFAIL' });
  }
}

function missing(reason: string): Finding {
  return { kind: 'missing', reason };
}

function unknown(reason: string): Finding {
  return { kind: 'unknown', reason };
}
