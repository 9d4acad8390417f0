/**
 * Operators of the dashboard and the audit log, as commands handle them.
 *
 * Promises that a hash and a sealed value never leave the process, and a password only in the result that made it.
 */
import { Type } from '@sinclair/typebox';

import { OperatorError } from '../base/errors.ts';
import { accountNamed, accountNames } from '../flow/accounts/accounts.ts';
import {
  addOperator,
  operatorNamed,
  removeOperator,
  resetPassword,
  setPassword,
} from '../flow/people/operators.ts';
import { disableTotp } from '../flow/people/totp.ts';
import type { Operator } from '../store/people.ts';
import { limitOf } from './emails.ts';
import { operation } from './operation.ts';
import type { Scope } from './operation.ts';
import { Text, Time, oneOf, orNull } from './shapes.ts';

const ROLES = ['admin', 'read_only'] as const;

const OperatorShape = Type.Object({
  id: Type.String(),
  name: Type.String(),
  role: oneOf(ROLES),
  account: orNull(Type.String()),
  hasSecondFactor: Type.Boolean(),
  createdAt: Time,
  signedInAt: orNull(Time),
});

async function shown({ ctx }: Scope, one: Operator) {
  const account = one.accountId === null ? null : await ctx.store.account(one.accountId);
  return {
    id: one.id,
    name: one.name,
    role: one.role,
    account: account?.name ?? one.accountId,
    hasSecondFactor: one.sealedTotp !== null,
    createdAt: one.createdAt,
    signedInAt: one.signedInAt,
  };
}

/** The number of an entry of the audit log; null: the newest page. Throws `OperatorError`. */
function positionOf(text: string | null): number | null {
  if (text === null) return null;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new OperatorError(
    `--before must be the SEQ of an entry, which is a number, not "${text}".`,
    '',
  );
}

export const OPERATOR_OPERATIONS = {
  'operator.add': operation(
    { name: Text, role: oneOf(ROLES), account: orNull(Text) },
    Type.Object({ operator: OperatorShape, password: Type.String() }),
    async (scope, { name, role, account }) => {
      const accountId = account === null ? null : (await accountNamed(scope.ctx, account)).id;
      const made = await addOperator(scope.ctx, { name, role, accountId });
      return { operator: await shown(scope, made.operator), password: made.password };
    },
  ),
  'operator.list': operation({}, Type.Array(OperatorShape), async (scope) =>
    Promise.all((await scope.ctx.store.operators()).map((one) => shown(scope, one))),
  ),
  'operator.remove': operation({ name: Text }, OperatorShape, async (scope, { name }) =>
    shown(scope, await removeOperator(scope.ctx, name)),
  ),
  'operator.password': operation(
    /** Null: one is made. */
    { name: Text, password: orNull(Type.String()) },
    Type.Object({ password: orNull(Type.String()) }),
    async ({ ctx }, { name, password }) => {
      const made = password === null ? await resetPassword(ctx, name) : null;
      if (password !== null) await setPassword(ctx, name, password);
      ctx.log.warn('password_changed', { operator: name });
      return { password: made };
    },
  ),
  'operator.totp_reset': operation({ name: Text }, OperatorShape, async (scope, { name }) => {
    await disableTotp(scope.ctx, await operatorNamed(scope.ctx, name));
    return shown(scope, await operatorNamed(scope.ctx, name));
  }),
  'audit.list': operation(
    { who: orNull(Text), limit: orNull(Text), before: orNull(Text) },
    Type.Array(
      Type.Object({
        seq: Type.Integer(),
        at: Time,
        via: oneOf(['dashboard', 'command', 'api']),
        who: Type.String(),
        action: Type.String(),
        target: Type.String(),
        account: orNull(Type.String()),
        address: orNull(Type.String()),
      }),
    ),
    async ({ ctx }, { who, limit, before }) => {
      const page = { who, limit: limitOf(limit), before: positionOf(before) };
      const rows = await ctx.store.audit(page);
      const ids = rows.map(({ accountId }) => accountId);
      const names = await accountNames(ctx, ids);
      return rows.map(({ accountId, ...row }) => ({
        ...row,
        account: accountId === null ? null : (names.get(accountId) ?? accountId),
      }));
    },
  ),
};
