/** Sandbox sends and simulated recipients: everything but the network happens, and nothing leaves. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import type { Acceptance } from '../../../src/flow/accept/accept.ts';
import type { Draft, Sender } from '../../../src/flow/draft.ts';
import { draft, mailbox, openFixture, refusal, type Fixture } from '../fixture.ts';

let fixture: Fixture;
let sender: Sender;

beforeEach(async () => {
  fixture = await openFixture();
  sender = await fixture.sender();
  await fixture.verified(sender, 'acme.example');
});
afterEach(() => fixture.close());

function accept(one: Draft, by: Sender = sender): Promise<Acceptance> {
  return fixture.accept(by, one);
}

test('a test key needs no domain, spends no quota, and delivers at once', async () => {
  const tester = await fixture.sender({ isTest: true });
  const acceptance = await accept(draft({ from: mailbox('a@nobody.example') }), tester);
  const { message, recipients, types } = await fixture.stored(acceptance);
  expect(message).toMatchObject({ isSandbox: true, domainId: null, status: 'delivered' });
  expect(recipients.map(({ status }) => status)).toEqual(['delivered']);
  expect(types).toEqual(['email.queued', 'email.sent', 'email.delivered']);
  expect(JSON.parse(acceptance.body)[0].status).toBe('sent');
  expect(fixture.sink.messages).toEqual([]);
  expect(await fixture.ctx.store.usedInMonth(sender.account.id, '2026-01')).toBe(0);
});

test.each([
  ['delivered', 'delivered', ['email.sent', 'email.delivered']],
  ['bounced', 'bounced', ['email.sent', 'email.bounced']],
  ['complained', 'complained', ['email.sent', 'email.delivered', 'email.complained']],
  ['delayed+monday', 'delivered', ['email.sent', 'email.delivery_delayed', 'email.delivered']],
  ['FAILED', 'failed', ['email.failed']],
])('%s@sandbox.test ends as %s, with any key', async (local, status, events) => {
  const to = [mailbox(`${local}@sandbox.test`)];
  for (const by of [sender, await fixture.sender({ isTest: true })]) {
    const { message, types } = await fixture.stored(await accept(draft({ to }), by));
    expect(message.status as string).toBe(status);
    expect(types).toEqual(['email.queued', ...events]);
    const hasReason = status === 'bounced' || status === 'failed';
    expect(message.failureReason !== null).toBe(hasReason);
  }
  const list = await fixture.ctx.store.suppressions(sender.account.id, null, {
    limit: 10,
    after: null,
    before: null,
  });
  expect(list.rows).toEqual([]);
  expect(await fixture.ctx.store.usedInMonth(sender.account.id, '2026-01')).toBe(0);
});

test('suppressed@sandbox.test is left out', async () => {
  const acceptance = await accept(draft({ to: [mailbox('suppressed@sandbox.test')] }));
  expect((await fixture.stored(acceptance)).types).toEqual(['email.suppressed']);
  expect(JSON.parse(acceptance.body)[0].status).toBe('suppressed');
});

test('another name at sandbox.test is refused, and the refusal lists the ones there are', async () => {
  const error = await refusal(accept(draft({ to: [mailbox('bouncd@sandbox.test')] })));
  expect(error.code).toBe('validation_failed');
  expect(error.message).toContain('bounced');
});

test('its events reach the webhooks', async () => {
  fixture.ctx.subscribers.note(sender.account.id);
  await fixture.ctx.store.createEndpoint(
    {
      id: '01900000-0000-7000-8000-000000000001',
      accountId: sender.account.id,
      url: 'https://hooks.example/',
      events: [],
      status: 'active',
      sealedSecret: Buffer.of(0),
      sealedPreviousSecret: null,
      previousUntil: null,
      failureCount: 0,
      lastFailureAt: null,
      createdAt: 1,
      deletedAt: null,
    },
    10,
  );
  await accept(draft({ to: [mailbox('bounced@sandbox.test')] }));
  expect(fixture.sink.calls).toHaveLength(2);
});

test('beside a real recipient, the message stays open', async () => {
  const acceptance = await accept(
    draft({ to: [mailbox('ann@receiver.example'), mailbox('bounced@sandbox.test')] }),
  );
  expect(JSON.parse(acceptance.body)[0].status).toBe('queued');
  expect((await fixture.stored(acceptance)).message.status).toBe('bounced');
  expect(fixture.sink.messages).toHaveLength(1);
});
