/**
 * One look at a domain's DNS: which of its records stand, and whether the published key is ours.
 *
 * Promises to tell "not there" from "could not be asked": SERVFAIL and timeouts are `unknown` and never
 * count as missing. Reads only; the caller decides what follows. Throws when the stored key can not be
 * opened (another secret key file): a fault for the operator.
 */
import { getDomain } from 'tldts';
import { proveKey } from '../mail/dkim-proof.ts';
import type { Domain } from '../store/rows.ts';
import type { DnsAnswer } from '../wire/resolver.ts';
import type { Context } from './context.ts';
import { dkimName, returnPathHost, type RecordName } from './domain-records.ts';
import { ownSpfServes, type Finding } from './domain-spf.ts';

export interface DomainFindings {
  records: Record<RecordName, Finding>;
  /** A message signed with the stored key verifies against the published key. */
  isProven: boolean;
}

type CheckContext = Pick<Context, 'config' | 'resolver' | 'secrets'>;

/** The label that binds a sealed DKIM key to its domain row. */
export function dkimLabel(domainId: string): string {
  return `dkim:${domainId}`;
}

/** Asks DNS for every record of `domain`, all at once. */
export async function lookAt(ctx: CheckContext, domain: Domain): Promise<DomainFindings> {
  const [dkim, spf, dmarc] = await Promise.all([
    findDkim(ctx, domain),
    findReturnPath(ctx, domain.name),
    findDmarc(ctx, domain.name),
  ]);
  return { records: { DKIM: dkim.finding, SPF: spf, DMARC: dmarc }, isProven: dkim.isProven };
}

async function findDkim(
  ctx: CheckContext,
  domain: Domain,
): Promise<{ finding: Finding; isProven: boolean }> {
  const name = dkimName(domain);
  const answer = await ctx.resolver.txt(name);
  if (answer.kind === 'failed') return { finding: unknown(answer.reason), isProven: false };
  const published = answer.kind === 'found' ? answer.records : [];
  const finding = judgeDkim(name, published, domain.dkimPublicKey);
  if (finding.kind !== 'found') return { finding, isProven: false };
  const privateKeyPem = ctx.secrets.open(domain.sealedDkimKey, dkimLabel(domain.id));
  const identity = { domain: domain.name, selector: domain.selector, privateKeyPem };
  const proof = await proveKey(identity, published);
  return { finding, isProven: proof.isProven };
}

/** Exactly one record, and its `p=` is our key (RFC 6376 section 3.6.2.2: several make results undefined). */
function judgeDkim(name: string, published: readonly string[], ours: string): Finding {
  const [record] = published;
  if (record === undefined) return missing(`there is no TXT record at ${name}`);
  if (published.length > 1) {
    return missing(`there are ${published.length} TXT records at ${name}; leave only ours`);
  }
  // White space may stand anywhere in the key, and providers break it as they like.
  const key = tagOf(record, 'p')?.replace(/\s/g, '');
  if (key === undefined) return missing(`the TXT record at ${name} has no p= tag`);
  return key === ours ? { kind: 'found' } : missing(`the TXT record at ${name} has another key`);
}

async function findReturnPath(ctx: CheckContext, domainName: string): Promise<Finding> {
  const host = returnPathHost(domainName);
  const answer = await ctx.resolver.cname(host);
  if (answer.kind === 'failed') return unknown(answer.reason);
  if (answer.kind === 'found' && answer.records.includes(ctx.config.hostname)) {
    return { kind: 'found' };
  }
  if (answer.kind === 'nxdomain') return missing(`there is no CNAME record at ${host}`);
  return ownSpfServes(ctx, host);
}

/** At the domain, else at its organisational domain (RFC 7489 section 6.6.3). */
async function findDmarc(ctx: CheckContext, domainName: string): Promise<Finding> {
  const parent = getDomain(domainName, { allowPrivateDomains: true });
  const names = parent === null || parent === domainName ? [domainName] : [domainName, parent];
  for (const name of names) {
    const answer = await ctx.resolver.txt(`_dmarc.${name}`);
    if (answer.kind === 'failed') return unknown(answer.reason);
    if (hasDmarc(answer)) return { kind: 'found' };
  }
  return missing(`there is no valid DMARC record at _dmarc.${domainName}`);
}

/** One record that begins with `v=DMARC1` and has a policy; several are as none (RFC 7489 section 6.6.3). */
function hasDmarc(answer: DnsAnswer<string>): boolean {
  const texts = answer.kind === 'found' ? answer.records : [];
  const records = texts.filter((text) => /^v\s*=\s*DMARC1\s*(;|$)/.test(text));
  const policy = records.length === 1 ? tagOf(records[0] ?? '', 'p') : undefined;
  return policy !== undefined && /^(none|quarantine|reject)$/i.test(policy);
}

/** The value of a tag in a `tag=value; …` list (RFC 6376 section 3.2). */
function tagOf(record: string, name: string): string | undefined {
  for (const part of record.split(';')) {
    const equals = part.indexOf('=');
    if (equals > 0 && part.slice(0, equals).trim() === name) return part.slice(equals + 1).trim();
  }
  return undefined;
}

function missing(reason: string): Finding {
  return { kind: 'missing', reason };
}

function unknown(reason: string): Finding {
  return { kind: 'unknown', reason };
}
