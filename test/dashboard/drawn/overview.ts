/** The overview: its charts by period and account, its checklist, receivers that ask to slow down, and what is halted. */
import { overviewPages } from '../../../src/dashboard/pages/overview.ts';
import { finding, ok } from '../../../src/health/finding.ts';
import type { OutcomeBucket } from '../../../src/store/counters.ts';
import type { RefusedForm } from '../../../src/dashboard/frame/visit.ts';
import { account, ahead, type Drawing, NOW, opened, type Parts, visitOf } from './page.ts';

const NONE = { delivered: 0, delayed: 0, bounced: 0, complained: 0, failed: 0 };
const HOUR_MS = 3_600_000;
const bucket = (hoursAgo: number, more: Partial<OutcomeBucket>): OutcomeBucket => ({
  ...NONE,
  start: NOW - hoursAgo * HOUR_MS,
  destination: 'other',
  provider: '',
  ...more,
});
const BUCKETS = [
  bucket(0, { delivered: 3_000, destination: 'gmail', provider: 'Google' }),
  bucket(1, { delayed: 7, destination: 'microsoft', provider: 'Microsoft' }),
  bucket(5, { bounced: 40, failed: 2, destination: 'yahoo', provider: 'Yahoo <b>' }),
  bucket(30, { complained: 2, delivered: 900, destination: 'apple', provider: 'Apple' }),
  bucket(200, { bounced: 60, destination: 'corp' }),
];
const TWO = [account, { ...account, id: 'two', name: 'Two & co' }];
const SLOW = [
  { site: 'mx.<a>', cause: 'It said <no>.', hint: 'Wait & see.', untilMs: NOW + 60_000 },
  { site: 'mx.b', cause: 'It said so.', hint: null, untilMs: NOW + 61_000 },
];

interface Shown extends Parts {
  buckets?: readonly OutcomeBucket[];
  accounts?: readonly { id: string }[];
  slow?: readonly object[];
  halt?: object | null;
  findings?: object | null;
  clock?: object;
  counts?: readonly { waiting: number }[];
  disk?: object | null;
}

function page(given: Shown): Promise<string> {
  const { buckets = [], accounts = [account], slow = [], halt = null, findings = null } = given;
  const { counts = [], disk = null } = given;
  const asked: unknown[] = [];
  const visit = visitOf({
    ...given,
    ctx: {
      config: { startup: { delivery: { mode: 'direct' } } },
      disk: { last: disk },
      halt: { state: halt },
      ...(given.clock && { clock: given.clock }),
    },
    store: {
      queueCounts: (_: string | null, limit: number) => {
        asked.push(limit);
        const waiting = counts.reduce((sum, row) => sum + row.waiting, 0);
        const kinds = [{ kind: 'other', destinations: counts.length, waiting, oldestCreatedAt: 0 }];
        return Promise.resolve({ kinds, largest: counts.slice(0, limit) });
      },
      openCalls: () => Promise.resolve(1),
      outcomes: (query: { from: number; until: number }) => {
        asked.push(query);
        const isIn = ({ start }: OutcomeBucket): boolean => start >= query.from;
        return Promise.resolve(buckets.filter(isIn));
      },
      accounts: () => Promise.resolve(accounts),
      account: (wanted: string) =>
        Promise.resolve(accounts.find(({ id }) => id === wanted) ?? null),
      domains: () => Promise.resolve([]),
      keys: () => Promise.resolve([]),
      endpoints: () => Promise.resolve([]),
    },
    parts: {
      queue: { throttles: () => slow, counts: () => ({ inFlight: 1 }) },
      vitals: { findings },
    },
  });
  return opened(overviewPages, 'GET', '', visit).then((text) => {
    const narrow = text.replaceAll(/<g\s.*?<\/g\s*>/gs, (column) => column.replaceAll('\n', ' '));
    return `asked ${JSON.stringify(asked)}\n${narrow}`;
  });
}

/** The part around the charts, without their drawings. */
const around = (given: Shown): Promise<string> =>
  page(given).then((text) => text.replaceAll(/<figure.*?<\/figure>/gs, '(chart)'));

const form = (mayChange: boolean, refused: RefusedForm | null): Promise<string> =>
  opened(overviewPages, 'GET', '/halt', { ...visitOf({ mayChange }), refused });

const waiting = (domain: string, recipients: number, reason: string | null = null) => ({
  domain,
  waiting: recipients,
  oldestCreatedAt: NOW - recipients,
  reason,
});
/** The destinations that are listed of so many, and the tile of all recipients. */
async function destinations(count: number): Promise<string> {
  const counts = Array.from({ length: count }, (_, at) => waiting(`d${at}.example`, at + 1));
  const text = await around({ counts });
  const listed = text.match(/queue\?domain=[^"]*/g) ?? [];
  return [text.match(/Waiting<\/a>[\s\S]*?<\/li>/)?.[0], ...listed].join('\n');
}
/** The tile of the disk alone. */
async function diskOf(freeBytes: number, keptBytes: number): Promise<string> {
  const disk = { freeBytes, keptBytes, totalBytes: 5_000_000_000, reserveBytes: 100_000_000 };
  const text = await around({ disk });
  return text.match(/<li[^>]*>(?:(?!<li)[\s\S])*Free disk[\s\S]*?<\/li>/)?.[0] ?? 'no tile';
}

export const OVERVIEW: readonly Drawing[] = [
  ['an hour of each kind', () => page({ buckets: BUCKETS })],
  ['seven days', () => page({ buckets: BUCKETS, query: 'period=7d' })],
  ['thirty days', () => page({ buckets: BUCKETS, query: 'period=30d' })],
  [
    'of one of two accounts',
    () => around({ buckets: BUCKETS.slice(0, 1), accounts: TWO, query: 'period=7d&account=two' }),
  ],
  [
    'of an account that there is not',
    () =>
      around({
        buckets: BUCKETS.slice(0, 1),
        accounts: TWO,
        query: 'account=none&period=toString',
      }),
  ],
  ['of no account at all', () => around({ accounts: [] })],
  ['before the first email', () => around({})],
  ['what became of mail, and none was delivered', () => around({ buckets: BUCKETS.slice(1, 2) })],
  ['for a reader', () => around({ buckets: BUCKETS.slice(0, 1), mayChange: false })],
  ['halted', () => around({ buckets: BUCKETS.slice(0, 1), halt: { reason: 'x' } })],
  [
    'what waits, by its destination',
    () =>
      around({
        counts: [
          waiting('gmail.com', 1_234, '452 4.2.2 <full>'),
          waiting('[IPv6:2001:db8::1]', 2),
          waiting('a&b=c.example', 3),
        ],
      }),
  ],
  ['twenty destinations', () => destinations(20)],
  ['twenty-one destinations', () => destinations(21)],
  ...[
    [0, 0],
    [99, 0],
    [100, 0],
    [199, 0],
    [200, 0],
    [49, 50],
    [50, 50],
    [150, 50],
  ].map(([free = 0, kept = 0]): Drawing => [
    `${free} MB free and ${kept} MB kept back, of which 100 MB are the reserve`,
    () => diskOf(free * 1_000_000, kept * 1_000_000),
  ]),
  ['one receiver asked to slow down', () => around({ slow: SLOW.slice(1) })],
  ['two receivers, where the time was set', () => around({ slow: SLOW, clock: ahead })],
  [
    'a host check that found all well',
    () => around({ findings: { checkedAt: NOW, findings: [ok('a', 'Fine.'), ok('b', 'Fine.')] } }),
  ],
  [
    'a host check that found something',
    () =>
      around({
        findings: {
          checkedAt: NOW,
          findings: [
            ok('a', 'Fine.'),
            finding('b', 'warning', 'Odd <b>.', 'Look.'),
            finding('c', 'unchecked', 'Unknown.', 'Ask.'),
          ],
        },
      }),
  ],
  ['the form that halts', () => form(true, null)],
  ['the form that halts for a reader', () => form(false, null)],
  [
    'a refused halt keeps its reason',
    () =>
      form(true, {
        action: '/dashboard/halt',
        fields: new URLSearchParams({ reason: '<b>"' }),
        issues: new Map([['reason', 'Too long.']]),
        message: null,
      }),
  ],
];
