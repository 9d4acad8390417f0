/**
 * What became of recipients over time: volume, bounce and complaint rates with the lines that matter, and the same by
 * destination and provider.
 *
 * Reads the counters that the store keeps (`store/counters.ts`); nothing is counted here, so that the page takes the same
 * time with a million messages. Times are UTC.
 */
import type { Context } from '../../flow/context.ts';
import type { OutcomeBucket, Outcomes } from '../../store/counters.ts';
import { chart, type Series } from '../frame/chart.ts';
import { html, type Html } from '../frame/html.ts';
import { card, table, tiles } from '../frame/table.ts';
import { percent } from '../frame/values.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** From these shares on receivers lose trust: bounces as senders' guides say, complaints as Gmail's and Yahoo's rules do. */
const BOUNCE_LINE = 0.05;
const COMPLAINT_LINE = 0.001;
const COMPLAINT_LIMIT = 0.003;
/** Below so many recipients a share says little. */
const FEW = 100;

/** The periods to choose from: how many columns, and how long each is. */
export const PERIODS = {
  '24h': { label: '24 hours', columns: 24, columnMs: HOUR_MS, bucket: 'hour' },
  '7d': { label: '7 days', columns: 28, columnMs: 6 * HOUR_MS, bucket: 'hour' },
  '30d': { label: '30 days', columns: 30, columnMs: DAY_MS, bucket: 'day' },
} as const;
export type Period = keyof typeof PERIODS;

export interface Counted {
  period: Period;
  /** Start of each column, oldest first. */
  starts: readonly number[];
  columns: readonly Outcomes[];
  total: Outcomes;
  byDestination: ReadonlyMap<string, Outcomes>;
  byProvider: ReadonlyMap<string, Outcomes>;
}

/** The counters of a period that ends now. `accountId`: null for all accounts together. */
export async function countedIn(
  ctx: Pick<Context, 'store' | 'clock'>,
  period: Period,
  accountId: string | null,
): Promise<Counted> {
  const { columns: number, columnMs, bucket } = PERIODS[period];
  const until = (Math.floor(ctx.clock.now() / columnMs) + 1) * columnMs;
  const from = until - number * columnMs;
  const buckets = await ctx.store.outcomes({ accountId, from, until, bucket });
  const columns = Array.from({ length: number }, none);
  const [byDestination, byProvider] = [new Map<string, Outcomes>(), new Map<string, Outcomes>()];
  const total = none();
  for (const one of buckets) {
    const column = columns[Math.floor((one.start - from) / columnMs)];
    if (column === undefined) continue;
    add(column, one);
    add(total, one);
    add(sumsOf(byDestination, one.destination), one);
    add(sumsOf(byProvider, one.provider || 'others'), one);
  }
  const starts = columns.map((_, at) => from + at * columnMs);
  return { period, starts, columns, total, byDestination, byProvider };
}

/** The numbers at a glance. */
export function outcomeTiles({ total }: Counted): Html {
  const bounces = bounceShare(total);
  const complaints = complaintShare(total);
  return tiles([
    { label: 'Delivered', value: total.delivered.toLocaleString('en-US') },
    {
      label: 'Bounce rate',
      value: percent(total.bounced, total.delivered + total.bounced),
      hint: `below ${percent(BOUNCE_LINE, 1)} is healthy`,
      ...(isMany(total) && bounces >= BOUNCE_LINE && { tone: 'bad' as const }),
    },
    {
      label: 'Complaint rate',
      value: percent(total.complained, total.delivered),
      hint: `keep below ${percent(COMPLAINT_LINE, 1)}, never ${percent(COMPLAINT_LIMIT, 1)}`,
      ...(isMany(total) &&
        complaints >= COMPLAINT_LINE && {
          tone: complaints >= COMPLAINT_LIMIT ? ('bad' as const) : ('fair' as const),
        }),
    },
    {
      label: 'Delayed',
      value: total.delayed.toLocaleString('en-US'),
      hint: 'tried again by itself',
    },
    { label: 'Failed', value: total.failed.toLocaleString('en-US') },
  ]);
}

/** The charts and tables of a period. */
export function outcomeCharts(counted: Counted): Html {
  const [columns, ticks] = [
    counted.starts.map((start) => nameOf(start, counted.period)),
    ticksOf(counted),
  ];
  const over = `${counted.period === '30d' ? 'Day' : 'From'} (UTC)`;
  const shares = (share: (one: Outcomes) => number): number[] => counted.columns.map(share);
  const asPercent = (value: number): string => percent(value, 1);
  const { total } = counted;
  const volume = chart({
    title: `Recipients in the last ${PERIODS[counted.period].label}, by what became of them`,
    over,
    columns,
    ticks,
    series: SERIES.map(([key, label]): Series => ({
      key,
      label,
      values: counted.columns.map((one) => one[key]),
    })),
    words: (value) => value.toLocaleString('en-US'),
  });
  const bounces = chart({
    title: 'Bounce rate',
    over,
    columns,
    ticks,
    series: [{ key: 'bounced', label: 'Bounce rate', values: shares(bounceShare) }],
    totals: [percent(total.bounced, total.delivered + total.bounced)],
    words: asPercent,
    lines: [{ value: BOUNCE_LINE, label: '5 %: receivers begin to refuse', tone: 'bad' }],
  });
  const complaints = chart({
    title: 'Complaint rate',
    over,
    columns,
    ticks,
    series: [{ key: 'complained', label: 'Complaint rate', values: shares(complaintShare) }],
    totals: [percent(total.complained, total.delivered)],
    words: asPercent,
    lines: [
      { value: COMPLAINT_LINE, label: '0.1 %: stay below', tone: 'fair' },
      { value: COMPLAINT_LIMIT, label: '0.3 %: mail goes to spam', tone: 'bad' },
    ],
  });
  return html`${card('What became of recipients', volume)}
    <div class="columns">${card('Bounces', bounces)} ${card('Complaints', complaints)}</div>
    <div class="columns">
      ${card('By destination', sharesTable('Destination', counted.byDestination))}
      ${card('By provider', sharesTable('Provider', counted.byProvider))}
    </div>`;
}

const SERIES = [
  ['delivered', 'Delivered'],
  ['delayed', 'Delayed'],
  ['bounced', 'Bounced'],
  ['complained', 'Complained'],
  ['failed', 'Failed'],
] as const satisfies readonly (readonly [keyof Outcomes, string])[];

function sharesTable(heading: string, by: ReadonlyMap<string, Outcomes>): Html {
  const rows = Array.from(by)
    .toSorted(([, a], [, b]) => b.delivered + b.bounced - a.delivered - a.bounced)
    .map(([name, one]) => [
      name,
      one.delivered,
      one.delayed,
      html`${one.bounced}
        <span class="soft">${percent(one.bounced, one.delivered + one.bounced)}</span>`,
      html`${one.complained} <span class="soft">${percent(one.complained, one.delivered)}</span>`,
      one.failed,
    ]);
  return table(
    [heading, 'Delivered', 'Delayed', 'Bounced', 'Complained', 'Failed'],
    rows,
    'Nothing in this period.',
  );
}

/** `2026-11-22`, with the hour where columns are shorter than a day. */
function nameOf(start: number, period: Period): string {
  const iso = new Date(start).toISOString();
  return period === '30d' ? iso.slice(0, 10) : `${iso.slice(0, 10)} ${iso.slice(11, 16)}`;
}

function ticksOf({ starts, period }: Counted): string[] {
  const last = starts.length - 1;
  const words = [0, 1 / 3, 2 / 3, 1].map((share) => {
    const iso = new Date(starts[Math.round(share * last)] ?? 0).toISOString();
    return period === '24h' ? iso.slice(11, 16) : iso.slice(5, 10);
  });
  return [...words.slice(0, 3), `${words[3] ?? ''} UTC`];
}

function bounceShare({ delivered, bounced }: Outcomes): number {
  return bounced === 0 ? 0 : bounced / (delivered + bounced);
}

/** Complaints come later than deliveries: in a column without a delivery they are no share of anything. */
function complaintShare({ delivered, complained }: Outcomes): number {
  return delivered === 0 ? 0 : complained / delivered;
}

function isMany({ delivered, bounced }: Outcomes): boolean {
  return delivered + bounced >= FEW;
}

function none(): Outcomes {
  return { delivered: 0, delayed: 0, bounced: 0, complained: 0, failed: 0 };
}

function sumsOf(map: Map<string, Outcomes>, name: string): Outcomes {
  const known = map.get(name) ?? none();
  map.set(name, known);
  return known;
}

function add(to: Outcomes, one: OutcomeBucket): void {
  for (const [key] of SERIES) to[key] += one[key];
}
