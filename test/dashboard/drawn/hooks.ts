/** Webhook endpoints in the list and alone, their attempts, and one attempt, with what is known of each or not. */
import { webhookPages } from '../../../src/dashboard/pages/webhooks.ts';
import { secretView, testView } from '../../../src/dashboard/pages/webhook-view.ts';
import type { RefusedForm } from '../../../src/dashboard/frame/visit.ts';
import type { TestResult } from '../../../src/flow/webhooks/dispatcher.ts';
import type { Call, Endpoint } from '../../../src/store/rows.ts';
import type { AttemptDetail, ListedAttempt } from '../../../src/store/webhooks.ts';
import {
  account,
  ahead,
  clock,
  type Drawing,
  NOW,
  opened,
  pageText,
  type Parts,
  visitOf,
} from './page.ts';

const LIST = '/accounts/:account/webhooks';
const ONE = `${LIST}/:id`;
/** Times that outlive the process are kept as the steady clock has them. */
const STEADY = clock.steady();

const hook = (change: Partial<Endpoint> = {}): Endpoint => ({
  id: 'hook',
  accountId: 'acc',
  url: 'https://hook.example/?a=<b>',
  events: [],
  status: 'active',
  sealedSecret: new Uint8Array(),
  sealedPreviousSecret: null,
  previousUntil: null,
  failureCount: 0,
  lastFailureAt: null,
  createdAt: NOW - 1_000,
  deletedAt: null,
  ...change,
});

function attempt(at: number, change: Partial<ListedAttempt> = {}): ListedAttempt {
  return {
    id: `try${at}`,
    callId: 'call',
    endpointId: 'hook',
    eventType: 'email.sent',
    messageId: 'mail',
    attempt: at,
    statusCode: 200,
    ok: true,
    error: null,
    durationMs: 12,
    createdAt: NOW + at,
    eventId: `event${at}`,
    ...change,
  };
}

const FAILED = { ok: false, statusCode: 503, error: 'status <503>' } as const;
const ATTEMPTS: readonly [ListedAttempt, ListedAttempt, ListedAttempt, ListedAttempt] = [
  attempt(1),
  attempt(2, FAILED),
  attempt(3, { ...FAILED, statusCode: null, durationMs: null, error: 'no answer' }),
  attempt(4, { eventType: 'webhook.test', messageId: null, eventId: null, durationMs: 0 }),
];

const list = (endpoints: readonly Endpoint[], mayChange = true) =>
  opened(webhookPages, 'GET', LIST, visitOf({ store: { endpoints: () => endpoints }, mayChange }));

interface Shown extends Parts {
  endpoint?: Partial<Endpoint>;
  rows?: readonly ListedAttempt[];
  hasMore?: boolean;
  refused?: RefusedForm;
  /** With its forms. */
  isWhole?: boolean;
}

/** The page of an endpoint, and how its attempts were asked for. */
async function one({ endpoint, rows = [], hasMore = false, refused, isWhole, ...more }: Shown) {
  const asked: unknown[] = [];
  const visit = visitOf({
    params: { id: 'hook' },
    store: {
      endpoint: () => Promise.resolve(hook(endpoint)),
      callAttempts: (...given: unknown[]) => {
        asked.push(given);
        return Promise.resolve({ rows, hasMore });
      },
    },
    ...more,
  });
  const text = await opened(webhookPages, 'GET', ONE, { ...visit, refused: refused ?? null });
  const shown = isWhole === true ? text : text.replace(/<div class="columns">.*/s, '(forms)');
  return `asked ${JSON.stringify(asked)}\n${shown}`;
}

const refusedAt = (
  path: string,
  fields: [string, string][],
  issues: [string, string][],
): RefusedForm => ({
  action: `/dashboard/accounts/acc/webhooks/hook/${path}`,
  fields: new URLSearchParams(fields),
  issues: new Map(issues),
  message: null,
});

const call = (change: Partial<Call> = {}): Call => ({
  id: 'call',
  endpointId: 'hook',
  accountId: 'acc',
  eventId: 'event',
  eventType: 'email.sent',
  messageId: 'mail',
  requestId: null,
  body: '{"type":"email.sent","data":{"to":["<a>"]}}',
  status: 'open',
  attempts: 2,
  nextAttemptAt: STEADY + 60_000,
  createdAt: NOW,
  ...change,
});

/** The page of one attempt. */
const detail = (change: Partial<AttemptDetail> | null, more: Parts = {}) => {
  const [first, second] = ATTEMPTS;
  const known = { attempt: second, call: call(), response: 'Busy <b>', attempts: [first, second] };
  return opened(
    webhookPages,
    'GET',
    `${ONE}/attempts/:attempt`,
    visitOf({
      params: { id: 'hook', attempt: 'try2' },
      store: {
        endpoint: () => Promise.resolve(hook()),
        attemptDetail: () => Promise.resolve(change && { ...known, ...change }),
      },
      ...more,
    }),
  );
};

const tested = (change: Partial<TestResult>, mayChange = true): string =>
  pageText(
    testView(visitOf({ mayChange }), account, hook(), {
      id: 'test',
      ok: true,
      statusCode: 200,
      durationMs: 7,
      error: null,
      response: 'Thanks <b>',
      ...change,
    }),
  );

const [, , , test] = ATTEMPTS;
export const HOOKS: readonly Drawing[] = [
  [
    'endpoints',
    () =>
      list([
        hook({ events: ['email.sent', 'email.bounced'] }),
        hook({ id: 'two', status: 'disabled', failureCount: 20, lastFailureAt: NOW }),
      ]),
  ],
  ['endpoints for a reader', () => list([hook()], false)],
  ['no endpoints for a reader', () => list([], false)],
  ['an endpoint without attempts', () => one({ isWhole: true })],
  ['an endpoint without failed attempts', () => one({ query: 'show=failed' })],
  ['attempts of every end', () => one({ rows: ATTEMPTS, hasMore: true })],
  [
    'a later page of failed attempts',
    () => one({ rows: ATTEMPTS.slice(1, 3), hasMore: true, query: 'show=failed&after=try9' }),
  ],
  ['what is none to show', () => one({ rows: ATTEMPTS.slice(0, 1), query: 'show=Failed' })],
  [
    'disabled by hand',
    () => one({ endpoint: { status: 'disabled', events: ['email.sent', 'email.opened'] } }),
  ],
  [
    'disabled after one failure',
    () => one({ endpoint: { status: 'disabled', failureCount: 1, lastFailureAt: NOW } }),
  ],
  [
    'active with failures, and an old secret that signs a last moment',
    () => one({ endpoint: { failureCount: 3, lastFailureAt: NOW, previousUntil: STEADY + 1 } }),
  ],
  [
    'an old secret, where the time was set',
    () => one({ endpoint: { previousUntil: STEADY + 1 }, ctx: { clock: ahead } }),
  ],
  ['an old secret that has just ended', () => one({ endpoint: { previousUntil: STEADY } })],
  ['attempts for a reader', () => one({ rows: ATTEMPTS, mayChange: false, isWhole: true })],
  [
    'a refused change keeps what was entered',
    () =>
      one({
        endpoint: { events: ['email.sent'] },
        isWhole: true,
        refused: refusedAt(
          'edit',
          [
            ['endpoint', 'http://<x>'],
            ['events', 'email.failed'],
            ['events', 'email.bounced'],
          ],
          [
            ['endpoint', 'No https.'],
            ['events[1]', 'Not this.'],
            ['events', 'Nor that.'],
          ],
        ),
      }),
  ],
  [
    'a refused replay keeps what was entered',
    () =>
      one({
        isWhole: true,
        refused: refusedAt(
          'replay',
          [
            ['hours', '168'],
            ['since', 'yesterday'],
            ['event_id', '<e>'],
          ],
          [['since', 'No time.']],
        ),
      }),
  ],
  ['an attempt whose call is open', () => detail({})],
  ['an attempt for a reader', () => detail({}, { mayChange: false })],
  ['an open call, where the time was set', () => detail({}, { ctx: { clock: ahead } })],
  ['a call that has ended', () => detail({ call: call({ status: 'done' }), response: null })],
  ['a call that failed', () => detail({ call: call({ status: 'failed' }), response: '' })],
  ['a call with no time', () => detail({ call: call({ nextAttemptAt: null }) })],
  ['a call that is gone', () => detail({ call: null, attempts: [] })],
  [
    'an attempt of a test',
    () => detail({ attempt: test, attempts: [test], call: null, response: null }),
  ],
  ['no attempt', () => detail(null)],
  ['a test that was taken', () => tested({})],
  ['a test for a reader', () => tested({}, false)],
  [
    'a test without an answer',
    () => tested({ ok: false, statusCode: null, error: 'no <answer>', response: null }),
  ],
  ['a test with an empty answer', () => tested({ ok: false, statusCode: 500, response: '' })],
  ['a secret', () => pageText(secretView(account, hook(), 'whsec_<x>', 'Made <now>.'))],
];
