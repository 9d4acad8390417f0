/** Accounts and their API keys, as the operator handles them: across accounts, unlike the API. */
import { ApiError } from '../base/errors.ts';
import type { AccountStatus, Permission } from '../base/status.ts';
import { accountNamed, createAccount, setAccountStatus } from '../flow/accounts.ts';
import { createKey, revokeKey } from '../flow/keys.ts';
import type { Account, Key } from '../store/rows.ts';
import { textOf, textOrNull } from './operation.ts';
import type { Operation, Scope } from './operation.ts';
import type { Arguments } from './protocol.ts';

/** A row together with the name of its account. */
export type Owned<T> = T & { account: string };

/** The account named in the arguments, or all of them. */
export async function chosenAccounts(scope: Scope, name: string | null): Promise<Account[]> {
  return name === null ? await scope.ctx.store.accounts() : [await accountNamed(scope.ctx, name)];
}

/** The account named in the arguments; without a name the only one there is. Throws `ApiError`. */
export async function oneAccount({ ctx }: Scope, args: Arguments): Promise<Account> {
  const name = textOrNull(args, 'account');
  if (name !== null) return await accountNamed(ctx, name);
  const [only, ...others] = await ctx.store.accounts();
  if (only !== undefined && others.length === 0) return only;
  throw new ApiError('not_found', 'There are several accounts: name one with --account.');
}

function setStatus(status: AccountStatus): Operation {
  return ({ ctx }, args) =>
    setAccountStatus(ctx, textOf(args, 'account'), status, textOrNull(args, 'reason'));
}

async function listKeys(scope: Scope, account: string | null): Promise<Owned<Key>[]> {
  const accounts = await chosenAccounts(scope, account);
  const lists = await Promise.all(
    accounts.map(async ({ id, name }) =>
      (await scope.ctx.store.keys(id)).map((key) => ({ ...key, account: name })),
    ),
  );
  return lists.flat();
}

export const ACCOUNT_OPERATIONS: Record<string, Operation> = {
  'account.create': ({ ctx }, args) => {
    const plan = textOrNull(args, 'plan');
    return createAccount(ctx, { name: textOf(args, 'name'), ...(plan === null ? {} : { plan }) });
  },
  'account.list': ({ ctx }) => ctx.store.accounts(),
  'account.pause': setStatus('paused'),
  'account.resume': setStatus('active'),
  'account.payment_required': setStatus('payment_required'),
  'key.create': async (scope, args) => {
    const { ctx } = scope;
    const account = await oneAccount(scope, args);
    const permission = textOf(args, 'permission') as Permission;
    const isTest = args['isTest'] === true;
    return await createKey(ctx, account.id, { name: textOf(args, 'name'), permission, isTest });
  },
  'key.list': (scope, args) => listKeys(scope, textOrNull(args, 'account')),
  'key.revoke': async (scope, args) => {
    const id = textOf(args, 'id');
    const key = (await listKeys(scope, null)).find((candidate) => candidate.id === id);
    if (key === undefined) throw new ApiError('not_found', `There is no API key ${id}.`);
    await revokeKey(scope.ctx, key.accountId, id);
    return { id };
  },
};
