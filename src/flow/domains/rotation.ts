/**
 * Changes a domain's DKIM key in two steps, without a moment in which mail does not verify.
 *
 * First a second key is made and its record shown, while the present key goes on signing. Once DNS shows the record, the
 * second key signs, and the record of the first stays in DNS until all mail signed with it has arrived. Promises that a
 * key never signs before its record was seen and a signature of it verified. A crash between any two lines leaves the
 * domain with a key that signs.
 */
import { randomBytes } from 'node:crypto';

import { ApiError } from '../../base/errors.ts';
import { generateDkimKey } from '../../mail/dkim/dkim.ts';
import type { NextDkimKey } from '../../store/dkim-keys.ts';
import type { Domain } from '../../store/rows.ts';
import type { Context } from '../context.ts';
import { dkimLabel } from '../seal-labels.ts';
import { checkDns } from './check.ts';
import { requiredRecords } from './records.ts';
import type { DnsRecord } from './records.ts';

/** How long the old record stays: 48 hours of retries, then what receivers and lists keep before they verify. */
const OLD_RECORD_MS = 7 * 86_400_000;

export interface Rotation {
  /** Of the key that is to sign, or signs now. */
  record: DnsRecord;
  isActive: boolean;
  /** The selector of the key before, and when its record may go (epoch milliseconds); null before the first change. */
  old: { selector: string; removableAt: number } | null;
}

/** Where a change of the key stands: the record of the next one, and the key before; both null where there is none. */
export async function rotationOf(
  ctx: Pick<Context, 'store' | 'config'>,
  domain: Domain,
): Promise<{ next: DnsRecord | null; old: Rotation['old'] }> {
  const next = await ctx.store.nextDkimKey(domain.id);
  const before = await ctx.store.previousDkimKey(domain.id);
  return {
    next: next && recordOf(ctx, withKey(domain, next)),
    old: before && { selector: before.selector, removableAt: before.since + OLD_RECORD_MS },
  };
}

/** Makes the next key, or finds the one that was made before. Its status says whether DNS shows it. */
export async function prepareKey(ctx: Context, domain: Domain): Promise<Rotation> {
  if ((await ctx.store.nextDkimKey(domain.id)) === null) {
    const key = await generateDkimKey();
    await ctx.store.addNextDkimKey(domain.id, {
      selector: `pr${randomBytes(4).toString('hex')}`,
      dkimPublicKey: key.publicKeyBase64,
      sealedDkimKey: ctx.secrets.seal(key.privateKeyPem, dkimLabel(domain.id)),
      since: ctx.clock.now(),
    });
  }
  const { old } = await rotationOf(ctx, domain);
  return { record: recordOf(ctx, await nextOf(ctx, domain)), isActive: false, old };
}

/** Signs with the next key. Throws ApiError: `conflict` while DNS does not show it, `provider_error` when DNS fails. */
export async function activateKey(ctx: Context, domain: Domain): Promise<Rotation> {
  const next = await nextOf(ctx, domain);
  ctx.resolver.forget?.(domain.name);
  const { records, isProven } = await checkDns(ctx, next);
  const { name } = recordOf(ctx, next);
  if (records.DKIM.kind === 'unknown') {
    throw new ApiError(
      'provider_error',
      `DNS could not be asked for ${name} (${records.DKIM.reason}); try again shortly.`,
    );
  }
  if (records.DKIM.kind !== 'found' || !isProven) {
    const reason =
      records.DKIM.kind === 'missing' ? records.DKIM.reason : 'a signature of ours does not verify';
    throw new ApiError(
      'conflict',
      `The new key cannot be activated yet: ${name}: ${reason}. The present key goes on signing.`,
    );
  }
  const now = ctx.clock.now();
  const isDone = await ctx.store.activateDkimKey(domain.id, next.selector, now);
  ctx.senderDomains.forget();
  if (!isDone) throw new ApiError('conflict', 'The domain was changed meanwhile; try again.');
  ctx.log.info('dkim_key_changed', {
    domain: domain.name,
    selector: next.selector,
    before: domain.selector,
  });
  return {
    record: { ...recordOf(ctx, next), status: 'verified' },
    isActive: true,
    old: { selector: domain.selector, removableAt: now + OLD_RECORD_MS },
  };
}

/** The domain as it is with its next key. Throws ApiError `conflict` where none was made. */
async function nextOf(ctx: Pick<Context, 'store'>, domain: Domain): Promise<Domain> {
  const next = await ctx.store.nextDkimKey(domain.id);
  if (next === null) {
    throw new ApiError(
      'conflict',
      `${domain.name} has no new key: run postrider domain rotate-key ${domain.name} first, without --activate.`,
    );
  }
  return withKey(domain, next);
}

function withKey(domain: Domain, { selector, dkimPublicKey, sealedDkimKey }: NextDkimKey): Domain {
  return { ...domain, selector, dkimPublicKey, sealedDkimKey };
}

function recordOf(ctx: Pick<Context, 'config'>, domain: Domain): DnsRecord {
  const [dkim] = requiredRecords(ctx.config.startup.cluster.name, domain);
  if (dkim === undefined) throw new Error('a domain has no DKIM record');
  return { ...dkim, status: 'pending' };
}
