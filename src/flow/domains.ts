/**
 * Sending domains of an account: added, verified, removed.
 *
 * Promises that each domain row has a DKIM key and selector of its own, so that two accounts may add
 * one domain and only DNS decides. The private key leaves this process sealed only. A removed domain
 * stops new sends at once; what was accepted before is still signed with its key.
 */
import { randomBytes } from 'node:crypto';
import { parse } from 'tldts';
import { ApiError, validationFailed } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import { makeAddress } from '../mail/address.ts';
import { generateDkimKey } from '../mail/dkim.ts';
import type { Account, Domain } from '../store/rows.ts';
import type { Context } from './context.ts';
import { dkimLabel, lookAt } from './domain-check.ts';
import { forgetDomains } from './domain-lookup.ts';
import { allRecords, type DnsRecord } from './domain-records.ts';
import { afterCheck } from './domain-state.ts';
import { planOf } from './plans.ts';

/** When a new domain is first looked at by itself. */
const FIRST_CHECK_MS = 60_000;

/**
 * Adds a domain to an account and makes its key. `name` any spelling; a public suffix, an IP address
 * and the appliance's own host name are refused. Throws ApiError `validation_failed`, `conflict`,
 * `forbidden` (more domains than the plan has).
 */
export async function addDomain(
  ctx: Pick<Context, 'config' | 'clock' | 'store' | 'secrets'>,
  account: Account,
  name: string,
): Promise<Domain> {
  const asciiName = domainName(name, ctx.config.hostname);
  const { maxDomains } = planOf(ctx.config, account);
  // The key costs a tenth of a second of a core; a refusal that is certain already comes first.
  await refuseKnown(ctx, account, asciiName, maxDomains);
  const key = await generateDkimKey();
  const now = ctx.clock.now();
  const id = newId(now);
  const domain: Domain = {
    id,
    accountId: account.id,
    name: asciiName,
    status: 'pending',
    selector: `pr${randomBytes(4).toString('hex')}`,
    dkimPublicKey: key.publicKeyBase64,
    sealedDkimKey: ctx.secrets.seal(key.privateKeyPem, dkimLabel(id)),
    recordStates: { DKIM: 'not_started', SPF: 'not_started', DMARC: 'not_started' },
    createdAt: now,
    verifiedAt: null,
    lastCheckedAt: null,
    nextCheckAt: now + FIRST_CHECK_MS,
    failingSince: null,
    pendingSince: now,
    deletedAt: null,
  };
  const result = await ctx.store.createDomain(domain, maxDomains);
  forgetDomains(ctx);
  if (result === 'exists') throw nameTaken(asciiName);
  if (result === 'too_many') throw tooMany(maxDomains);
  return domain;
}

/** Interface, DomainVerify, in the flow's words. */
export interface DomainVerification {
  /** As stored after this check. */
  domain: Domain;
  /** Every required record was found now. */
  isDnsReady: boolean;
  /** `ses_verified`: a message signed with the stored key verifies against the published one. */
  isProven: boolean;
  /** All three records; `reason` says what is wrong with one that was not found. */
  records: (DnsRecord & { found: boolean; reason: string | null })[];
}

/**
 * Checks a domain's DNS now and stores what it found; revives a failed domain. Throws ApiError
 * `not_found`, and `provider_error` (502) when DNS could not be asked for a required record.
 */
export async function verifyDomain(
  ctx: Context,
  accountId: string,
  id: string,
): Promise<DomainVerification> {
  const domain = await domainOf(ctx, accountId, id);
  // Whoever asks has just changed something: an answer from before would only make him wait.
  ctx.resolver.forget?.(domain.name);
  const findings = await lookAt(ctx, domain);
  const failed = [findings.records.DKIM, findings.records.SPF].find(
    ({ kind }) => kind === 'unknown',
  );
  if (failed?.kind === 'unknown') {
    throw new ApiError(
      'provider_error',
      `DNS could not be asked about ${domain.name} (${failed.reason}); try again shortly.`,
    );
  }
  const check = afterCheck(domain, findings, ctx.clock.now(), true);
  await ctx.store.finishDomainCheck(check);
  forgetDomains(ctx);
  const { id: _, now, ...changes } = check;
  const checked: Domain = { ...domain, ...changes, lastCheckedAt: now };
  const { records } = findings;
  return {
    domain: checked,
    isDnsReady: records.DKIM.kind === 'found' && records.SPF.kind === 'found',
    isProven: findings.isProven,
    records: allRecords(ctx, checked).map((row) => {
      const finding = records[row.record];
      const reason = finding.kind === 'found' ? null : finding.reason;
      return { ...row, found: finding.kind === 'found', reason };
    }),
  };
}

/** Removes a domain. Throws ApiError `not_found`. */
export async function removeDomain(
  ctx: Pick<Context, 'store' | 'clock'>,
  accountId: string,
  id: string,
): Promise<void> {
  const isFound = await ctx.store.deleteDomain(accountId, id, ctx.clock.now());
  forgetDomains(ctx);
  if (!isFound) throw noSuchDomain();
}

/** One domain of an account. Throws ApiError `not_found`. */
export async function domainOf(
  ctx: Pick<Context, 'store'>,
  accountId: string,
  id: string,
): Promise<Domain> {
  const domain = await ctx.store.domain(accountId, id);
  if (domain === null) throw noSuchDomain();
  return domain;
}

/** The domain in lower-case A-labels. Throws ApiError `validation_failed`. */
function domainName(text: string, hostname: string): string {
  const bare = text.trim().replace(/\.$/, '');
  const mailbox = makeAddress(`postmaster@${bare}`);
  if ('error' in mailbox || bare.includes('@')) {
    throw refusal('name must be a domain name such as example.com.');
  }
  const { domain } = mailbox;
  if (domain === hostname) {
    throw refusal(`${domain} is the host name of this service; mail is sent from other domains.`);
  }
  const { isIp, publicSuffix } = parse(domain, { allowPrivateDomains: true });
  if (isIp === true) throw refusal('name must be a domain name, not an IP address.');
  if (publicSuffix === domain) {
    throw refusal(`${domain} is a public suffix; add a domain below it.`);
  }
  return domain;
}

async function refuseKnown(
  ctx: Pick<Context, 'store'>,
  account: Account,
  name: string,
  maxDomains: number,
): Promise<void> {
  const domains = await ctx.store.domains(account.id);
  if (domains.some((domain) => domain.name === name)) throw nameTaken(name);
  if (domains.length >= maxDomains) throw tooMany(maxDomains);
}

function refusal(message: string): ApiError {
  return validationFailed([{ path: 'name', message }]);
}

function nameTaken(name: string): ApiError {
  return new ApiError('conflict', `This account has the domain ${name} already.`);
}

function tooMany(maxDomains: number): ApiError {
  return new ApiError('forbidden', `This account's plan allows ${maxDomains} domains.`);
}

function noSuchDomain(): ApiError {
  return new ApiError('not_found', 'There is no such domain.');
}
