/** Erasing a person, as the operator asks for it. Promises that the raw files are scrubbed before the result is sent. */
import { Type } from '@sinclair/typebox';

import { ApiError } from '../base/errors.ts';
import { addressOf, makeAddress } from '../mail/header/address.ts';
import { oneAccount } from './accounts.ts';
import { operation } from './operation.ts';
import { Text, orNull } from './shapes.ts';

export const ERASURE_OPERATIONS = {
  erase: operation(
    { address: Text, account: orNull(Text) },
    Type.Object({
      messages: Type.Integer(),
      shared: Type.Integer(),
      waiting: Type.Integer(),
      log_rows: Type.Integer(),
      confirmed: Type.Integer(),
      suppressions_kept: Type.Integer(),
    }),
    async (scope, { address, account }) => {
      const { ctx } = scope;
      const mailbox = makeAddress(address);
      if ('error' in mailbox) {
        throw new ApiError('validation_failed', `The address ${mailbox.error}.`);
      }
      const accountId = account === null ? null : (await oneAccount(scope, account)).id;
      const erased = await ctx.store.eraseAddress(addressOf(mailbox).toLowerCase(), accountId);
      await ctx.store.scrub();
      // Not the address: the log would keep what is to go.
      ctx.log.info('erased', { ...erased });
      return erased;
    },
  ),
};
