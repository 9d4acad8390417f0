/**
 * Checks the DNS of one domain: which of its records are published, and whether the published key is ours. The story of
 * this room:
 *
 * A domain comes in by `domains` (add, verify, remove) and is looked up for every send by `lookup`. `records` says what
 * its owner must publish. `checker` finds the domains that are due, and `verify` one that its owner asks about; both
 * ask DNS here (`return-path` for bounces and SPF), and `state` turns what was found into status and next check, which
 * one commit stores. A crash before that commit only repeats the check.
 *
 * Promises to tell "not there" from "could not be asked": SERVFAIL and timeouts are `unknown` and never count as
 * missing. Reads only. Throws when the stored key cannot be opened (another secret key file): a fault for the operator.
 */
import { getDomain } from 'tldts';
import { proveKey } from '../../mail/dkim/proof.ts';
import type { Domain } from '../../store/rows.ts';
import type { Resolver } from '../../wire/dns/resolver.ts';
import type { Context } from '../context.ts';
import { dkimLabel } from '../seal-labels.ts';
import { missing, unknown, type Finding, type Published } from './finding.ts';
import { dkimName, type RecordName } from './records.ts';
import { findReturnPath } from './return-path.ts';

export interface DomainFindings {
  records: Record<RecordName, Finding>;
  /** A message signed with the stored key verifies against the published key. */
  isProven: boolean;
}

type CheckContext = Pick<Context, 'config' | 'resolver' | 'secrets' | 'emulation'>;

const FOUND = { kind: 'found' } as const;
const EMULATED: DomainFindings = {
  records: { DKIM: FOUND, SPF: FOUND, DMARC: FOUND },
  isProven: true,
};

/** Asks DNS for every record of `domain`, all at once. An emulator finds all without asking. */
export async function checkDns(ctx: CheckContext, domain: Domain): Promise<DomainFindings> {
  if (ctx.emulation !== null) return EMULATED;
  const [dmarc, dkim, spf] = await Promise.all([
    findDmarc(ctx.resolver, domain.name),
    findDkim(ctx, domain),
    findReturnPath(ctx, domain.name),
  ]);
  return { records: { DKIM: dkim.finding, SPF: spf, DMARC: dmarc }, isProven: dkim.isProven };
}

async function findDkim(
  ctx: Pick<Context, 'resolver' | 'secrets'>,
  domain: Domain,
): Promise<{ finding: Finding; isProven: boolean }> {
  const name = dkimName(domain);
  const answer = await ctx.resolver.txt(name);
  if (answer.kind === 'failed') return { finding: unknown(answer.reason), isProven: false };
  const published = answer.kind === 'found' ? answer.records : [];
  const finding = compareDkim(name, published, domain.dkimPublicKey);
  if (finding.kind !== 'found') return { finding, isProven: false };
  const privateKeyPem = ctx.secrets.open(domain.sealedDkimKey, dkimLabel(domain.id));
  const identity = { domain: domain.name, selector: domain.selector, privateKeyPem };
  const proof = await proveKey(identity, published);
  return { finding, isProven: proof.isProven };
}

/** Exactly one record, and its `p=` is our key (RFC 6376 section 3.6.2.2: several make results undefined). */
function compareDkim(name: string, published: readonly string[], ours: string): Finding {
  const [record] = published;
  const seen = { at: name, values: published };
  if (record === undefined) return missing(`there is no TXT record at ${name}`, seen);
  if (published.length > 1) {
    return missing(`there are ${published.length} TXT records at ${name}; leave only ours`, seen);
  }
  // White space may be anywhere in the key, and DNS providers wrap it as they like.
  const key = tagOf(record, 'p')?.replace(/\s/g, '');
  if (key === undefined) return missing(`the TXT record at ${name} has no p= tag`, seen);
  if (key !== ours) return missing(`the TXT record at ${name} has another key`, seen);
  return { kind: 'found', published: seen };
}

/** At the domain, else at its organisational domain (RFC 7489 section 6.6.3). */
async function findDmarc(resolver: Resolver, domainName: string): Promise<Finding> {
  const parent = getDomain(domainName, { allowPrivateDomains: true });
  const names = parent === null || parent === domainName ? [domainName] : [domainName, parent];
  let seen: Published = { at: `_dmarc.${domainName}`, values: [] };
  for (const name of names) {
    const at = `_dmarc.${name}`;
    const answer = await resolver.txt(at);
    if (answer.kind === 'failed') return unknown(answer.reason);
    const values = answer.kind === 'found' ? answer.records : [];
    if (hasDmarc(values)) {
      return { kind: 'found', published: { at, values: values.filter(isDmarc) } };
    }
    if (seen.values.length === 0 && values.length > 0) seen = { at, values };
  }
  return missing(`there is no valid DMARC record at _dmarc.${domainName}`, seen);
}

function isDmarc(text: string): boolean {
  return /^v\s*=\s*DMARC1\s*(;|$)/.test(text);
}

/** One record that begins with `v=DMARC1` and has a policy; several are as none (RFC 7489 section 6.6.3). */
function hasDmarc(texts: readonly string[]): boolean {
  const records = texts.filter(isDmarc);
  const policy = records.length === 1 ? tagOf(records[0] ?? '', 'p') : undefined;
  return policy !== undefined && /^(none|quarantine|reject)$/i.test(policy);
}

/** The value of a tag in a `tag=value; …` list (RFC 6376 section 3.2). */
export function tagOf(record: string, name: string): string | undefined {
  for (const part of record.split(';')) {
    const equals = part.indexOf('=');
    if (equals > 0 && part.slice(0, equals).trim() === name) return part.slice(equals + 1).trim();
  }
  return undefined;
}
