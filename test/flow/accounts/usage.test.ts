/** Plans and usage: limits by age, overage and its cap, and the numbers of `GET /usage`. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { UNLIMITED, type Plan } from '../../../src/base/config.ts';
import { dailyLimit, monthlyLimit, planOf } from '../../../src/flow/accounts/plans.ts';
import { overQuota, usageClaim, usageOf } from '../../../src/flow/accounts/usage.ts';
import type { Account } from '../../../src/store/rows.ts';
import { draft, mailbox, openFixture, type Fixture } from '../fixture.ts';

const DAY_MS = 86_400_000;
const plan = (change: Partial<Plan>): Plan => ({ ...UNLIMITED, ...change });

describe('the daily limit', () => {
  const table: Plan['dailyLimitByAgeDays'] = [
    [0, 100],
    [7, 300],
  ];
  test.each([
    [null, [], 5, null],
    [500, [], 0, 500],
    [500, table, 0, 100],
    [500, table, 6.999, 100],
    [500, table, 7, 300],
    [200, table, 30, 200],
    [null, table, 30, 300],
    [500, [[3, 50]], 2, 500],
    // A clock that stepped back must not make an account older or younger than new.
    [500, table, -3, 100],
  ] as [number | null, Plan['dailyLimitByAgeDays'], number, number | null][])(
    'of %p with %j at %p days is %p',
    (limit, byAge, ageDays, expected) => {
      const rules = plan({ dailyLimit: limit, dailyLimitByAgeDays: byAge });
      expect(dailyLimit(rules, { createdAt: 0 }, ageDays * DAY_MS)).toBe(expected);
    },
  );
});

test.each([
  ['daily', 5, 3, '2 are left until 2026-02-01T00:00:00.000Z', 3_600],
  ['daily', 5, 4, '; 1 is left until 2026-02-01T00:00:00.000Z', 3_600],
  ['daily', 5, 5, '0 are left until 2026-02-01T00:00:00.000Z', 3_600],
  ['monthly', 5, 9, '0 are left until 2026-02-01T00:00:00.000Z', 3_600],
] as const)('beyond the %s limit of %p with %p used: %s', (which, limit, used, words, seconds) => {
  const refused = overQuota(which, limit, used, Date.UTC(2026, 0, 31, 23));
  expect(refused.message).toContain(words);
  expect(refused.headers['Retry-After']).toBe(String(seconds));
  expect(refused.detail).toMatchObject({ period: which, limit, used });
});

test.each([
  [null, 400, 20_000, null],
  [3_000, null, null, 3_000],
  [3_000, null, 20_000, 3_000],
  [3_000, 400, 20_000, 53_000],
  [3_000, 400, 900, 6_000],
  [3_000, 400, 0, 3_000],
  [3_000, 400, null, null],
  [3_000, 0, 20_000, null],
  [0, 400, 400, 1_000],
])('the month of %p included at %p sen up to %p ends at %p', (included, rate, cap, expected) => {
  const rules = plan({ includedEmails: included, overageSenPerThousand: rate, overageCapSen: cap });
  expect(monthlyLimit(rules)).toBe(expected);
});

test('a plan that has gone from the config falls back to unlimited', () => {
  const plans = new Map([[UNLIMITED.id, UNLIMITED]]);
  expect(planOf(plans, { plan: 'gone' })).toBe(UNLIMITED);
});

describe('what GET /usage says', () => {
  let fixture: Fixture;
  beforeEach(async () => {
    fixture = await openFixture({
      toml: '[[plans]]\nid = "tiny"\nincluded_emails = 2\noverage_sen_per_thousand = 400\noverage_cap_sen = 700\n[[plans]]\nid = "open"\nincluded_emails = 2\noverage_sen_per_thousand = 400\n',
    });
  });
  afterEach(() => fixture.close());

  test('counts recipients of this month, blocks that were begun, and messages by status', async () => {
    const sender = await fixture.sender({ plan: 'tiny' });
    await fixture.verified(sender, 'acme.example');
    const to = ['a', 'b', 'c'].map((local) => mailbox(`${local}@receiver.example`));
    await fixture.accept(sender, draft({ to }));
    await fixture.accept(sender, draft({ to: [mailbox('bounced@sandbox.test')] }));
    const { usage, counts, ...rest } = await usageOf(fixture.ctx, sender.account);
    expect(usage).toEqual({
      usedThisMonth: 3,
      includedEmails: 2,
      overage: 1,
      overageBlocks: 1,
      overageChargedSen: 400,
      overageCapSen: 700,
      percent: 150,
    });
    expect(counts).toEqual({
      queued: 1,
      sent: 0,
      delivered: 0,
      delivery_delayed: 0,
      bounced: 1,
      complained: 0,
      failed: 0,
      suppressed: 0,
    });
    expect(rest).toMatchObject({ period: '2026-01', periodDays: 30, plan: { id: 'tiny' } });
    await fixture.clock.advance(20 * DAY_MS);
    const next = await usageOf(fixture.ctx, sender.account);
    expect([next.period, next.usage.usedThisMonth]).toEqual(['2026-02', 0]);
  });

  test('the charge stops at the cap', async () => {
    const { account } = await fixture.sender({ plan: 'tiny' });
    const store = { ...fixture.ctx.store, usedInMonth: async () => 2 + 1_500 };
    const { usage } = await usageOf({ ...fixture.ctx, store }, account);
    expect([usage.overageBlocks, usage.overageChargedSen]).toEqual([2, 700]);
  });

  test('without a cap each block that was begun is charged', async () => {
    const { account } = await fixture.sender({ plan: 'open' });
    const store = { ...fixture.ctx.store, usedInMonth: async () => 2 + 1_500 };
    const { usage } = await usageOf({ ...fixture.ctx, store }, account);
    const { overageBlocks, overageChargedSen, overageCapSen } = usage;
    expect([overageBlocks, overageChargedSen, overageCapSen]).toEqual([2, 800, null]);
  });
});

test('an acceptance claims both limits, that by age also where the plan has no other', () => {
  const account = { createdAt: 0 } as Account;
  const claimed = (rules: Partial<Plan>, ageDays: number) =>
    usageClaim(plan(rules), account, 3, ageDays * DAY_MS);
  const byAge: Partial<Plan> = { dailyLimitByAgeDays: [[0, 100]], includedEmails: 7 };
  const claim = { count: 3, day: '1970-01-02', dailyLimit: 100, monthlyLimit: 7 };
  expect(claimed(byAge, 1)).toEqual(claim);
  expect(claimed({ ...byAge, dailyLimit: 40 }, 1)).toEqual({ ...claim, dailyLimit: 40 });
  expect(claimed({}, 1)).toEqual({ ...claim, dailyLimit: null, monthlyLimit: null });
  expect(usageClaim(plan(byAge), account, 0, 0)).toBeNull();
});

test('of no included emails there is no share, and every one is beyond them', async () => {
  const store = {
    usedInMonth: async () => 1_001,
    countsByStatus: async () => ({}),
    storedBytes: async () => 0,
  };
  const account = { id: 'a', plan: 'none', createdAt: 0 };
  const none = plan({ id: 'none', includedEmails: 0, overageSenPerThousand: 7 });
  const config = { live: { plans: new Map([['none', none]]) } };
  const clock = { now: () => 0 };
  const { usage } = await usageOf({ config, clock, store } as never, account as never);
  expect(usage).toMatchObject({
    includedEmails: 0,
    overage: 1_001,
    overageBlocks: 2,
    overageChargedSen: 14,
    percent: 0,
  });
});
