/** Outcomes of a period: which column a bucket falls into, the day before each column, and from where on rates warn. */
import { expect, test } from 'bun:test';
import {
  countedIn,
  isNothing,
  outcomeCharts,
  outcomeTiles,
  type Period,
} from '../../../src/dashboard/pages/outcome-charts.ts';
import type { OutcomeBucket } from '../../../src/store/counters.ts';
import { TestClock } from '../../rig/clock.ts';
import { rowsOf, textOf } from '../page-text.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const NOW = Date.UTC(2026, 2, 20, 12, 30);
const NONE = { delivered: 0, delayed: 0, bounced: 0, complained: 0, failed: 0 };

const bucket = (start: number, more: Partial<OutcomeBucket>): OutcomeBucket => ({
  ...NONE,
  start,
  destination: 'other',
  provider: '',
  ...more,
});

async function counted(period: Period, buckets: OutcomeBucket[], accountId: string | null = null) {
  const asked: unknown[] = [];
  const store = {
    outcomes: (query: unknown) => {
      asked.push(query);
      return Promise.resolve(buckets);
    },
  };
  const ctx = { store, clock: new TestClock(NOW) } as unknown as Parameters<typeof countedIn>[0];
  return { counted: await countedIn(ctx, period, accountId), asked: asked[0] };
}

test.each([
  ['24h', 24, HOUR_MS, Date.UTC(2026, 2, 20, 13), 23 * HOUR_MS, 'hour'],
  ['7d', 28, 6 * HOUR_MS, Date.UTC(2026, 2, 20, 18), 18 * HOUR_MS, 'hour'],
  ['30d', 30, DAY_MS, Date.UTC(2026, 2, 21), 0, 'day'],
] as const)(
  '%s has %d columns to the end of the present one',
  async (period, number, columnMs, until, before, kind) => {
    const from = until - number * columnMs;
    const { counted: found, asked } = await counted(period, [], 'account');
    expect(asked).toEqual({ accountId: 'account', from: from - before, until, bucket: kind });
    expect(found.starts).toEqual(Array.from({ length: number }, (_, at) => from + at * columnMs));
    expect(isNothing(found)).toBe(true);
  },
);

test('a bucket counts in its column, in the rates of a day, and in the totals of the period alone', async () => {
  const from = Date.UTC(2026, 2, 19, 13);
  const { counted: found } = await counted('24h', [
    // Before the period: it is in the rates of the first columns only.
    bucket(from - HOUR_MS, { delivered: 100 }),
    bucket(from, { delivered: 1, destination: 'gmail', provider: 'Google' }),
    bucket(from + 23 * HOUR_MS, { bounced: 2, failed: 3, delayed: 4, complained: 5 }),
  ]);
  expect(found.columns.map(({ delivered }) => delivered).join(' ')).toBe(`1${' 0'.repeat(23)}`);
  expect(found.columns[23]).toEqual({ ...NONE, bounced: 2, failed: 3, delayed: 4, complained: 5 });
  expect(found.total).toEqual({ delivered: 1, bounced: 2, failed: 3, delayed: 4, complained: 5 });
  const days = found.days.map(({ delivered }) => delivered);
  expect(days.slice(0, 23)).toEqual(Array.from({ length: 23 }, () => 101));
  expect(days[23]).toBe(1);
  expect([...found.byDestination.keys()]).toEqual(['Gmail', 'Other domains']);
  expect([...found.byProvider.keys()]).toEqual(['Google', 'Others']);
  expect(isNothing(found)).toBe(false);
});

interface Shown {
  value: string;
  hint: string;
  tone: string;
}

async function tiles(one: Partial<OutcomeBucket>): Promise<Record<string, Shown>> {
  const { counted: found } = await counted('24h', [bucket(NOW - HOUR_MS, one)]);
  const parts = String(outcomeTiles(found)).matchAll(
    /<li class="tile ([^"]*)">.*?tile-label"\s*>([^<]*)<.*?<b>([^<]*)<\/b>(.*?)<\/li>/gs,
  );
  return Object.fromEntries(
    Array.from(parts, ([, tone = '', label = '', value = '', rest = '']) => [
      label.trim(),
      { value, hint: textOf(rest), tone },
    ]),
  );
}

test.each([
  [{ delivered: 95, bounced: 5 }, 'Bounce rate', '5 %', 'bad'],
  [{ delivered: 951, bounced: 49 }, 'Bounce rate', '4.9 %', ''],
  [{ delivered: 94, bounced: 5 }, 'Bounce rate', '5.1 %', ''],
  [{ delivered: 1_000, complained: 1 }, 'Complaint rate', '0.1 %', 'fair'],
  [{ delivered: 10_000, complained: 9 }, 'Complaint rate', '0.09 %', ''],
  [{ delivered: 1_000, complained: 3 }, 'Complaint rate', '0.3 %', 'bad'],
  [{ delivered: 10_000, complained: 29 }, 'Complaint rate', '0.29 %', 'fair'],
  [{ delivered: 99, complained: 3 }, 'Complaint rate', '3 %', ''],
] as const)('%j: the %s is %s, %j', async (one, label, value, tone) => {
  expect((await tiles(one))[label]).toMatchObject({ value, tone });
});

test('tiles say how many, of what, and that few recipients say little', async () => {
  const few = await tiles({ delivered: 50, bounced: 20, failed: 30, delayed: 1_234 });
  expect(few).toEqual({
    Delivered: { value: '50', hint: '50 % of what ended', tone: '' },
    'Bounce rate': {
      value: '28.6 %',
      hint: 'few recipients say little; below 5 % is healthy',
      tone: '',
    },
    'Complaint rate': {
      value: '0 %',
      hint: 'few recipients say little; keep below 0.1 %, never 0.3 %',
      tone: '',
    },
    Delayed: { value: '1,234', hint: 'tried again by itself', tone: '' },
    Failed: { value: '30', hint: 'not delivered in time, or by a fault', tone: '' },
  });
  expect((await tiles({ delivered: 80, bounced: 20 }))['Bounce rate']?.hint).toBe(
    'below 5 % is healthy',
  );
  const nothing = await tiles({});
  expect(nothing['Delivered']).toEqual({ value: '0', hint: 'nothing yet', tone: '' });
  expect(nothing['Bounce rate']?.value).toBe('–');
});

test('destinations and providers are listed by what ended there, with shares', async () => {
  const { counted: found } = await counted('30d', [
    bucket(NOW - DAY_MS, { destination: 'microsoft', provider: 'Small', delivered: 10 }),
    bucket(NOW, {
      destination: 'gmail',
      provider: 'Google',
      delivered: 1_500,
      bounced: 500,
      complained: 15,
      delayed: 3,
    }),
    bucket(NOW, { destination: 'yahoo', provider: 'Small', bounced: 11, failed: 2 }),
  ]);
  const shown = String(outcomeCharts(found));
  const rows = rowsOf(shown);
  const none = '–';
  expect(rows.filter((row) => row['Destination'] !== undefined)).toEqual([
    {
      Destination: 'Gmail',
      Delivered: '1,500',
      Delayed: '3',
      Bounced: '500 25 %',
      Complained: '15 1 %',
      Failed: none,
    },
    {
      Destination: 'Yahoo, AOL',
      Delivered: none,
      Delayed: none,
      Bounced: '11 100 %',
      Complained: none,
      Failed: '2',
    },
    {
      Destination: 'Outlook, Hotmail',
      Delivered: '10',
      Delayed: none,
      Bounced: none,
      Complained: none,
      Failed: none,
    },
  ]);
  expect(rows.filter((row) => row['Provider'] !== undefined).map((row) => row['Provider'])).toEqual(
    ['Google', 'Small'],
  );
  // The volume of each day with all five outcomes, newest first.
  expect(rows.filter((row) => row['Day (UTC)'] !== undefined).slice(0, 2)).toEqual([
    {
      'Day (UTC)': '2026-03-20',
      Delivered: '1,500',
      Delayed: '3',
      Bounced: '511',
      Complained: '15',
      Failed: '2',
    },
    {
      'Day (UTC)': '2026-03-19',
      Delivered: '10',
      Delayed: '0',
      Bounced: '0',
      Complained: '0',
      Failed: '0',
    },
  ]);
  // Of 1,510 delivered and 511 bounced, 15 complained.
  expect(shown).toMatch(/Bounce rate\s*<b>25\.3 %<\/b>/);
  expect(shown).toMatch(/Complaint rate\s*<b>0\.99 %<\/b>/);
  expect(shown).toContain('<span>02-19</span>');
  expect(shown).toContain('<span>03-20 UTC</span>');
});
