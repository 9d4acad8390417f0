/** Confirmed recipients as the operator handles them: whom an account may mail where its plan allows no others. */
import { Type } from '@sinclair/typebox';
import type { Static } from '@sinclair/typebox';

import { confirmRecipient, removeConfirmation } from '../flow/accept/confirmed-recipients.ts';
import { oneAccount } from './accounts.ts';
import { operation } from './operation.ts';
import type { Scope } from './operation.ts';
import { Text, Time, orNull } from './shapes.ts';

const PAGE = 500;

/** One chunk of `recipient.list`. */
export const RecipientList = Type.Array(Type.Object({ email: Type.String(), createdAt: Time }));

/** In chunks of a page each, as JSON: a list may be as long as somebody makes it. */
async function sendAll({ ctx, sink }: Scope, accountId: string): Promise<void> {
  for (let after = ''; ;) {
    const page = { limit: PAGE, after };
    const rows: Static<typeof RecipientList> = await ctx.store.confirmedRecipients(accountId, page);
    await sink.chunk(JSON.stringify(rows));
    if (rows.length < PAGE) return;
    after = rows.at(-1)?.email ?? '';
  }
}

const ACCOUNT = { account: orNull(Text) };
const CHOICE = { ...ACCOUNT, email: Text };

export const RECIPIENT_OPERATIONS = {
  /** The rows go out in chunks, each a JSON list (`RecipientList`); the result is null. */
  'recipient.list': operation(ACCOUNT, Type.Null(), async (scope, { account }) => {
    await sendAll(scope, (await oneAccount(scope, account)).id);
    return null;
  }),
  'recipient.confirm': operation(
    CHOICE,
    Type.Object({ email: Type.String(), isNew: Type.Boolean() }),
    async (scope, { account, email }) =>
      confirmRecipient(scope.ctx, (await oneAccount(scope, account)).id, email),
  ),
  'recipient.remove': operation(
    CHOICE,
    Type.Object({ email: Type.String(), status: Type.Literal('removed') }),
    async (scope, { account, email }) => {
      const { id } = await oneAccount(scope, account);
      const removed = await removeConfirmation(scope.ctx, id, email);
      return { email: removed, status: 'removed' as const };
    },
  ),
};
