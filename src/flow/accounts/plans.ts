/**
 * What a plan of the config allows an account: which plan, and its limits on a day and in a month.
 *
 * Plain arithmetic; never reads the store and never fails. A plan that is no longer in the config counts
 * as `unlimited`, so that a typing error there does not stop an account's mail.
 */
import { UNLIMITED, type Live, type Plan } from '../../base/config.ts';
import type { Account, Key } from '../../store/rows.ts';

const DAY_MS = 86_400_000;
/** Emails in one block of overage (docs/decisions.md D55). */
export const OVERAGE_BLOCK = 1_000;

/** The plan of an account. */
export function planOf(plans: Live['plans'], account: Pick<Account, 'plan'>): Plan {
  return plans.get(account.plan) ?? plans.get(UNLIMITED.id) ?? UNLIMITED;
}

/**
 * Most emails on one UTC day, or null. The row of the plan's table for the account's age applies, but
 * never more than the plan's own limit.
 */
export function dailyLimit(
  plan: Pick<Plan, 'dailyLimit' | 'dailyLimitByAgeDays'>,
  account: Pick<Account, 'createdAt'>,
  now: number,
): number | null {
  const ageDays = Math.max(0, Math.floor((now - account.createdAt) / DAY_MS));
  const row = plan.dailyLimitByAgeDays.findLast(([fromDays]) => fromDays <= ageDays);
  if (row === undefined) return plan.dailyLimit;
  return plan.dailyLimit === null ? row[1] : Math.min(row[1], plan.dailyLimit);
}

/** Most emails in one calendar month, overage up to its cap included, or null. */
export function monthlyLimit(
  plan: Pick<Plan, 'includedEmails' | 'overageSenPerThousand' | 'overageCapSen'>,
): number | null {
  const { includedEmails, overageSenPerThousand: rate, overageCapSen: cap } = plan;
  if (includedEmails === null) return null;
  if (rate === null) return includedEmails;
  if (cap === null || rate === 0) return null;
  // The block in which the charge meets the cap is paid for, so it may be used up.
  return includedEmails + Math.ceil(cap / rate) * OVERAGE_BLOCK;
}

/** Whose rates a request spends: sandbox keys have rates of their own, so that they cannot slow live mail. */
export function rateOwner(key: Pick<Key, 'isTest'>, account: Pick<Account, 'id'>): string {
  return key.isTest ? `${account.id} sandbox` : account.id;
}
