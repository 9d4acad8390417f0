/**
 * Usage: what an account has sent, what its plan allows, and what it owes beyond.
 *
 * Promises that limits are spent inside the accept commit (`UsageClaim`), so that parallel requests can
 * not beat them; here they are only worked out. Days and months are UTC. One live recipient that was
 * accepted and not suppressed counts one.
 */
import type { Plan } from '../base/config.ts';
import { ApiError } from '../base/errors.ts';
import type { MessageStatus } from '../base/status.ts';
import type { Account } from '../store/rows.ts';
import type { UsageClaim } from '../store/store.ts';
import type { Context } from './context.ts';
import { dailyLimit, monthlyLimit, OVERAGE_BLOCK, planOf } from './plans.ts';

const DAY_MS = 86_400_000;
/** Days that `counts` looks back (interface, Usage). */
const COUNT_DAYS = 30;

/** The body of `GET /usage`, as the interface spells it. */
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
  return new ApiError(
    'quota_exceeded',
    `This request goes beyond the ${which} limit of ${limit} emails; ${left} are left until ${new Date(endsAt).toISOString()}.`,
    {
      name: which === 'daily' ? 'daily_quota_exceeded' : 'monthly_quota_exceeded',
      detail: { period: which, limit, used },
      headers: { 'Retry-After': String(Math.ceil((endsAt - now) / 1_000)) },
    },
  );
}

/** The account's usage in the present month and its messages of the last 30 days by status. */
export async function usageOf(
  ctx: Pick<Context, 'config' | 'clock' | 'store'>,
  account: Account,
): Promise<Usage> {
  const now = ctx.clock.now();
  const period = dayOf(now).slice(0, 7);
  const plan = planOf(ctx.config, account);
  const used = await ctx.store.usedInMonth(account.id, period);
  const counts = await ctx.store.countsByStatus(account.id, now - COUNT_DAYS * DAY_MS);
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
    counts,
  };
}

/** Share of the included emails in percent, two decimals; 0 where there is no such number. */
function percentOf(used: number, included: number | null): number {
  if (included === null || included === 0) return 0;
  return Math.round((used / included) * 10_000) / 100;
}
