/** The whole row of a request: every field from its own source, and which bodies are kept. */
import { expect, test } from 'bun:test';

import { logRow } from '../../../src/api/log/log-row.ts';
import { TestClock } from '../../rig/clock.ts';

type Known = Parameters<typeof logRow>[2];
type Result = Parameters<typeof logRow>[3];

const DAY_MS = 86_400_000;
const clock = new TestClock();
const KEY = `pr_live_${'Ab3d'.repeat(9)}`;
const LONG = 'h'.repeat(2_000);

/** The row; bodies are kept for `bodyDays`, rows for `logDays`. */
function row(
  change: {
    method?: string;
    /** As it is routed: a HEAD is routed as GET. */
    routed?: string;
    path?: string;
    headers?: Record<string, string>;
    raw?: string | Uint8Array;
    json?: boolean;
    status?: number;
    result?: Partial<Result>;
    known?: Partial<Known>;
    payload?: string | Uint8Array;
    bodyDays?: number;
  } = {},
) {
  const { method = 'POST', path = '/emails', headers = {}, raw = '', json = true } = change;
  const text = typeof raw === 'string' ? raw : Buffer.from(raw).toString();
  const config = {
    live: {
      plans: new Map([['plan', { logRetentionDays: 30 }]]),
      retention: { bodiesMs: (change.bodyDays ?? 30) * DAY_MS },
    },
  };
  const known: Known = {
    requestId: 'request',
    startedAt: clock.now() - 41,
    identity: {
      key: { id: 'key', name: 'ci', permission: 'sending_access', isTest: true },
      account: { id: 'account', plan: 'plan', planOverrides: {} },
    } as never,
    ip: '192.0.2.7',
    body: {
      length: raw.length,
      text: json && text !== '' ? text : null,
      value: json && text !== '' ? JSON.parse(text) : undefined,
      unread: (most) => (raw.length > most ? null : text),
    },
    ...change.known,
  };
  return logRow(
    { clock, config: config as never },
    {
      request: new Request('http://api.test/', { method: change.routed ?? method, headers }),
      method,
      path,
    },
    known,
    { status: change.status ?? 200, ...change.result },
    change.payload ?? '{"id":"x"}',
  );
}

const ROW = {
  id: 'request',
  accountId: 'account',
  keyId: 'key',
  keyName: 'ci',
  keyPermission: 'sending_access',
  isSandbox: true,
  method: 'POST',
  path: '/emails',
  status: 200,
  durationMs: 41,
  messageId: null,
  userAgent: null,
  ip: '192.0.2.7',
  requestBody: null,
  responseBody: '{"id":"x"}',
  createdAt: clock.now() - 41,
};

test('a row has every field from its own source', () => {
  expect(row()).toEqual(ROW as never);
  expect(
    row({
      headers: { 'user-agent': 'shop/1.0' },
      raw: '{"name":"x"}',
      status: 201,
      result: { messageId: 'message' },
      known: { ip: null, startedAt: clock.now() },
    }),
  ).toEqual({
    ...ROW,
    status: 201,
    userAgent: 'shop/1.0',
    ip: null,
    messageId: 'message',
    durationMs: 0,
    createdAt: clock.now(),
    requestBody: '{"name":"x"}',
  } as never);
  expect(row({ known: { startedAt: clock.now() + 5 } }).durationMs).toBe(0);
});

test('a key in a path is hidden before it is cut, and 2,048 characters are kept', () => {
  expect(row({ path: `/x/${KEY}/y` }).path).toBe('/x/pr_live_[hidden]/y');
  const front = `/${'p'.repeat(2_034)}/`;
  expect(row({ path: front + KEY }).path).toBe(`${front}pr_live_[hid`);
  const fits = `/${'p'.repeat(2_047)}`;
  expect([row({ path: fits }).path, row({ path: `${fits}p` }).path]).toEqual([fits, fits]);
  const agent = 'a'.repeat(2_048);
  const userAgentOf = (text: string) => row({ headers: { 'user-agent': text } }).userAgent;
  expect([userAgentOf(agent), userAgentOf(`${agent}a`)]).toEqual([agent, agent]);
  expect([userAgentOf(''), userAgentOf(`shop ${KEY} 1`)]).toEqual(['', 'shop pr_live_[hidden] 1']);
});

test('the response of a read is kept where it is a refusal, bytes never', () => {
  const kept = (method: string, status: number, payload: string | Uint8Array = '{}') =>
    row({ method, status, payload }).responseBody;
  expect([kept('GET', 200), kept('GET', 399), kept('GET', 400), kept('POST', 200)]).toEqual([
    null,
    null,
    '{}',
    '{}',
  ]);
  expect(kept('POST', 200, new Uint8Array(3))).toBeNull();
  expect(kept('GET', 404, new Uint8Array(3))).toBeNull();
  expect(kept('POST', 200, '{"token":"x"}')).toBe('{"token":"[hidden]"}');
});

test('a HEAD is a read, and stands in its row as it was sent', () => {
  const sent = { method: 'HEAD', path: '/v1/usage' };
  const head = row({ ...sent, routed: 'GET' });
  expect(head).toEqual({ ...ROW, ...sent, responseBody: null } as never);
  expect(row({ ...sent, routed: 'GET', status: 404 }).responseBody).toBe('{"id":"x"}');
});

test('of a body that was not read as JSON 256 KiB are looked through, by its own bytes alone', () => {
  const most = 256 * 1024;
  const body = (raw: string | Uint8Array) => row({ raw, json: false }).requestBody;
  expect([body('x'.repeat(most)), body('x'.repeat(most + 1))]).toEqual([
    `[${most} characters that are not JSON]`,
    `[${most + 1} bytes that were not read]`,
  ]);
  // A view of a larger buffer.
  const whole = Buffer.from('secret{"a":1}secret');
  expect(body(whole.subarray(6, 13))).toBe('{"a":1}');
});

const EMAIL = { from: 'a@x.example', html: LONG, text: 'short', subject: 's' };
const raw = JSON.stringify(EMAIL);

test('the content of one accepted email is left out where its message keeps it', () => {
  const content = { html: LONG, text: 'short' };
  const left = { ...EMAIL, html: true, text: true };
  const body = (result: Partial<Result>, more = {}) => row({ raw, result, ...more }).requestBody;
  expect(body({ messageId: 'm', content })).toBe(JSON.stringify(left));
  // A repetition made no message; several messages have no content in common.
  expect(body({ content })).toBe(raw);
  expect(body({ messageId: 'm' })).toBe(raw);
  // Little would be saved.
  const brief = JSON.stringify({ ...EMAIL, html: 'h' });
  expect(body({ messageId: 'm', content: { html: 'h', text: 'short' } }, { raw: brief })).toBe(
    brief,
  );
});

test.each([
  [30, false],
  [31, false],
  [29, true],
  [0, true],
])('with bodies kept for %d days and rows for 30 content is hidden: %p', (bodyDays, isHidden) => {
  const hidden = (text: string): string => `[hidden, ${text.length} characters]`;
  const shown = { ...EMAIL, html: hidden(LONG), text: hidden('short') };
  expect(row({ raw, bodyDays }).requestBody).toBe(isHidden ? JSON.stringify(shown) : raw);
  const content = { html: LONG, text: null };
  const result = { messageId: 'm', content };
  expect(JSON.parse(row({ raw, bodyDays, result }).requestBody ?? '')).toEqual({
    ...EMAIL,
    html: true,
    text: isHidden ? hidden('short') : 'short',
  });
});

test.each([
  ['/emails', true],
  ['/v1/emails/batch', true],
  ['/email/send', true],
  ['/nowhere', true],
  ['/api-keysx', true],
  ['/xdomains', true],
  ['/api-keys', false],
  ['/v1/api-keys/x', false],
  ['/domains', false],
  ['/domains/x/verify', false],
  ['/suppressions/batch/add', false],
  ['/webhooks', false],
])('on %s what is no field of an email is hidden: %p', (path, isHidden) => {
  const body = row({ path, raw: '{"note":"a word","text":"x"}', bodyDays: 0 }).requestBody;
  expect(JSON.parse(body ?? '')).toEqual({
    note: isHidden ? '[hidden, 6 characters]' : 'a word',
    text: '[hidden, 1 characters]',
  });
});
