/**
 * Deleting an account, as the operator asks for it.
 *
 * Promises that nothing more is sent or called for it from the first commit on, but for what is under way, and that the
 * raw files are scrubbed before the result is sent. A deletion that was cut off says in the account's status how to go on.
 */
import { Type } from '@sinclair/typebox';

import { brakeSetting } from '../flow/accounts/brake.ts';
import { oneAccount } from './accounts.ts';
import { operation } from './operation.ts';
import { Text } from './shapes.ts';

/** Messages between two words of progress. */
const PROGRESS_EVERY = 10_000;

export const ACCOUNT_DELETION_OPERATIONS = {
  'account.delete': operation(
    { account: Text },
    Type.Object({
      id: Type.String(),
      messages: Type.Integer(),
      log_rows: Type.Integer(),
      suppressions: Type.Integer(),
      confirmed: Type.Integer(),
      keys: Type.Integer(),
      domains: Type.Integer(),
      webhooks: Type.Integer(),
    }),
    async (scope, args) => {
      const { ctx, queue, dispatcher, sink } = scope;
      const { id, name } = await oneAccount(scope, args.account);
      const endpoints = await ctx.store.endpoints(id);
      const keys = await ctx.store.closeAccount(
        id,
        `It is being deleted: to go on, run postrider account delete ${name} --yes.`,
      );
      ctx.identities.forget();
      queue?.forgetMarks(id);
      for (const endpoint of endpoints) dispatcher?.endpointChanged(endpoint.id);
      let told = 0;
      const rows = await ctx.store.removeAccount(id, [brakeSetting(id)], (messages) => {
        if (messages - told < PROGRESS_EVERY) return;
        told = messages;
        sink.progress(`${messages} emails deleted`);
      });
      ctx.identities.forget();
      ctx.senderDomains.forget();
      await ctx.store.scrub();
      const deleted = { id, ...rows, keys };
      // Not its name: the log would keep what is to go.
      const { id: account_id, ...counts } = deleted;
      ctx.log.info('account_deleted', { account_id, ...counts });
      return deleted;
    },
  ),
};
