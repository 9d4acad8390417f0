/** The operator's test email: live, without a key, by the account's rules. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { setAccountStatus } from '../../../src/flow/accounts/accounts.ts';
import { sendTestEmail } from '../../../src/flow/accept/test-email.ts';
import type { Account, Domain } from '../../../src/store/rows.ts';
import { openFixture, refusal, type Fixture } from '../fixture.ts';

let fixture: Fixture;
let account: Account;
let domain: Domain;
beforeEach(async () => {
  fixture = await openFixture({ toml: '[[plans]]\nid = "one"\ndaily_limit = 1\n' });
  const sender = await fixture.sender({ plan: 'one' });
  ({ account } = sender);
  domain = await fixture.verified(sender, 'acme.example');
});
afterEach(() => fixture.close());

const send = (to: string): Promise<string> =>
  sendTestEmail(fixture.ctx, fixture.sink, account, domain, to);

test('is a live message without key or request, and is offered to the queue', async () => {
  const id = await send('Me@receiver.example');
  const { store } = fixture.ctx;
  expect(await store.message(account.id, id)).toMatchObject({
    from: 'Postrider test <postrider@acme.example>',
    to: ['Me@receiver.example'],
    keyId: null,
    logId: null,
    isSandbox: false,
  });
  expect(fixture.sink.messages.map(({ message }) => message.id)).toEqual([id]);
});

test('spends from the plan, and is refused like any other', async () => {
  expect((await refusal(send('no address'))).detail?.issues).toMatchObject([{ path: 'to' }]);
  await send('a@receiver.example');
  expect((await refusal(send('a@receiver.example'))).code).toBe('quota_exceeded');
  await setAccountStatus(fixture.ctx, account.id, 'paused');
  account = { ...account, status: 'paused' };
  expect((await refusal(send('a@receiver.example'))).code).toBe('account_paused');
});
