/**
 * Sending domains of an account: added, verified, removed.
 *
 * Promises that each domain row has a DKIM key and selector of its own, so that two accounts may add
 * one domain and DNS decides which of them may send. The private key leaves this process only sealed. A removed domain
 * stops new sends at once; what was accepted before is still signed with its key.
 */
import { randomBytes } from 'node:crypto';
import { parse } from 'tldts';
import { ownNames } from '../../base/config.ts';
import { ApiError, validationFailed } from '../../base/errors.ts';
import { makeAddress } from '../../mail/header/address.ts';
import { generateDkimKey } from '../../mail/dkim/dkim.ts';
import { RETURN_PATH_OCTETS } from '../../mail/reports/return-path.ts';
import type { Account, Domain } from '../../store/rows.ts';
import type { Context } from '../context.ts';
import { dkimLabel } from '../seal-labels.ts';
import { checkDns } from './check.ts';
import { allRecords, returnPathHost, type DnsRecord } from './records.ts';
import { afterCheck } from './state.ts';
import { planOf } from '../accounts/plans.ts';

/** When a new domain is first checked without being asked for. */
const FIRST_CHECK_MS = 60_000;
/** Up to so many domains are counted before a key is made for one more. */
const COUNTED_DOMAINS = 100;
/** RFC 5321 section 4.5.3.1.3, with angle brackets. */
const MAX_PATH_OCTETS = 256;

/**
 * Adds a domain to an account and makes its key. `name` any spelling; a public suffix, an IP address
 * and the appliance's own host name are refused. Throws ApiError `validation_failed`, `conflict`,
 * `forbidden` (more domains than the plan has).
 */
export async function addDomain(
  ctx: Pick<Context, 'config' | 'clock' | 'ids' | 'store' | 'secrets' | 'senderDomains'>,
  account: Account,
  name: string,
): Promise<Domain> {
  const asciiName = domainName(name, ownNames(ctx.config.startup));
  const { maxDomains } = planOf(ctx.config.live.plans, account);
  // Making a key takes a tenth of a second of a core; refuse first what is certain to be refused.
  await refuseKnown(ctx, account, asciiName, maxDomains);
  const domain = await newDomain(ctx, account.id, asciiName);
  const result = await ctx.store.createDomain(domain, maxDomains);
  ctx.senderDomains.forget();
  if (result === 'exists') throw nameTaken(asciiName);
  if (result === 'too_many') throw tooMany(maxDomains);
  return domain;
}

/**
 * The row of a domain with a key of its own, not yet stored. `name`: lower-case A-labels. Throws `validation_failed` for
 * one that is too long.
 */
export async function newDomain(
  ctx: Pick<Context, 'clock' | 'ids' | 'secrets'>,
  accountId: string,
  name: string,
): Promise<Domain> {
  const selector = `pr${randomBytes(4).toString('hex')}`;
  refuseTooLong(name);
  const key = await generateDkimKey();
  const now = ctx.clock.now();
  const id = ctx.ids.next(now);
  return {
    id,
    accountId,
    name,
    status: 'pending',
    selector,
    dkimPublicKey: key.publicKeyBase64,
    sealedDkimKey: ctx.secrets.seal(key.privateKeyPem, dkimLabel(id)),
    recordStates: { DKIM: 'not_started', SPF: 'not_started', DMARC: 'not_started' },
    createdAt: now,
    verifiedAt: null,
    lastCheckedAt: null,
    nextCheckAt: ctx.clock.steady() + FIRST_CHECK_MS,
    failingSince: null,
    pendingSince: ctx.clock.steady(),
    deletedAt: null,
  };
}

/** What a check that was asked for found. */
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
  // The owner has just changed something: a cached answer would only delay the result.
  ctx.resolver.forget?.(domain.name);
  const findings = await checkDns(ctx, domain);
  const failed = [findings.records.DKIM, findings.records.SPF].find(
    ({ kind }) => kind === 'unknown',
  );
  if (failed?.kind === 'unknown') {
    throw new ApiError(
      'provider_error',
      `DNS could not be asked about ${domain.name} (${failed.reason}); try again shortly.`,
    );
  }
  const check = afterCheck(domain, findings, ctx.clock, true);
  await ctx.store.finishDomainCheck(check);
  ctx.senderDomains.forget();
  const { id: _id, now, seen: _seen, ...changes } = check;
  const checked: Domain = { ...domain, ...changes, lastCheckedAt: now };
  const { records } = findings;
  return {
    domain: checked,
    isDnsReady: records.DKIM.kind === 'found' && records.SPF.kind === 'found',
    isProven: findings.isProven,
    records: allRecords(ctx.config.startup.cluster.name, checked).map((row) => {
      const finding = records[row.record];
      const reason = finding.kind === 'found' ? null : finding.reason;
      return { ...row, found: finding.kind === 'found', reason };
    }),
  };
}

/** Removes a domain. Throws ApiError `not_found`. */
export async function removeDomain(
  ctx: Pick<Context, 'store' | 'clock' | 'ids' | 'senderDomains'>,
  accountId: string,
  id: string,
): Promise<void> {
  const isFound = await ctx.store.deleteDomain(accountId, id, ctx.clock.now());
  ctx.senderDomains.forget();
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
function domainName(text: string, own: readonly string[]): string {
  const bare = text.trim().replace(/\.$/, '');
  const mailbox = makeAddress(`postmaster@${bare}`);
  if ('error' in mailbox || bare.includes('@')) {
    throw refusal('name must be a domain name such as example.com.');
  }
  const { domain } = mailbox;
  if (own.includes(domain)) {
    throw refusal(`${domain} is a name of this service; mail is sent from other domains.`);
  }
  const { isIp, publicSuffix } = parse(domain, { allowPrivateDomains: true });
  if (isIp === true) throw refusal('name must be a domain name, not an IP address.');
  if (publicSuffix === domain) {
    throw refusal(`${domain} is a public suffix; add a domain below it.`);
  }
  return domain;
}

/** The name under which the key is published must be one that DNS can carry. */
/** Its return paths are the longest names made of it: longer than that of its DKIM record. */
function refuseTooLong(name: string): void {
  const excess = RETURN_PATH_OCTETS + `<@${returnPathHost(name)}>`.length - MAX_PATH_OCTETS;
  if (excess <= 0) return;
  throw refusal(
    `name is too long by ${excess} octets: its return paths would have more than ${MAX_PATH_OCTETS}.`,
  );
}

async function refuseKnown(
  ctx: Pick<Context, 'store'>,
  account: Account,
  name: string,
  maxDomains: number,
): Promise<void> {
  if ((await ctx.store.domainByName(account.id, name)) !== null) throw nameTaken(name);
  // A larger limit is left to the commit, which counts as well.
  if (maxDomains > COUNTED_DOMAINS) return;
  const domains = await ctx.store.domains(account.id, { limit: COUNTED_DOMAINS });
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
