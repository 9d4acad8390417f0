/** `recipient`: whom an account may mail where its plan has `confirmed_recipients_only`. */
import { Value } from '@sinclair/typebox/value';
import type { Static } from '@sinclair/typebox';

import { RecipientList } from '../control/recipients.ts';
import { ACCOUNT } from './account-option.ts';
import type { Call, Group } from './command.ts';
import { table, when } from './layout.ts';
import { operate } from './operate.ts';
import { argument } from './parameter.ts';

const EMAIL = argument('EMAIL', 'Address, in upper or lower case');

async function list(call: Call): Promise<void> {
  const all: Static<typeof RecipientList> = [];
  await operate(call, 'recipient.list', { account: call.get(ACCOUNT) }, async (chunk) => {
    for (const row of Value.Decode(RecipientList, JSON.parse(chunk))) all.push(row);
  });
  const rows = all.map((one) => [[one.email, when(one.createdAt)]]);
  const shown = all.map(({ email, createdAt }) => ({
    email,
    created_at: new Date(createdAt).toISOString(),
  }));
  call.print(shown, table([['ADDRESS', 'SINCE (UTC)']], rows, 'No addresses are confirmed.'));
}

export const recipient: Group = {
  summary: 'Confirm the addresses that an account may mail where its plan allows no others',
  actions: {
    list: { summary: 'List the confirmed addresses', parameters: [ACCOUNT], run: list },
    confirm: {
      summary: 'Confirm an address',
      details:
        'On a plan with confirmed_recipients_only the account may mail it from now on. Addresses at its verified domains need no confirmation, and on other plans none does.',
      parameters: [EMAIL, ACCOUNT],
      async run(call) {
        const args = { email: call.get(EMAIL), account: call.get(ACCOUNT) };
        const { email, isNew } = await operate(call, 'recipient.confirm', args);
        const words = isNew ? `${email} is confirmed.` : `${email} was confirmed before.`;
        call.print({ email, is_new: isNew }, words);
      },
    },
    remove: {
      summary: 'Take a confirmation back',
      parameters: [EMAIL, ACCOUNT],
      async run(call) {
        const args = { email: call.get(EMAIL), account: call.get(ACCOUNT) };
        const removed = await operate(call, 'recipient.remove', args);
        call.print(removed, `${removed.email} is no longer confirmed.`);
      },
    },
  },
};
