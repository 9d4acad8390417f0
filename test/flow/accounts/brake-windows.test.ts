/** Which days and hours the brake looks at, and whom it leaves alone, over counters that are given. */
import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test';
import { Brake, brakeSetting } from '../../../src/flow/accounts/brake.ts';
import { setAccountStatus } from '../../../src/flow/accounts/accounts.ts';
import type { AccountStatus } from '../../../src/base/status.ts';
import type { Harm } from '../../../src/store/counters.ts';
import { openFixture, type Fixture } from '../fixture.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

let fixture: Fixture;
let accountId: string;
beforeEach(async () => {
  fixture = await openFixture();
  accountId = (await fixture.sender()).account.id;
});
afterEach(() => fixture.close());

const NONE: Harm = { hardBounces: 0, complaints: 0 };

/** A brake over these counters: `sent` by day, `harm` by the hour from which it is asked. */
function brakeOver(sent: (day: string) => number, harm: (sinceMs: number) => Harm) {
  const asked = { days: new Set<string>(), since: [] as number[], least: NONE };
  const store = {
    ...fixture.ctx.store,
    harmedAccounts: async (since: number, least: Harm) => {
      asked.since.push(since);
      asked.least = least;
      return [accountId];
    },
    usedOnDay: async (_id: string, day: string) => {
      asked.days.add(day);
      return sent(day);
    },
    harm: async (_id: string, since: number) => harm(since),
  };
  return { asked, brake: new Brake({ ...fixture.ctx, store }) };
}

const status = async () => (await fixture.ctx.store.account(accountId))?.status;

test('it looks at seven UTC days, the present one among them, and asks for what is worth a rate', async () => {
  const { asked, brake } = brakeOver(
    () => 10,
    () => NONE,
  );
  await brake.run();
  expect(asked.since).toEqual([Date.UTC(2026, 0, 9)]);
  expect(asked.least).toEqual({ hardBounces: 20, complaints: 5 });
  expect([...asked.days].sort()).toEqual(
    [9, 10, 11, 12, 13, 14, 15].map((day) => `2026-01-${String(day).padStart(2, '0')}`),
  );
});

test('a rate of two days counts although the week has a lower one', async () => {
  const { brake } = brakeOver(
    (day) => (day >= '2026-01-14' ? 100 : 10_000),
    () => ({ hardBounces: 20, complaints: 0 }),
  );
  await brake.run();
  expect(await status()).toBe('paused');
});

test.each(['paused', 'payment_required'] as const)(
  'an account that is %s is left as it is',
  async (before: AccountStatus) => {
    await setAccountStatus(fixture.ctx, accountId, before, 'By the operator.');
    const { brake } = brakeOver(
      () => 1_000,
      () => ({ hardBounces: 900, complaints: 900 }),
    );
    await brake.run();
    const account = await fixture.ctx.store.account(accountId);
    expect(account).toMatchObject({ status: before, statusReason: 'By the operator.' });
  },
);

test.each([
  // bounces, complaints in all; those of that hour until the pause → status
  [219, 0, 200, 0, 'active'],
  [240, 0, 200, 0, 'paused'],
  [0, 14, 0, 10, 'active'],
  [0, 15, 0, 10, 'paused'],
])(
  'after a pause %p bounces and %p complaints, less %p and %p from before it: %s',
  async (bounces, complaints, bouncesBefore, complaintsBefore, expected) => {
    const at = fixture.clock.now();
    const harmThatHour = { hardBounces: bouncesBefore, complaints: complaintsBefore };
    const pause = { at, sentThatDay: 1_000, harmThatHour };
    await fixture.ctx.store.setSetting(brakeSetting(accountId), JSON.stringify(pause));
    fixture.clock.pass(60_000);
    const { brake } = brakeOver(
      (day) => (day === '2026-01-15' ? 1_200 : 50_000),
      (since) => (since === at ? { hardBounces: bounces, complaints } : NONE),
    );
    await brake.run();
    expect(await status()).toBe(expected as AccountStatus);
  },
);

test('a pause of an earlier window is forgotten by the two days and kept by the week', async () => {
  const at = fixture.clock.now() - 3 * DAY_MS;
  const pause = { at, sentThatDay: 0, harmThatHour: NONE };
  await fixture.ctx.store.setSetting(brakeSetting(accountId), JSON.stringify(pause));
  const since: number[] = [];
  const { brake } = brakeOver(
    () => 1_000,
    (from) => {
      since.push(from);
      return NONE;
    },
  );
  await brake.run();
  expect(since).toEqual([Date.UTC(2026, 0, 14), at]);
});

test('what was sent before a pause is taken from the window of the pause alone', async () => {
  const at = fixture.clock.now() - 3 * DAY_MS;
  const pause = { at, sentThatDay: 10_000, harmThatHour: NONE };
  await fixture.ctx.store.setSetting(brakeSetting(accountId), JSON.stringify(pause));
  const { brake } = brakeOver(
    (day) => (day === '2026-01-12' ? 10_000 : 100),
    (from) => ({ hardBounces: from === at ? 0 : 100, complaints: 0 }),
  );
  await brake.run();
  expect(await status()).toBe('paused');
});

test('each day is asked for once and counts, and the reason names the week and the complaints', async () => {
  const days: string[] = [];
  const { brake } = brakeOver(
    (day) => {
      days.push(day);
      return day === '2026-01-09' ? 1_000 : 30;
    },
    (since) => ({ hardBounces: 0, complaints: since === Date.UTC(2026, 0, 9) ? 9 : 0 }),
  );
  await brake.run();
  const january = (...numbers: number[]) =>
    numbers.map((number) => `2026-01-${String(number).padStart(2, '0')}`);
  // Of the present day once more: what a pause remembers.
  expect(days).toEqual(january(15, 14, 15, 14, 13, 12, 11, 10, 9, 15));
  const account = await fixture.ctx.store.account(accountId);
  expect(account?.statusReason).toBe(
    '9 of 1180 emails since 2026-01-09 were complained about (0.8 %; the limit is 0.5 %).',
  );
});

test('what a pause remembers is when it was, what was sent that day and the harm of its hour', async () => {
  const since: number[] = [];
  const { brake } = brakeOver(
    (day) => (day === '2026-01-15' ? 300 : 0),
    (from) => {
      since.push(from);
      return { hardBounces: 40, complaints: 1 };
    },
  );
  await brake.run();
  const now = fixture.clock.now();
  expect(JSON.parse((await fixture.ctx.store.setting(brakeSetting(accountId))) ?? '')).toEqual({
    at: now,
    sentThatDay: 300,
    harmThatHour: { hardBounces: 40, complaints: 1 },
  });
  expect(since).toEqual([Date.UTC(2026, 0, 14), now]);
});

test.each([
  // limit per 1,000 complaints, complaints of 1,000 → status
  [0, 900, 'active'],
  [5, 4, 'active'],
  [5, 5, 'paused'],
  [6, 5, 'active'],
])('at %d complaints of 1,000 allowed, %d leave it %s', async (limit, complaints, expected) => {
  const { live } = fixture.ctx.config;
  const config = {
    ...fixture.ctx.config,
    live: { ...live, brake: { bouncesPer1000: 0, complaintsPer1000: limit } },
  };
  const store = {
    ...fixture.ctx.store,
    harmedAccounts: async () => [accountId],
    usedOnDay: async (_id: string, day: string) => (day === '2026-01-15' ? 1_000 : 0),
    harm: async () => ({ hardBounces: 1_000, complaints }),
  };
  await new Brake({ ...fixture.ctx, config, store }).run();
  expect(await status()).toBe(expected as AccountStatus);
});

test('a pause just before midnight counts from the next moment, which is another day', async () => {
  fixture.clock.jump(Date.UTC(2026, 0, 16) - 1 - fixture.clock.now());
  const pause = { at: fixture.clock.now(), sentThatDay: 100, harmThatHour: NONE };
  await fixture.ctx.store.setSetting(brakeSetting(accountId), JSON.stringify(pause));
  fixture.clock.jump(3_600_000);
  const { asked, brake } = brakeOver(
    () => 299,
    () => ({ hardBounces: 100, complaints: 0 }),
  );
  await brake.run();
  expect([[...asked.days], await status()]).toEqual([['2026-01-16'], 'active']);
});

test.each([
  // sent on that day in all, and until the pause; bounces of that hour until then
  [399, 200, 0],
  [1_000, 0, 81],
])(
  'a pause in the first moment of a window is in it: what was before it counts no more (%p, %p, %p)',
  async (sent, sentThatDay, bounces) => {
    const harmThatHour = { hardBounces: bounces, complaints: 0 };
    const pause = { at: Date.UTC(2026, 0, 14), sentThatDay, harmThatHour };
    await fixture.ctx.store.setSetting(brakeSetting(accountId), JSON.stringify(pause));
    const { brake } = brakeOver(
      (day) => (day === '2026-01-14' ? sent : 0),
      () => ({ hardBounces: 100, complaints: 0 }),
    );
    await brake.run();
    expect(await status()).toBe('active');
  },
);

test.each(['null', '{"at":"yesterday"}'])('a stored %s is no pause', async (text) => {
  await fixture.ctx.store.setSetting(brakeSetting(accountId), text);
  const { brake } = brakeOver(
    () => 300,
    () => ({ hardBounces: 300, complaints: 0 }),
  );
  await brake.run();
  expect(await status()).toBe('paused');
  expect([brake.firstMs, brake.everyMs(), brake.failure]).toEqual([
    60_000,
    60_000,
    {
      event: 'brake_failed',
      hint: 'Bounce and complaint rates are not watched now; it is tried again in a minute.',
    },
  ]);
});

test('a pause before the two days takes no day from them, nor adds one', async () => {
  const at = fixture.clock.now() - 3 * DAY_MS;
  const pause = { at, sentThatDay: 90_000, harmThatHour: NONE };
  await fixture.ctx.store.setSetting(brakeSetting(accountId), JSON.stringify(pause));
  // Little was sent in the two days, and much on the days since the pause.
  const { brake } = brakeOver(
    (day) => (day >= '2026-01-14' ? 100 : 100_000),
    () => ({ hardBounces: 20, complaints: 0 }),
  );
  await brake.run();
  const account = await fixture.ctx.store.account(accountId);
  expect(account?.statusReason).toBe(
    '20 of 200 emails since 2026-01-14 bounced (10.0 %; the limit is 10 %).',
  );
});

test('what a pause remembers is written before the account is paused: without it old harm would count again', async () => {
  const over = () =>
    brakeOver(
      () => 1_000,
      () => ({ hardBounces: 900, complaints: 900 }),
    );
  const before = spyOn(fixture.ctx.store, 'setSetting').mockRejectedValue(new Error('disk full'));
  expect(await over().brake.run().catch(String)).toBe('Error: disk full');
  before.mockRestore();
  expect([await status(), fixture.logged]).toEqual(['active', []]);
  await over().brake.run();
  expect(await status()).toBe('paused');
});
