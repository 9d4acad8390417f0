/** Addresses that were confirmed for an account: in any spelling, for that account alone, and those at its own domains. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import {
  confirmRecipient,
  removeConfirmation,
  unconfirmed,
} from '../../../src/flow/accept/confirmed-recipients.ts';
import type { Sender } from '../../../src/flow/draft.ts';
import { openFixture, refusal, type Fixture } from '../fixture.ts';

let fixture: Fixture;
let sender: Sender;
let other: Sender;
beforeEach(async () => {
  fixture = await openFixture();
  sender = await fixture.sender();
  other = await fixture.sender({ name: 'other' });
});
afterEach(() => fixture.close());

const ask = async (by: Sender, ...addresses: string[]): Promise<string[]> => {
  const recipients = addresses.map((address) => ({
    address,
    domain: address.slice(address.indexOf('@') + 1),
  }));
  return [...(await unconfirmed(fixture.ctx, by.account.id, recipients))];
};

test('a confirmation is new once, whatever the spelling, and taken back once', async () => {
  const { ctx } = fixture;
  const { id } = sender.account;
  const email = 'ann@xn--bcher-kva.example';
  expect(await confirmRecipient(ctx, id, 'Ann@Bücher.example')).toEqual({ email, isNew: true });
  expect(await confirmRecipient(ctx, id, email)).toEqual({ email, isNew: false });
  expect((await confirmRecipient(ctx, other.account.id, email)).isNew).toBe(true);
  expect(await removeConfirmation(ctx, id, 'ANN@bücher.example')).toBe(email);
  const gone = await refusal(removeConfirmation(ctx, id, 'ANN@bücher.example'));
  expect([gone.code, gone.message]).toEqual([
    'not_found',
    `${email} is not a confirmed recipient.`,
  ]);
  expect([await ask(sender, email), await ask(other, email)]).toEqual([[email], []]);
  for (const work of [confirmRecipient(ctx, id, 'ann'), removeConfirmation(ctx, id, 'ann')]) {
    const { code, detail } = await refusal(work);
    expect([code, detail?.issues?.[0]?.path]).toEqual(['validation_failed', 'email']);
  }
});

test('all but the confirmed, and those at a verified domain of the account, are missing, in their order', async () => {
  const { ctx } = fixture;
  await fixture.verified(sender, 'own.example');
  await fixture.verified(other, 'other.example');
  const pending = await fixture.verified(sender, 'pending.example');
  await ctx.store.finishDomainCheck({ ...pending, now: 1, status: 'pending' });
  await confirmRecipient(ctx, sender.account.id, 'known@pending.example');
  await confirmRecipient(ctx, other.account.id, 'theirs@receiver.example');
  expect(
    await ask(
      sender,
      'z@other.example',
      'z@own.example',
      'known@pending.example',
      'z@pending.example',
      'theirs@receiver.example',
      'a@sub.own.example',
    ),
  ).toEqual([
    'z@other.example',
    'z@pending.example',
    'theirs@receiver.example',
    'a@sub.own.example',
  ]);
  expect(await ask(sender)).toEqual([]);
});
