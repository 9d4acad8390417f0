/** Which days and hours the brake looks at, and whom it leaves alone, over counters that are given. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
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
