/**
 * What became of recipients over time: volume, bounce and complaint rates with the lines that matter, and the same by
 * destination and provider.
 *
 * Reads the counters that the store keeps (`store/counters.ts`); nothing is counted here, so that the page takes the same
 * time with a million messages. A rate is that of the 24 hours which end with its column: of one hour's few recipients
 * it would say nothing, and a complaint comes hours after the delivery it is about. Times are UTC.
 */
import type { Context } from '../../flow/context.ts';
import type { OutcomeBucket, Outcomes } from '../../store/counters.ts';
import { chart, type Series } from '../frame/chart.ts';
import { html, type Html, type HtmlValue } from '../frame/html.ts';
import { card, table, tiles } from '../frame/table.ts';
import { number, percent } from '../frame/values.ts';

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
  /** Of the 24 hours that end with each column. */
  days: readonly Outcomes[];
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
  const [columns, days] = [
    Array.from({ length: number }, none),
    Array.from({ length: number }, none),
  ];
  const perDay = DAY_MS / columnMs;
  const before = from - (perDay - 1) * columnMs;
  const buckets = await ctx.store.outcomes({ accountId, from: before, until, bucket });
  const [byDestination, byProvider] = [new Map<string, Outcomes>(), new Map<string, Outcomes>()];
  const total = none();
  for (const one of buckets) {
    const at = Math.floor((one.start - from) / columnMs);
    for (const day of days.slice(Math.max(0, at), Math.max(0, at + perDay))) add(day, one);
    const column = columns[at];
    if (column === undefined) continue;
    add(column, one);
    add(total, one);
    add(sumsOf(byDestination, DESTINATIONS[one.destination] ?? one.destination), one);
    add(sumsOf(byProvider, one.provider || 'Others'), one);
  }
  const starts = columns.map((_, at) => from + at * columnMs);
  return { period, starts, columns, days, total, byDestination, byProvider };
}

/** Whether nothing became of anything in the period. */
export function isNothing({ total }: Counted): boolean {
  return Object.values(total).every((value) => value === 0);
}

/** The numbers at a glance. */
export function outcomeTiles({ total }: Counted): Html {
  const bounces = bounceShare(total);
  const complaints = complaintShare(total);
  const few = isMany(total) ? '' : 'few recipients say little; ';
  const ended = total.delivered + total.bounced + total.failed;
  return tiles([
    {
      label: 'Delivered',
      value: number(total.delivered),
      hint: ended === 0 ? 'nothing yet' : `${percent(total.delivered, ended)} of what ended`,
    },
    {
      label: 'Bounce rate',
      value: percent(total.bounced, total.delivered + total.bounced),
      hint: `${few}below ${percent(BOUNCE_LINE, 1)} is healthy`,
      ...(isMany(total) && bounces >= BOUNCE_LINE && { tone: 'bad' as const }),
    },
    {
      label: 'Complaint rate',
      value: percent(total.complained, total.delivered),
      hint: `${few}keep below ${percent(COMPLAINT_LINE, 1)}, never ${percent(COMPLAINT_LIMIT, 1)}`,
      ...(isMany(total) &&
        complaints >= COMPLAINT_LINE && {
          tone: complaints >= COMPLAINT_LIMIT ? ('bad' as const) : ('fair' as const),
        }),
    },
    {
      label: 'Delayed',
      value: number(total.delayed),
      hint: 'tried again by itself',
    },
    {
      label: 'Failed',
      value: number(total.failed),
      hint: 'not delivered in time, or by a fault',
    },
  ]);
}

/** The charts and tables of a period. */
export function outcomeCharts(counted: Counted): Html {
  const [columns, ticks] = [
    counted.starts.map((start) => nameOf(start, counted.period)),
    ticksOf(counted),
  ];
  const over = `${counted.period === '30d' ? 'Day' : 'From'} (UTC)`;
  const shares = (share: (one: Outcomes) => number): number[] => counted.days.map(share);
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
    isWhole: true,
    words: number,
  });
  const bounces = chart({
    title: 'Bounce rate of the 24 hours that end with each column',
    over,
    columns,
    ticks,
    series: [{ key: 'bounced', label: 'Bounce rate', values: shares(bounceShare) }],
    totals: [percent(total.bounced, total.delivered + total.bounced)],
    words: asPercent,
    lines: [{ value: BOUNCE_LINE, label: '5 %: receivers begin to refuse', tone: 'bad' }],
  });
  const complaints = chart({
    title: 'Complaint rate of the 24 hours that end with each column',
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
    <div class="columns">
      ${card('Bounces', bounces, OVER_A_DAY)} ${card('Complaints', complaints, OVER_A_DAY)}
    </div>
    <div class="columns">
      ${card('By destination', sharesTable('Destination', counted.byDestination), BY_DOMAIN)}
      ${card('By provider', sharesTable('Provider', counted.byProvider), BY_HOST)}
    </div>`;
}

const OVER_A_DAY = html`<span class="hint">rate of 24 hours</span>`;
const BY_DOMAIN = html`<span class="hint">by the domain of the address</span>`;
const BY_HOST = html`<span class="hint">by who runs the mail host</span>`;

/** The store's kinds of domains as people call them. */
const DESTINATIONS: Readonly<Record<string, string>> = {
  gmail: 'Gmail',
  microsoft: 'Outlook, Hotmail',
  yahoo: 'Yahoo, AOL',
  apple: 'iCloud',
  other: 'Other domains',
};

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
      amount(one.delivered),
      amount(one.delayed),
      withShare(one.bounced, one.delivered + one.bounced),
      withShare(one.complained, one.delivered),
      amount(one.failed),
    ]);
  return table(
    [
      [heading, 'title'],
      ['Delivered', 'number'],
      ['Delayed', 'number'],
      ['Bounced', 'number'],
      ['Complained', 'number'],
      ['Failed', 'number'],
    ],
    rows,
    'Nothing in this period.',
  );
}

/** Where nothing is, nothing shouts. */
function amount(value: number): HtmlValue {
  return value === 0 ? html`<span class="soft">–</span>` : number(value);
}

function withShare(value: number, of: number): HtmlValue {
  if (value === 0) return amount(0);
  return html`${amount(value)} <span class="line hint">${percent(value, of)}</span>`;
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
