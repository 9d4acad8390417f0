/**
 * Accounts: who sends, on which plan, and whether they may. The story of this room:
 *
 * The operator creates an account and its keys (`keys`); every request comes in with a key and goes on as an identity:
 * key, account and plan. `plans` says what a plan allows and `usage` what an acceptance spends, which the accept commit
 * checks. `brake` pauses an account whose mail bounces too much. `admin` holds the operator's own password.
 *
 * Promises that a change of status is in force for the next request: it is committed first, then everything kept in
 * memory about the account's keys is forgotten. A crash between the two loses only that memory. Accounts are created by
 * the operator, never through the API.
 */
import { UNLIMITED } from '../../base/config.ts';
import { ApiError, validationFailed } from '../../base/errors.ts';
import type { AccountStatus } from '../../base/status.ts';
import type { Account } from '../../store/rows.ts';
import type { Context } from '../context.ts';
import { badName, isName } from './names.ts';

/**
 * Makes an account. `name`: as in `names`, and not shaped like an id.
 * Throws ApiError `validation_failed` (name or plan) or `conflict` (name taken).
 */
export async function createAccount(
  ctx: Pick<Context, 'config' | 'clock' | 'ids' | 'store'>,
  input: { name: string; plan?: string },
): Promise<Account> {
  const plan = input.plan ?? UNLIMITED.id;
  const name = checkedName(input.name);
  refuseUnknownPlan(ctx, plan);
  const now = ctx.clock.now();
  const account: Account = {
    id: ctx.ids.next(now),
    name,
    plan,
    status: 'active',
    statusReason: null,
    createdAt: now,
  };
  if ((await ctx.store.createAccount(account)) === 'exists') throw nameTaken(name);
  return account;
}

/**
 * Changes name and plan of an account, and returns them as they are kept; its next request goes by the new plan.
 * Throws ApiError `validation_failed` (name or plan), `conflict` (name taken) or `not_found`.
 */
export async function changeAccount(
  ctx: Pick<Context, 'config' | 'store' | 'log' | 'identities'>,
  id: string,
  input: { name: string; plan: string },
): Promise<{ name: string; plan: string }> {
  const { plan } = input;
  const name = checkedName(input.name);
  refuseUnknownPlan(ctx, plan);
  const result = await ctx.store.changeAccount(id, { name, plan });
  if (result === 'exists') throw nameTaken(name);
  if (result === 'absent') throw new ApiError('not_found', `There is no account "${id}".`);
  ctx.identities.forget();
  ctx.log.info('account_changed', { account: name, plan });
  return { name, plan };
}

function checkedName(text: string): string {
  const name = text.trim();
  if (!isName(name)) throw badName();
  if (!/^[0-9a-f-]{36}$/.test(name)) return name;
  throw validationFailed([
    { path: 'name', message: 'name must not look like the id of an account.' },
  ]);
}

function refuseUnknownPlan({ config }: Pick<Context, 'config'>, plan: string): void {
  if (config.live.plans.has(plan)) return;
  const known = [...config.live.plans.keys()].join(', ');
  throw validationFailed([
    { path: 'plan', message: `There is no plan "${plan}"; the config has: ${known}.` },
  ]);
}

function nameTaken(name: string): ApiError {
  return new ApiError('conflict', `There is an account named "${name}" already.`);
}

/**
 * Sets an account's status; `reason` is one sentence shown to its senders, null when active.
 * Throws ApiError `not_found`.
 */
export async function setAccountStatus(
  ctx: Pick<Context, 'store' | 'log' | 'identities'>,
  idOrName: string,
  status: AccountStatus,
  reason: string | null = null,
): Promise<Account> {
  const account = await accountNamed(ctx, idOrName);
  const statusReason = status === 'active' ? null : reason;
  await ctx.store.setAccountStatus(account.id, status, statusReason);
  ctx.identities.forget();
  ctx.log.info('account_status', { account: account.name, status, reason: statusReason });
  return { ...account, status, statusReason };
}

/** The account with this id or name. Throws ApiError `not_found`. */
export async function accountNamed(
  ctx: Pick<Context, 'store'>,
  idOrName: string,
): Promise<Account> {
  const account = await ctx.store.account(idOrName);
  if (account === null) throw new ApiError('not_found', `There is no account "${idOrName}".`);
  return account;
}

/** The names of accounts by their ids; of one that is gone there is none. `ids`: as rows have them, many times and null. */
export async function accountNames(
  { store }: { readonly store: Pick<Context['store'], 'account'> },
  ids: readonly (string | null)[],
): Promise<Map<string, string>> {
  const distinct = [...new Set(ids)].filter((id) => id !== null);
  const found = await Promise.all(distinct.map((id) => store.account(id)));
  return new Map(found.flatMap((one) => (one === null ? [] : [[one.id, one.name]])));
}

/** Throws `account_paused` (403) or `payment_required` (402) for an account that may not send. */
export function refuseInactive(account: Account): void {
  if (account.status === 'active') return;
  const why = account.statusReason === null ? '' : ` ${account.statusReason}`;
  if (account.status === 'paused') {
    throw new ApiError('account_paused', `This account is paused.${why}`);
  }
  throw new ApiError('payment_required', `This account cannot send until it is paid.${why}`);
}
