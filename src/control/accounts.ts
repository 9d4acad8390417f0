/**
 * Accounts as the operator handles them, and how the other operations find the account that is meant.
 *
 * Promises that a command without `--account` acts on the only account there is, and never chooses among several.
 */
import { setImmediate as nextTick } from 'node:timers/promises';

import { Type } from '@sinclair/typebox';

import { ApiError } from '../base/errors.ts';
import type { AccountStatus } from '../base/status.ts';
import {
  accountNamed,
  changeAccount,
  createAccount,
  setAccountStatus,
} from '../flow/accounts/accounts.ts';
import type { ListPart } from '../store/pages.ts';
import { inParts } from '../store/parts.ts';
import type { Account } from '../store/rows.ts';
import { operation } from './operation.ts';
import type { Scope } from './operation.ts';
import { AccountShape, Text, orNull } from './shapes.ts';

/** Every account, or the one with this name or id. Throws `ApiError` `not_found`. */
export async function chosenAccounts({ ctx }: Scope, name: string | null): Promise<Account[]> {
  return name === null ? await ctx.store.accounts() : [await accountNamed(ctx, name)];
}

/** Accounts that are asked together, before other work is done. */
const TOGETHER = 50;

/** What `read` says of each account, in their order. */
export async function ofEach<T>(
  accounts: readonly Account[],
  read: (account: Account) => Promise<T>,
): Promise<T[]> {
  const all: T[] = [];
  for (let at = 0; at < accounts.length; at += TOGETHER) {
    all.push(...(await Promise.all(accounts.slice(at, at + TOGETHER).map(read))));
    await nextTick();
  }
  return all;
}

/**
 * What `read` finds in each chosen account, `show` of each row, with the account's name added. Throws `not_found`.
 */
export async function acrossAccounts<Row extends { id: string }, Shown extends object>(
  scope: Scope,
  name: string | null,
  read: (accountId: string, part: ListPart) => Promise<Row[]>,
  show: (row: Row) => Shown,
): Promise<(Shown & { account: string })[]> {
  const accounts = await chosenAccounts(scope, name);
  const lists = await ofEach(accounts, async (account) => {
    const all: (Shown & { account: string })[] = [];
    for await (const rows of inParts((part) => read(account.id, part))) {
      all.push(...rows.map((row) => ({ ...show(row), account: account.name })));
    }
    return all;
  });
  return lists.flat();
}

/** The account with this name or id; without a name the only one there is. Throws `ApiError` `not_found`. */
export async function oneAccount({ ctx }: Scope, name: string | null): Promise<Account> {
  if (name !== null) return await accountNamed(ctx, name);
  const [only, second] = await ctx.store.accounts({ limit: 2 });
  if (only === undefined) {
    throw new ApiError(
      'not_found',
      'There is no account: make one with `postrider account create`.',
    );
  }
  if (second === undefined) return only;
  throw new ApiError('not_found', 'There are several accounts: name one with --account.');
}

function setStatus(status: AccountStatus) {
  return operation(
    { account: Text, reason: orNull(Type.String()) },
    AccountShape,
    async ({ ctx }, { account, reason }) => setAccountStatus(ctx, account, status, reason),
  );
}

export const ACCOUNT_OPERATIONS = {
  'account.create': operation(
    { name: Text, plan: orNull(Text) },
    AccountShape,
    ({ ctx }, { name, plan }) => createAccount(ctx, { name, ...(plan === null ? {} : { plan }) }),
  ),
  'account.change': operation(
    { account: Text, name: orNull(Text), plan: orNull(Text) },
    AccountShape,
    async ({ ctx }, { account: named, name, plan }) => {
      const account = await accountNamed(ctx, named);
      const wanted = { name: name ?? account.name, plan: plan ?? account.plan };
      return { ...account, ...(await changeAccount(ctx, account.id, wanted)) };
    },
  ),
  'account.list': operation(
    {},
    Type.Array(Type.Composite([AccountShape, Type.Object({ storedBytes: Type.Integer() })])),
    async ({ ctx }) =>
      await ofEach(await ctx.store.accounts(), async (account) => ({
        ...account,
        storedBytes: await ctx.store.storedBytes(account.id),
      })),
  ),
  'account.pause': setStatus('paused'),
  'account.resume': setStatus('active'),
  'account.payment_required': setStatus('payment_required'),
};
