/** What sandbox keys used, what the log says of an acceptance, and how far counts look back. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { usageClaim, usageOf } from '../../../src/flow/accounts/usage.ts';
import { draft, mailbox, openFixture, type Fixture, type RequestSender } from '../fixture.ts';

const DAY_MS = 86_400_000;

let fixture: Fixture;
let sender: RequestSender;
beforeEach(async () => {
  fixture = await openFixture();
  sender = await fixture.sender();
  await fixture.verified(sender, 'acme.example');
});
afterEach(() => fixture.close());

test('sandbox keys have used nothing of the plan, and have counts of their own', async () => {
  const tester = await fixture.sender({ isTest: true });
  await fixture.accept(sender, draft());
  await fixture.accept(tester, [draft(), draft()]);
  const live = await usageOf(fixture.ctx, sender.account);
  const sandbox = await usageOf(fixture.ctx, sender.account, true);
  expect([live.usage.usedThisMonth, sandbox.usage.usedThisMonth]).toEqual([1, 0]);
  expect([live.counts.queued, live.counts.delivered]).toEqual([1, 2]);
  expect([sandbox.counts.queued, sandbox.counts.delivered]).toEqual([0, 2]);
  expect(sandbox.storage).toEqual(live.storage);
});

test('counts look back to the UTC day of thirty days ago', async () => {
  await fixture.accept(sender, draft());
  const tester = await fixture.sender({ isTest: true });
  await fixture.accept(tester, draft());
  const counts = async () => [
    (await usageOf(fixture.ctx, sender.account)).counts.queued,
    (await usageOf(fixture.ctx, sender.account, true)).counts.delivered,
  ];
  // 15 January at noon; the last moment of the thirtieth day after, and the first of the next.
  fixture.clock.pass(30.5 * DAY_MS - 1);
  expect(await counts()).toEqual([1, 1]);
  fixture.clock.pass(1);
  expect(await counts()).toEqual([0, 0]);
});

test('a claim is for the UTC day, with the limits of the plan', () => {
  const plan = { ...sender.plan, dailyLimit: 7, includedEmails: 9 };
  const now = Date.UTC(2026, 0, 31, 23, 59, 59, 999);
  expect(usageClaim(plan, sender.account, 2, now)).toEqual({
    count: 2,
    day: '2026-01-31',
    dailyLimit: 7,
    monthlyLimit: 9,
  });
  expect(usageClaim(plan, sender.account, 0, now)).toBeNull();
});

test('the daily limit of a young account is that of its age, in a claim and in what is shown', async () => {
  const byAge = { dailyLimit: 500, dailyLimitByAgeDays: [[0, 100] as const, [7, 300] as const] };
  const plan = { ...sender.plan, ...byAge, id: 'aged', includedEmails: 0 } as typeof sender.plan;
  const { config } = fixture.ctx;
  const plans = new Map([['aged', plan]]);
  const ctx = { ...fixture.ctx, config: { ...config, live: { ...config.live, plans } } };
  const account = { ...sender.account, plan: 'aged' };
  const limits = async (): Promise<unknown[]> => [
    usageClaim(plan, account, 1, fixture.clock.now())?.dailyLimit,
    (await usageOf(ctx, account)).plan.dailyLimit,
  ];
  expect(await limits()).toEqual([100, 100]);
  fixture.clock.pass(7 * DAY_MS);
  expect(await limits()).toEqual([300, 300]);
  // With nothing included there is no share of it, whatever was used.
  await fixture.accept(sender, draft());
  expect((await usageOf(ctx, account)).usage).toMatchObject({ usedThisMonth: 1, percent: 0 });
});

test('the log says what was accepted, for how many, and how many of them wait', async () => {
  const to = ['ann@receiver.example', 'ben@receiver.example', 'bounced@sandbox.test'];
  const { messageIds } = await fixture.accept(sender, draft({ to: to.map((one) => mailbox(one)) }));
  expect(fixture.logged.find((line) => line['event'] === 'accepted')).toMatchObject({
    request_id: sender.requestId,
    message_ids: messageIds,
    account_id: sender.account.id,
    recipients: 3,
    queued: 2,
  });
});

test('the log says which email a repeated request was about', async () => {
  const idempotency = { key: 'k', route: 'POST /emails', bodyHash: 'h' };
  const { messageIds } = await fixture.accept(sender, draft(), { idempotency });
  await fixture.accept(sender, draft(), { idempotency });
  expect(fixture.logged.find((line) => line['event'] === 'replayed')).toMatchObject({
    request_id: sender.requestId,
    message_ids: messageIds,
  });
});
