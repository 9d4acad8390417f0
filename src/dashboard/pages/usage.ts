/**
 * What an account has used, day by day, against its plan.
 *
 * From the counters that acceptances spend (flow/accounts/usage), so that the page shows what decides.
 */
import { dayOf, type Usage, usageOf } from '../../flow/accounts/usage.ts';
import { chart } from '../frame/chart.ts';
import { html } from '../frame/html.ts';
import { card, type Tile, tiles } from '../frame/table.ts';
import { badge, bytes, number } from '../frame/values.ts';
import type { Page, Visit } from '../frame/visit.ts';
import { accountOf } from './accounts.ts';
import { recipientsNote } from './recipients-note.ts';

const DAY_MS = 86_400_000;
const DAYS = 30;
/** From this share of a limit on the number is shown as a warning. */
const NEAR = 0.8;

export const usagePages: readonly Page[] = [
  { method: 'GET', path: '/accounts/:account/usage', open: usagePage },
];

async function usagePage(visit: Visit): ReturnType<Page['open']> {
  const { ctx } = visit;
  const account = await accountOf(visit);
  const now = ctx.clock.now();
  const columns = Array.from({ length: DAYS }, (_, at) => dayOf(now - (DAYS - 1 - at) * DAY_MS));
  const used = new Map(
    (await ctx.store.usedByDay(account.id, columns[0] ?? '')).map(({ day, count }) => [day, count]),
  );
  const usage = await usageOf(ctx, account);
  const today = used.get(dayOf(now)) ?? 0;
  const { dailyLimit } = usage.plan;
  const days = chart({
    title: `Emails of the last ${DAYS} days that count against the plan`,
    over: 'Day (UTC)',
    columns,
    ticks: [0, 1, 2, 3].map((third) =>
      (columns[Math.round((third * (DAYS - 1)) / 3)] ?? '').slice(5),
    ),
    series: [{ key: 'used', label: 'Emails', values: columns.map((day) => used.get(day) ?? 0) }],
    isWhole: true,
    words: number,
    ...(dailyLimit !== null && {
      lines: [{ value: dailyLimit, label: `${number(dailyLimit)} a day`, tone: 'bad' }],
    }),
  });
  const body = html`<p>
      Plan <b>${usage.plan.id}</b> ${account.status !== 'active' && badge(account.status)}
      ${account.statusReason}
    </p>
    ${recipientsNote(visit, account)} ${tiles(numbers(usage, today))} ${card('Emails a day', days)}
    <p class="soft">
      Days and months are UTC. Each live recipient that was accepted and not suppressed counts one;
      sandbox sends count nothing but their bytes.
    </p>`;
  return { kind: 'page', title: 'Usage', account, body };
}

function numbers({ usage, plan, storage }: Usage, today: number): Tile[] {
  const rows = [
    against('This month', usage.usedThisMonth, usage.includedEmails, number),
    against('Today', today, plan.dailyLimit, number),
    against('Content kept', storage.usedBytes, storage.limitBytes, bytes),
  ];
  if (usage.overage === 0) return rows;
  const beyond = number(usage.overage);
  return [...rows, { label: 'Beyond the plan', value: beyond, tone: 'fair' }];
}

function against(
  label: string,
  used: number,
  limit: number | null,
  words: (value: number) => string,
): Tile {
  const value = words(used);
  if (limit === null) return { label, value, hint: 'no limit' };
  const hint = `of ${words(limit)}`;
  if (used >= limit) return { label, value, hint, tone: 'bad' };
  return used >= limit * NEAR ? { label, value, hint, tone: 'fair' } : { label, value, hint };
}
