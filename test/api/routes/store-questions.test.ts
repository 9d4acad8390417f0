/** What each list asks of the store, word for word: for a live key and for one of the sandbox, narrowed and not. */
import { afterAll, beforeAll, expect, spyOn, test } from 'bun:test';

import { PART_ROWS } from '../../../src/store/parts.ts';
import type { Account } from '../../../src/store/rows.ts';
import { TestClock } from '../../rig/clock.ts';
import { openBench, type Bench } from '../bench.ts';

const ID = '01913c7e-89ab-7cde-8f01-23456789abcd';

let bench: Bench;
let account: Account;
let keys: Record<'live' | 'sandbox', string>;

beforeAll(async () => {
  bench = await openBench({ clock: new TestClock() });
  account = await bench.account('asks', 'fast');
  keys = {
    live: await bench.key(account),
    sandbox: await bench.key(account, 'full_access', true),
  };
});
afterAll(() => bench.close());

type Question =
  | 'emails'
  | 'emailsByPage'
  | 'logs'
  | 'suppressions'
  | 'keys'
  | 'testKeys'
  | 'domains';

/** The arguments behind the account, of each call. */
async function asked(name: Question, path: string, who: 'live' | 'sandbox'): Promise<unknown[]> {
  const spy = spyOn(bench.ctx.store, name);
  const { status } = await bench.ask({ path, key: keys[who] });
  const calls = spy.mock.calls.map(([owner, ...rest]) => {
    expect(owner).toBe(account.id);
    return rest;
  });
  spy.mockRestore();
  expect([path, status]).toEqual([path, 200]);
  return calls;
}

const EMAILS = {
  limit: 50,
  after: null,
  before: null,
  q: null,
  status: null,
  isSandboxOnly: false,
};
const LOGS = { ...EMAILS, method: null };
/** One row more than is sent as a whole: with it, the list is long. */
const FIRST_PART = { limit: PART_ROWS + 1 };
const ALL = { limit: 100, after: null, before: null };

test.each([
  ['emails', '/emails', 'live', [[EMAILS]]],
  ['emails', '/emails', 'sandbox', [[{ ...EMAILS, isSandboxOnly: true }]]],
  [
    'emails',
    '/emails?limit=1&q=x&status=sent',
    'live',
    [[{ ...EMAILS, limit: 1, q: 'x', status: 'sent' }]],
  ],
  ['emails', `/emails?limit=100&after=${ID}`, 'live', [[{ ...EMAILS, limit: 100, after: ID }]]],
  ['emails', `/emails?before=${ID}&q=`, 'live', [[{ ...EMAILS, before: ID, q: '' }]]],
  // No email here ever has one of these.
  ...['scheduled', 'canceled', 'opened', 'clicked'].map((status) => [
    'emails',
    `/emails?status=${status}`,
    'live',
    [],
  ]),
  ...[
    'queued',
    'sent',
    'delivered',
    'delivery_delayed',
    'bounced',
    'complained',
    'failed',
    'suppressed',
  ].map((status) => ['emails', `/emails?status=${status}`, 'live', [[{ ...EMAILS, status }]]]),
  ['emailsByPage', '/email', 'live', [[1, 20, false]]],
  [
    'emailsByPage',
    '/email?page=9007199254740991&limit=100',
    'sandbox',
    [[9007199254740991, 100, true]],
  ],
  ['logs', '/logs', 'live', [[LOGS]]],
  ['logs', '/logs', 'sandbox', [[{ ...LOGS, isSandboxOnly: true }]]],
  ['logs', `/logs?limit=7&q=x&after=${ID}`, 'live', [[{ ...LOGS, limit: 7, q: 'x', after: ID }]]],
  ['logs', `/logs?before=${ID}`, 'live', [[{ ...LOGS, before: ID }]]],
  ...['2', '4', '5', '100', '404', '599'].map((status) => [
    'logs',
    `/logs?status=${status}`,
    'live',
    [[{ ...LOGS, status: Number(status) }]],
  ]),
  ...['GET', 'head', 'Post', 'pUT', 'PATCH', 'delete', 'options', 'smtp'].map((method) => [
    'logs',
    `/logs?method=${method}`,
    'live',
    [[{ ...LOGS, method: method.toUpperCase() }]],
  ]),
  ['suppressions', '/suppressions', 'live', [[null, ALL, undefined]]],
  ['suppressions', '/suppressions', 'sandbox', []],
  [
    'suppressions',
    '/suppressions?limit=500&q=x&origin=bounce',
    'live',
    [['x', { ...ALL, limit: 500 }, 'hard_bounce']],
  ],
  [
    'suppressions',
    '/suppressions?after=Ann@X.example&origin=manual',
    'live',
    [[null, { ...ALL, after: 'ann@x.example' }, 'manual']],
  ],
  [
    'suppressions',
    `/suppressions?before=${ID}`,
    'live',
    [[null, { ...ALL, before: ID }, undefined]],
  ],
  [
    'suppressions',
    '/suppressions?before=Ann@X.example',
    'live',
    [[null, { ...ALL, before: 'ann@x.example' }, undefined]],
  ],
  ['suppressions', `/suppressions?after=${ID}`, 'live', [[null, { ...ALL, after: ID }, undefined]]],
  // A further page, with every filter at once.
  ...(['live', 'sandbox'] as const).flatMap((who) => {
    const isSandboxOnly = who === 'sandbox';
    const page = { limit: 3, after: ID, before: null, q: 'x y', isSandboxOnly };
    return [
      [
        'emails',
        `/emails?after=${ID}&status=bounced&q=x%20y&limit=3`,
        who,
        [[{ ...page, status: 'bounced' }]],
      ],
      [
        'logs',
        `/logs?method=patch&after=${ID}&status=4&q=x%20y&limit=3`,
        who,
        [[{ ...page, status: 4, method: 'PATCH' }]],
      ],
    ];
  }),
  [
    'suppressions',
    '/suppressions?before=Ann%40X.example&origin=complaint&q=x&limit=3',
    'live',
    [['x', { limit: 3, after: null, before: 'ann@x.example' }, 'complaint']],
  ],
  ['keys', '/api-keys', 'live', [[FIRST_PART]]],
  ['keys', '/api-keys', 'sandbox', []],
  ['testKeys', '/api-keys', 'sandbox', [[FIRST_PART]]],
  ['domains', '/domains', 'live', [[FIRST_PART]]],
  ['domains', `/domains?limit=7&before=${ID}`, 'live', [[{ limit: 8, before: ID }]]],
  ['domains', '/domains', 'sandbox', []],
] as [Question, string, 'live' | 'sandbox', unknown[]][])(
  '%s for %s with a %s key',
  async (name, path, who, calls) => {
    expect(await asked(name, path, who)).toEqual(calls);
  },
);

const STATUS =
  'status must be a status code such as 404, or 2, 4 or 5 for all codes of that class.';
const METHOD = 'method must be one of GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, SMTP.';

test.each([
  ...['0', '1', '3', '6', '10', '099', '600', '1000', '2x', 'x2', ''].map((text) => [
    `status=${text}`,
    'status',
    STATUS,
  ]),
  ...['GE', 'GETS', 'TRACE', 'xGET', '', 'G ET'].map((text) => [
    `method=${text}`,
    'method',
    METHOD,
  ]),
])('/logs?%s is refused', async (query, path = '', message = '') => {
  const { status, json } = await bench.ask({ path: `/logs?${query}`, key: keys.live });
  expect([status, json.detail]).toEqual([422, { issues: [{ path, message }] }]);
});

test('an empty list of the sandbox is a list', async () => {
  const paged = { object: 'list', has_more: false, next: null, data: [] };
  const whole = { object: 'list', has_more: false, data: [] };
  for (const [path, body] of [
    ['/suppressions', paged],
    ['/emails?status=opened', paged],
    ['/domains', whole],
    ['/webhooks', whole],
  ] as const) {
    const { status, json } = await bench.ask({ path, key: keys.sandbox });
    expect([path, status, json]).toEqual([path, 200, body]);
  }
});

test('rows in memory are written before the log is read, by list and by id', async () => {
  const order: string[] = [];
  const append = spyOn(bench.ctx.store, 'appendLogs').mockImplementation(async () => {
    order.push('write');
  });
  const list = spyOn(bench.ctx.store, 'logs').mockImplementation(async () => {
    order.push('list');
    return { rows: [], hasMore: false };
  });
  const one = spyOn(bench.ctx.store, 'log').mockImplementation(async () => {
    order.push('one');
    return null;
  });
  await bench.ask({ path: '/usage', key: keys.live });
  await bench.ask({ path: '/logs', key: keys.live });
  const missing = await bench.ask({ path: `/logs/${ID}`, key: keys.live });
  expect([missing.status, one.mock.calls]).toEqual([404, [[account.id, ID]]]);
  for (const spy of [append, list, one]) spy.mockRestore();
  expect(order).toEqual(['write', 'list', 'write', 'one']);
});
