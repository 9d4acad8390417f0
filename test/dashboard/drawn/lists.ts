/** Lists at the number of rows that they show at most, and one beyond it. */
import { auditPages } from '../../../src/dashboard/pages/audit.ts';
import { emailsPages } from '../../../src/dashboard/pages/emails.ts';
import { logPages } from '../../../src/dashboard/pages/logs.ts';
import { overviewPages } from '../../../src/dashboard/pages/overview.ts';
import { queuePages } from '../../../src/dashboard/pages/queue.ts';
import { suppressionPages } from '../../../src/dashboard/pages/suppressions.ts';
import { testEmailPages } from '../../../src/dashboard/pages/test-email.ts';
import type { AuditEntry } from '../../../src/store/people.ts';
import type { Recipient } from '../../../src/store/rows.ts';
import { newMessage, newSuppression } from '../../store/samples.ts';
import { account, ahead, type Drawing, NOW, opened, visitOf } from './page.ts';

const numbers = (count: number): number[] => Array.from({ length: count }, (_, at) => at);
const ID = '/accounts/:account';

/** What was asked of the store, and the page; of a table with many rows their number. */
async function around(page: Promise<string>, asked: unknown[] = []): Promise<string> {
  const text = (await page).replaceAll(/<tbody>.*?<\/tbody>/gs, (body) => {
    const rows = body.split('<tr>').length - 1;
    return rows > 3 ? `<tbody>${rows} rows</tbody>` : body;
  });
  return asked.length === 0 ? text : `asked ${JSON.stringify(asked)}\n${text}`;
}

const queueCounts = (count: number) => (_: string | null, limit: number) => {
  const all = numbers(count).map((at) => ({
    domain: `d${at}.example`,
    waiting: 1_000 - at,
    oldestCreatedAt: NOW - at,
    reason: at % 2 === 0 ? null : '451 <later>',
  }));
  const waiting = all.reduce((sum, row) => sum + row.waiting, 0);
  const kinds = [{ kind: 'other', destinations: count, waiting, oldestCreatedAt: NOW - count }];
  return Promise.resolve({ kinds: count === 0 ? [] : kinds, largest: all.slice(0, limit) });
};
const QUEUE_PARTS = {
  queue: { throttles: () => [], counts: () => ({ inFlight: 3 }) },
  vitals: { findings: null },
};
const destinations = (count: number) =>
  around(
    opened(
      queuePages,
      'GET',
      '/queue',
      visitOf({ store: { queueCounts: queueCounts(count) }, parts: QUEUE_PARTS }),
    ),
  );

function recipient(at: number, change: Partial<Recipient> = {}): Recipient {
  const [base] = newMessage('acc').recipients;
  if (base === undefined) throw new Error('no recipient');
  return {
    ...base,
    id: `r${at}`,
    messageId: 'm',
    address: `a${at}@x.example`,
    attempts: 2,
    nextAttemptAt: NOW + at,
    expiresAt: NOW + 1_000,
    lastReason: at === 0 ? null : `451 try ${at % 2}`,
    ...change,
  };
}

/** The page of one destination for which so many wait. */
function destination(
  count: number,
  query = 'domain=X.example',
  change: Partial<Recipient> = {},
  ctx: object = {},
) {
  const asked: unknown[] = [];
  const all = numbers(count).map((at) => recipient(at, change));
  const queue = (filter: { limit: number; after: string | null }) => {
    asked.push(filter);
    const from = all.findIndex(({ id }) => id === filter.after) + 1;
    return Promise.resolve(all.slice(from, from + filter.limit));
  };
  const visit = visitOf({ ctx, store: { queue }, parts: QUEUE_PARTS, query });
  return around(opened(queuePages, 'GET', '/queue', visit), asked);
}

const overview = (count: number, mode: string, disk: object | null) =>
  around(
    opened(
      overviewPages,
      'GET',
      '',
      visitOf({
        ctx: {
          config: { startup: { delivery: { mode } } },
          disk: { last: disk },
          halt: { state: null },
        },
        store: {
          queueCounts: queueCounts(count),
          openCalls: () => Promise.resolve(1_234),
          outcomes: () => Promise.resolve([]),
          accounts: () => Promise.resolve([]),
        },
        parts: QUEUE_PARTS,
      }),
    ),
  );
const disk = (freeBytes: number) => ({
  freeBytes,
  keptBytes: 1e8,
  totalBytes: 5e10,
  reserveBytes: 1e9,
});

function audit(count: number, query = '') {
  const asked: unknown[] = [];
  const entry = (at: number): AuditEntry & { seq: number } => ({
    seq: 1_000 - at,
    at: NOW - at,
    via: 'command',
    who: 'root',
    action: 'halt',
    target: '',
    accountId: at === 0 ? null : 'acc',
    address: null,
  });
  const visit = visitOf({
    query,
    store: {
      accounts: () => Promise.resolve([account]),
      audit: (page: { limit: number }) => {
        asked.push(page);
        return Promise.resolve(numbers(count).map(entry).slice(0, page.limit));
      },
    },
  });
  return around(opened(auditPages, 'GET', '/audit', visit), asked);
}

/** A page of rows, with more behind it or not. */
function listed(
  pages: Parameters<typeof opened>[0],
  part: string,
  verb: string,
  { rows, hasMore, query = '' }: { rows: object[]; hasMore: boolean; query?: string },
) {
  const asked: unknown[] = [];
  const visit = visitOf({
    query,
    store: {
      [verb]: (...given: unknown[]) => {
        asked.push(given);
        return Promise.resolve({ rows, hasMore });
      },
      domains: () => Promise.resolve([]),
      keys: () => Promise.resolve([{ id: 'k', name: 'shop', last4: 'wxyz' }]),
    },
  });
  return around(opened(pages, 'GET', `${ID}/${part}`, visit), asked);
}

const messages = (count: number): object[] =>
  numbers(count).map((at) => newMessage('acc', { id: `m${at}`, createdAt: NOW - at }).message);
const requests = numbers(2).map((at) => ({
  id: `l${at}`,
  method: 'GET',
  path: '/emails',
  status: [200, 503][at],
  durationMs: [null, 3][at],
  keyName: 'shop',
  messageId: null,
  createdAt: NOW,
}));
const suppressed = numbers(2).map((at) =>
  newSuppression('acc', `a${at}@x.example`, { id: `s${at}`, createdAt: NOW }),
);

/** The last lines of a CSV of so many rows, or of the last of them alone, and the number of its lines. */
async function csv(count: number, isLastAlone = false): Promise<string> {
  const row = newMessage('acc', { id: 'm', createdAt: NOW, subject: 'a, "b"' }).message;
  const last = { ...row, tags: [{ name: 'kind', value: 'last' }] };
  let left = count;
  let nowMs = 0;
  const emails = (_: string, { limit }: { limit: number }) => {
    const rows = Array.from({ length: Math.min(limit, left) }, () => row);
    left -= rows.length;
    // Each step of a search takes as long as one page may.
    nowMs += 100;
    if (left === 0 && rows.length > 0) rows[rows.length - 1] = last;
    return Promise.resolve({ rows, hasMore: left > 0 });
  };
  const page = emailsPages.find(({ path }) => path.endsWith('.csv'));
  const slow = { now: () => nowMs, steady: () => nowMs };
  const query = isLastAlone ? 'tag=kind=last' : '';
  const response = await page?.open(visitOf({ store: { emails }, query, ctx: { clock: slow } }));
  if (response?.kind !== 'document') throw new Error('no document');
  const lines = (await new Response(response.body as ReadableStream).text()).split('\r\n');
  return `${lines.length - 1} lines\n${JSON.stringify(lines.at(-2)?.replace(/<.*/, ''))}`;
}

/** The whole CSV of one email that has everything. */
async function fullRow(): Promise<string> {
  const { message } = newMessage('acc', {
    id: 'm',
    createdAt: NOW,
    status: 'bounced',
    from: 'Shop <shop@x.example>',
    to: ['ann@x.example', '=ben@x.example'],
    cc: ['cy@x.example', 'dee@x.example'],
    bcc: ['eve@x.example', 'fay@x.example'],
    subject: 'a, "b"',
    tags: [
      { name: 'kind', value: 'order' },
      { name: 'shop', value: '7' },
    ],
    failureReason: '550 no such user',
    messageId: '<m@x.example>',
  });
  const emails = () => Promise.resolve({ rows: [message], hasMore: false });
  const page = emailsPages.find(({ path }) => path.endsWith('.csv'));
  const response = await page?.open(visitOf({ store: { emails } }));
  if (response?.kind !== 'document') throw new Error('no document');
  return new Response(response.body as ReadableStream).text();
}

const testEmail = (count: number) =>
  opened(
    testEmailPages,
    'GET',
    '/test-email',
    visitOf({
      store: {
        accounts: ({ limit }: { limit: number }) =>
          Promise.resolve(
            numbers(count)
              .map((at) => ({ id: `a${at}`, name: `A${at}` }))
              .slice(0, limit),
          ),
        domains: (id: string) =>
          Promise.resolve([
            {
              id: `d-${id}`,
              name: `${id}.example`,
              status: id.endsWith('49') || id === 'a50' ? 'verified' : 'pending',
            },
          ]),
      },
    }),
  );

export const LISTS: readonly Drawing[] = [
  ['no destinations', () => destinations(0)],
  ['eighty destinations', () => destinations(80)],
  ['one more', () => destinations(81)],
  ['a destination for which nobody waits', () => destination(0)],
  ['one waits', () => destination(1)],
  ['two wait', () => destination(2)],
  ['two wait for one reason', () => destination(2, 'domain=x', { lastReason: '451 <b>' })],
  [
    'two wait, where the time was set',
    () => destination(2, 'domain=x.example', {}, { clock: ahead }),
  ],
  ['fifty wait', () => destination(50)],
  ['one more waits', () => destination(51)],
  ['the second page', () => destination(51, 'domain=x.example&after=r49')],
  ['five hundred wait', () => destination(500)],
  ['nearly two thousand wait', () => destination(1_999)],
  ['two thousand wait', () => destination(2_000)],
  ['overview in direct mode', () => overview(20, 'direct', disk(1_900_000_000))],
  ['overview in capture mode', () => overview(21, 'capture', disk(1_899_999_999))],
  ['overview by a smarthost', () => overview(0, 'smarthost', disk(900_000_000))],
  ['overview with a full disk', () => overview(0, 'direct', disk(899_999_999))],
  ['overview before the disk was measured', () => overview(0, 'direct', null)],
  ['fifty changes', () => audit(50)],
  ['one change more', () => audit(51, 'who=root&after=7')],
  ['changes after no number', () => audit(0, 'after=x')],
  ['changes after a large number', () => audit(0, 'after=999999999999999')],
  ['changes after too large a number', () => audit(0, 'after=1000000000000000')],
  ['emails', () => listed(emailsPages, 'emails', 'emails', { rows: messages(50), hasMore: true })],
  [
    'the last emails',
    () =>
      listed(emailsPages, 'emails', 'emails', {
        rows: messages(2),
        hasMore: false,
        query: 'after=m9&q=x',
      }),
  ],
  ['no emails', () => listed(emailsPages, 'emails', 'emails', { rows: [], hasMore: false })],
  ['requests', () => listed(logPages, 'logs', 'logs', { rows: requests, hasMore: true })],
  [
    'requests of a day',
    () =>
      listed(logPages, 'logs', 'logs', {
        rows: requests,
        hasMore: false,
        query: 'from=2026-02-28&to=2026-02-28&status=404&method=PATCH&key=k&q=x',
      }),
  ],
  ...['5', '100'].map((status): Drawing => [
    `requests of status ${status}`,
    () => listed(logPages, 'logs', 'logs', { rows: [], hasMore: false, query: `status=${status}` }),
  ]),
  [
    'requests by filters that are none',
    () =>
      listed(logPages, 'logs', 'logs', {
        rows: [],
        hasMore: false,
        query: 'from=2026-02-30&to=soon&status=3&method=get&key=none',
      }),
  ],
  [
    'suppressions',
    () =>
      listed(suppressionPages, 'suppressions', 'suppressions', { rows: suppressed, hasMore: true }),
  ],
  [
    'the last suppressions',
    () =>
      listed(suppressionPages, 'suppressions', 'suppressions', {
        rows: [],
        hasMore: false,
        query: 'after=a@x.example&reason=manual&q=a',
      }),
  ],
  ['a CSV of as many emails as it has at most', () => csv(100_000)],
  ['a CSV of one more', () => csv(100_001)],
  ['a CSV of none', () => csv(0)],
  ['a CSV of one that has everything', fullRow],
  ['a CSV of the one that is found behind more than it may have', () => csv(100_501, true)],
  ['test email from fifty accounts', () => testEmail(50)],
  ['test email from more accounts', () => testEmail(51)],
  ['test email from nowhere', () => testEmail(3)],
];
