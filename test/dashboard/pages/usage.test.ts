/** What an account has used against its plan: the numbers, and from where on they warn. */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { createAccount } from '../../../src/flow/accounts/accounts.ts';
import { TestClock } from '../../rig/clock.ts';
import { batchOf, newMessage } from '../../store/samples.ts';
import { type DashboardRig, startDashboardRig } from '../dashboard-rig.ts';

const DAY_MS = 86_400_000;
const PLAN =
  '[[plans]]\nid = "small"\nincluded_emails = 1000\ndaily_limit = 10\n\n[[plans]]\nid = "large"\ndaily_limit = 1300';

/** Of a host whose time was set two days ahead after the start. */
const clock = new TestClock(Date.UTC(2026, 2, 18, 12));
clock.jump(2 * DAY_MS);
let rig: DashboardRig;
beforeAll(async () => {
  rig = await startDashboardRig({ clock, config: PLAN });
});
afterAll(() => rig.stop());

interface Tile {
  value: string;
  hint: string;
  tone: string;
}

/** A new account on the plan that used so many emails on the days before today, first today; its page. */
async function pageOf(name: string, ...used: number[]): Promise<string> {
  const { ctx } = rig.rig.appliance;
  const { id } = await createAccount(ctx, { name, plan: 'small' });
  for (const [ago, count] of used.entries()) {
    const day = new Date(clock.now() - ago * DAY_MS).toISOString().slice(0, 10);
    const usage = { count, day, dailyLimit: null, monthlyLimit: null };
    await ctx.store.accept({ ...batchOf(id, newMessage(id)), usage });
  }
  return (await rig.visit(`/accounts/${id}/usage`)).text;
}

function tilesIn(text: string): Record<string, Tile> {
  const found = text.matchAll(
    /<li class="tile ([^"]*)">.*?tile-label"\s*>([^<]*)<.*?<b>([^<]*)<\/b>(.*?)<\/li>/gs,
  );
  return Object.fromEntries(
    Array.from(found, ([, tone = '', label = '', value = '', rest = '']) => [
      label.trim(),
      { value, hint: rest.replaceAll(/<[^>]*>/g, '').trim(), tone },
    ]),
  );
}

test.each([
  [7, ''],
  [8, 'fair'],
  [9, 'fair'],
  [10, 'bad'],
  [11, 'bad'],
])('%d of 10 a day are shown as %j', async (used, tone) => {
  const tiles = tilesIn(await pageOf(`uses ${used}`, used));
  expect(tiles['Today']).toEqual({ value: String(used), hint: 'of 10', tone });
  expect(tiles['This month']).toEqual({ value: String(used), hint: 'of 1,000', tone: '' });
  expect(tiles['Beyond the plan']).toBeUndefined();
});

test('the month is the sum of its days, and what is beyond the plan is a number of its own', async () => {
  const tiles = tilesIn(await pageOf('beyond', 0, 1200, 34));
  expect(tiles['Today']).toEqual({ value: '0', hint: 'of 10', tone: '' });
  expect(tiles['This month']).toEqual({ value: '1,234', hint: 'of 1,000', tone: 'bad' });
  expect(tiles['Beyond the plan']).toEqual({ value: '234', hint: '', tone: 'fair' });
  const [last, first] = [
    tilesIn(await pageOf('full', 0, 1000)),
    tilesIn(await pageOf('over', 0, 1001)),
  ];
  expect(last['Beyond the plan']).toBeUndefined();
  expect(first['Beyond the plan']).toEqual({ value: '1', hint: '', tone: 'fair' });
});

test('30 days are shown, to today, beside the daily limit', async () => {
  const before = Array.from({ length: 26 }, () => 0);
  const text = await pageOf('days', 3, 0, 4, ...before, 5, 6);
  const days = Array.from(text.matchAll(/(\d{4}-\d\d-\d\d): Emails (\d+)/g), ([, day, count]) => [
    day,
    count,
  ]);
  expect(days).toHaveLength(30);
  expect(days[0]).toEqual(['2026-02-19', '5']);
  expect(days.slice(-3)).toEqual([
    ['2026-03-18', '4'],
    ['2026-03-19', '0'],
    ['2026-03-20', '3'],
  ]);
  expect(text).toContain('10 a day');
  const { id } = await createAccount(rig.rig.appliance.ctx, { name: 'large', plan: 'large' });
  expect((await rig.visit(`/accounts/${id}/usage`)).text).toContain('1,300 a day');
});

test('an account that may not send is marked, with its reason', async () => {
  const { ctx } = rig.rig.appliance;
  expect(await pageOf('sends')).not.toContain('>active</span>');
  const account = await ctx.store.account('sends');
  await rig.submit(`/accounts/${account?.id}/pause`, { reason: 'unpaid since May' });
  const { text } = await rig.visit(`/accounts/${account?.id}/usage`);
  expect(text).toMatch(/>paused<\/span>\s*unpaid since May/);
});
