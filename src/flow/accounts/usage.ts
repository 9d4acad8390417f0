/**
 * Usage: what an account has sent, what its plan allows, and what it owes beyond.
 *
 * Promises that limits are spent inside the accept commit (`UsageClaim`), so that parallel requests cannot
 * exceed them; here they are only computed. Days and months are UTC. One live recipient that was
 * accepted and not suppressed counts one.
 */
import type { Plan } from '../../base/config.ts';
import { ApiError } from '../../base/errors.ts';
import type { MessageStatus } from '../../base/status.ts';
import type { Account } from '../../store/rows.ts';
import type { UsageClaim } from '../../store/journey.ts';
import type { Context } from '../context.ts';
import { dailyLimit, monthlyLimit, OVERAGE_BLOCK, planOf } from './plans.ts';

const DAY_MS = 86_400_000;
/** Days that `counts` looks back (docs/contract.md C16.1). */
const COUNT_DAYS = 30;
/** Retention runs once an hour. */
const STORAGE_RETRY_SECONDS = 3_600;

/** The body of `GET /usage`, as docs/contract.md C16.1 and C16.2 spell it. */
export interface Usage {
  /** `YYYY-MM`. */
  period: string;
  periodDays: 30;
  plan: {
    id: string;
    includedEmails: number | null;
    overageSenPerThousand: number | null;
    maxDomains: number;
    dailyLimit: number | null;
    logRetentionDays: number;
    ratePerSecond: number;
  };
  usage: {
    usedThisMonth: number;
    includedEmails: number | null;
    overage: number;
    overageBlocks: number;
    overageChargedSen: number;
    overageCapSen: number | null;
    percent: number;
  };
  /** Beyond the contract: bytes of content kept now, of live and of sandbox sends, and the plan's limit. */
  storage: { usedBytes: number; limitBytes: number | null };
  counts: Record<MessageStatus, number>;
}

/** The UTC day `YYYY-MM-DD` of a moment in epoch milliseconds. */
export function dayOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}

/** What an acceptance of `count` emails spends; null when nothing counts. */
export function usageClaim(
  plan: Plan,
  account: Account,
  count: number,
  now: number,
): UsageClaim | null {
  if (count === 0) return null;
  return {
    count,
    day: dayOf(now),
    dailyLimit: dailyLimit(plan, account, now),
    monthlyLimit: monthlyLimit(plan),
  };
}

/** The refusal for a claim the store did not grant, with `Retry-After` until the period ends. */
export function overQuota(
  which: 'daily' | 'monthly',
  limit: number,
  used: number,
  now: number,
): ApiError {
  const at = new Date(now);
  const endsAt =
    which === 'daily'
      ? Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate() + 1)
      : Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1);
  const left = Math.max(0, limit - used);
  const leave = left === 1 ? '1 is left' : `${left} are left`;
  return new ApiError(
    'quota_exceeded',
    `This request goes beyond the ${which} limit of ${limit} emails; ${leave} until ${new Date(endsAt).toISOString()}.`,
    {
      name: which === 'daily' ? 'daily_quota_exceeded' : 'monthly_quota_exceeded',
      detail: { period: which, limit, used },
      headers: { 'Retry-After': String(Math.ceil((endsAt - now) / 1_000)) },
    },
  );
}

/** The refusal for content beyond what the plan keeps. Retention frees some within the hour at the soonest. */
export function overStorage(limit: number, used: number): ApiError {
  return new ApiError(
    'quota_exceeded',
    `This account keeps ${used} of at most ${limit} bytes of content, and this request goes beyond. Content is deleted when its retention ends.`,
    {
      name: 'monthly_quota_exceeded',
      detail: { period: 'storage', limit, used },
      headers: { 'Retry-After': String(STORAGE_RETRY_SECONDS) },
    },
  );
}

/**
 * The account's usage in the present month and its messages of the last 30 days by status. `isSandbox`: what its
 * sandbox keys used, which spends nothing.
 */
export async function usageOf(
  ctx: Pick<Context, 'config' | 'clock' | 'store'>,
  account: Account,
  isSandbox = false,
): Promise<Usage> {
  const now = ctx.clock.now();
  const period = dayOf(now).slice(0, 7);
  const plan = planOf(ctx.config.live.plans, account);
  const since = now - COUNT_DAYS * DAY_MS;
  const used = isSandbox ? 0 : await ctx.store.usedInMonth(account.id, period);
  const counts = isSandbox
    ? await ctx.store.sandboxCountsByStatus(account.id, since)
    : await ctx.store.countsByStatus(account.id, since);
  const included = plan.includedEmails;
  const overage = included === null ? 0 : Math.max(0, used - included);
  const overageBlocks = Math.ceil(overage / OVERAGE_BLOCK);
  const chargeSen = overageBlocks * (plan.overageSenPerThousand ?? 0);
  return {
    period,
    periodDays: 30,
    plan: {
      id: plan.id,
      includedEmails: included,
      overageSenPerThousand: plan.overageSenPerThousand,
      maxDomains: plan.maxDomains,
      dailyLimit: dailyLimit(plan, account, now),
      logRetentionDays: plan.logRetentionDays,
      ratePerSecond: plan.ratePerSecond,
    },
    usage: {
      usedThisMonth: used,
      includedEmails: included,
      overage,
      overageBlocks,
      overageChargedSen: Math.min(chargeSen, plan.overageCapSen ?? chargeSen),
      overageCapSen: plan.overageCapSen,
      percent: percentOf(used, included),
    },
    storage: {
      usedBytes: await ctx.store.storedBytes(account.id),
      limitBytes: plan.storageBytes,
    },
    counts,
  };
}

/** Share of the included emails in percent, two decimals; 0 where there is no such number. */
function percentOf(used: number, included: number | null): number {
  if (included === null || included === 0) return 0;
  return Math.round((used / included) * 10_000) / 100;
}
