/** API keys as the operator handles them: across accounts, unlike the API. Only `key.create` returns a key's text. */
import { Type } from '@sinclair/typebox';

import { ApiError } from '../base/errors.ts';
import { createKey, revokeKey } from '../flow/accounts/keys.ts';
import { acrossAccounts, oneAccount } from './accounts.ts';
import { operation } from './operation.ts';
import { KeyShape, PERMISSIONS, Text, oneOf, orNull } from './shapes.ts';

export const KEY_OPERATIONS = {
  'key.create': operation(
    { account: orNull(Text), name: Text, permission: oneOf(PERMISSIONS), isTest: Type.Boolean() },
    Type.Object({ key: KeyShape, token: Type.String() }),
    async (scope, { account, ...input }) => {
      const { id } = await oneAccount(scope, account);
      return await createKey(scope.ctx, id, input);
    },
  ),
  'key.list': operation(
    { account: orNull(Text) },
    Type.Array(Type.Composite([KeyShape, Type.Object({ account: Type.String() })])),
    (scope, { account }) =>
      acrossAccounts(
        scope,
        account,
        (id, part) => scope.ctx.store.keys(id, part),
        (key) => key,
      ),
  ),
  'key.revoke': operation(
    { id: Text },
    Type.Object({ id: Type.String() }),
    async (scope, { id }) => {
      const key = await scope.ctx.store.key(id);
      if (key === null) throw new ApiError('not_found', `There is no API key ${id}.`);
      await revokeKey(scope.ctx, key.accountId, id);
      return { id };
    },
  ),
};
