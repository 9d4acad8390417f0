/** Rows of the store as the API shows them: every field from its own column, times in ISO 8601, and no secret. */
import { expect, test } from 'bun:test';
import { ApiError } from '../../../src/base/errors.ts';
import { MESSAGE_STATUSES } from '../../../src/base/status.ts';
import { paged, wholePage } from '../../../src/api/shapes/common.ts';
import {
  emailDetail,
  emailSummary,
  olderEmail,
  olderSummary,
} from '../../../src/api/shapes/email-response.ts';
import { errorBody } from '../../../src/api/shapes/error-body.ts';
import {
  apiKey,
  createdApiKey,
  permissionOf,
  scopeOf,
} from '../../../src/api/shapes/key-response.ts';
import {
  createdWebhook,
  webhook,
  webhookDelivery,
} from '../../../src/api/shapes/webhook-response.ts';
import { reasonOf, suppression } from '../../../src/api/shapes/suppression-response.ts';
import { domainCheck, domainDetail } from '../../../src/api/shapes/domain-response.ts';
import type { CallAttempt, Endpoint, Key, Message } from '../../../src/store/rows.ts';

const T = Date.parse('2026-11-21T09:30:00.000Z');
const AT = (seconds: number): string => new Date(T + seconds * 1_000).toISOString();
const ID = '01913c7e-89ab-7cde-8f01-23456789abcd';

const KEY: Key = {
  id: ID,
  accountId: 'account',
  name: 'Shop',
  permission: 'sending_access',
  isTest: false,
  prefix: 'pr_live_Ab3d',
  last4: 'wxyz',
  lastUsedAt: T + 1_000,
  revokedAt: T + 2_000,
  createdAt: T,
};

test('a key has both spellings of its permission, and its text only when it was made', () => {
  const common = {
    id: ID,
    name: 'Shop',
    permission: 'sending_access',
    scope: 'send',
    prefix: 'pr_live_Ab3d',
    last4: 'wxyz',
    created_at: AT(0),
  };
  const used = { last_used_at: AT(1), revoked_at: AT(2) };
  expect(apiKey(KEY)).toEqual({ ...common, ...used } as never);
  expect(apiKey({ ...KEY, lastUsedAt: null, revokedAt: null })).toMatchObject({
    last_used_at: null,
    revoked_at: null,
  });
  const created = { ...common, token: 'secret', key: 'secret' };
  expect(createdApiKey(KEY, 'secret')).toEqual(created as never);
  expect([scopeOf('full_access'), scopeOf('sending_access')]).toEqual(['full', 'send']);
  expect([permissionOf('full'), permissionOf('send')]).toEqual(['full_access', 'sending_access']);
});

const ENDPOINT: Endpoint = {
  id: ID,
  accountId: 'account',
  url: 'https://hooks.example/mail',
  events: ['email.sent'],
  status: 'disabled',
  sealedSecret: new Uint8Array(1),
  sealedPreviousSecret: null,
  previousUntil: null,
  failureCount: 7,
  lastFailureAt: T + 3_000,
  createdAt: T,
  deletedAt: null,
};

test('an endpoint has its address twice, its state, and its secret only when it was made', () => {
  const common = {
    object: 'webhook',
    id: ID,
    url: 'https://hooks.example/mail',
    endpoint: 'https://hooks.example/mail',
    events: ['email.sent'],
    created_at: AT(0),
  };
  const state = { status: 'disabled', failure_count: 7, last_failure_at: AT(3) };
  expect(webhook(ENDPOINT)).toEqual({ ...common, ...state } as never);
  expect(webhook({ ...ENDPOINT, lastFailureAt: null }).last_failure_at).toBeNull();
  const secrets = { signing_secret: 'whsec_a', secret: 'whsec_a' };
  expect(createdWebhook(ENDPOINT, 'whsec_a')).toEqual({ ...common, ...secrets } as never);
});

test('a delivery attempt has what was answered', () => {
  const row: CallAttempt = {
    id: ID,
    callId: 'call',
    endpointId: 'endpoint',
    eventType: 'email.sent',
    messageId: 'message',
    attempt: 3,
    statusCode: 502,
    ok: false,
    error: 'status 502',
    durationMs: 41,
    createdAt: T,
  };
  expect(webhookDelivery(row)).toEqual({
    id: ID,
    event_type: 'email.sent',
    message_id: 'message',
    attempt: 3,
    status_code: 502,
    ok: false,
    error: 'status 502',
    duration_ms: 41,
    created_at: AT(0),
  });
});

test('a suppression names its source, by id where that is one', () => {
  const row = {
    id: ID,
    accountId: 'account',
    email: 'a@x.example',
    reason: 'hard_bounce',
    source: ID,
    note: 'internal',
    createdAt: T,
  } as const;
  expect(suppression(row)).toEqual({
    object: 'suppression',
    id: ID,
    email: 'a@x.example',
    reason: 'hard_bounce',
    origin: 'bounce',
    source: ID,
    source_id: ID,
    created_at: AT(0),
  });
  expect(suppression({ ...row, source: 'api' })).toMatchObject({ source: 'api', source_id: null });
  expect(suppression({ ...row, source: null })).toMatchObject({ source: null, source_id: null });
  const reasons = (['bounce', 'complaint', 'unsubscribe', 'manual'] as const).map(reasonOf);
  expect(reasons).toEqual(['hard_bounce', 'complaint', 'unsubscribe', 'manual']);
});

const MESSAGE: Message = {
  id: ID,
  accountId: 'account',
  keyId: 'key',
  logId: 'log',
  domainId: 'domain',
  isSandbox: false,
  from: 'Shop <shop@x.example>',
  to: ['Ann <ann@y.example>', 'ben@y.example'],
  cc: ['c@y.example'],
  bcc: ['b@y.example'],
  replyTo: ['r@x.example'],
  subject: 'Receipt',
  tags: [
    { name: 'kind', value: 'one' },
    { name: 'kind', value: 'two' },
  ],
  eventHeaders: [['X-Tags', 'x']],
  messageId: '<m@x.example>',
  status: 'delivered',
  failureReason: 'why',
  createdAt: T,
  updatedAt: T + 5_000,
};
const SUMMARY = {
  object: 'email',
  id: ID,
  from: 'Shop <shop@x.example>',
  to: ['Ann <ann@y.example>', 'ben@y.example'],
  cc: ['c@y.example'],
  bcc: ['b@y.example'],
  reply_to: ['r@x.example'],
  subject: 'Receipt',
  status: 'delivered',
  last_event: 'delivered',
  message_id: '<m@x.example>',
  scheduled_at: null,
  created_at: AT(0),
};
const BODY = { html: '<p>h</p>', text: 't', headers: [], attachments: [], raw: null };

test('an email in a list has bare addresses beside those with names; empty lists are null', () => {
  expect(emailSummary(MESSAGE)).toEqual({
    ...SUMMARY,
    from_addr: 'shop@x.example',
    to_addr: 'ann@y.example, ben@y.example',
  } as never);
  for (const name of ['"Shop <x>"', '"Shop <x"', '"Shop > x"', '"<"']) {
    const quoted = { ...MESSAGE, from: `${name} <shop@x.example>` };
    expect([name, emailSummary(quoted).from_addr]).toEqual([name, 'shop@x.example']);
  }
  const local = {
    ...MESSAGE,
    from: 'Shop <"a<b"@x.example>',
    to: ['"c>d"@y.example', '"Ann <x>" <"e<f>g"@y.example>', 'h@y.example'],
  };
  expect(emailSummary(local)).toMatchObject({
    from_addr: '"a<b"@x.example',
    to_addr: '"c>d"@y.example, "e<f>g"@y.example, h@y.example',
  });
  const bare = { ...MESSAGE, cc: [], bcc: [], replyTo: [] };
  expect(emailSummary(bare)).toMatchObject({ cc: null, bcc: null, reply_to: null });
});

test('an email in full has its content, tags and events', () => {
  const event = {
    id: 'e',
    messageId: ID,
    accountId: 'account',
    recipientId: null,
    type: 'email.sent',
    occurredAt: T + 1_000,
    payload: '{}',
  } as const;
  expect(emailDetail(MESSAGE, BODY, [event])).toEqual({
    ...SUMMARY,
    html: '<p>h</p>',
    text: 't',
    tags: MESSAGE.tags,
    failure_reason: 'why',
    log_id: 'log',
    events: [{ type: 'email.sent', occurred_at: AT(1), payload: '{}' }],
  } as never);
  expect(emailDetail(MESSAGE, null, [])).toMatchObject({ html: null, text: null, events: [] });
});

test('an email in the older shape has tags as an object, and a status of the older list', () => {
  const summary = {
    id: ID,
    to: MESSAGE.to,
    from: MESSAGE.from,
    subject: 'Receipt',
    status: 'delivered',
    tags: { kind: 'two' },
    createdAt: AT(0),
    updatedAt: AT(5),
  };
  expect(olderSummary(MESSAGE)).toEqual(summary as never);
  expect(olderEmail(MESSAGE, BODY)).toEqual({ ...summary, html: '<p>h</p>', text: 't' } as never);
  expect(olderEmail(MESSAGE, null)).toMatchObject({ html: '', text: null });
  const older: Record<string, string> = {};
  for (const status of MESSAGE_STATUSES) {
    older[status] = olderSummary({ ...MESSAGE, status }).status;
  }
  expect(older).toEqual({
    queued: 'queued',
    sent: 'sent',
    delivered: 'delivered',
    delivery_delayed: 'sent',
    bounced: 'bounced',
    complained: 'complained',
    failed: 'failed',
    suppressed: 'failed',
  });
});

test('a domain has its times, and a check says what is wrong with each record', () => {
  const domain = {
    id: ID,
    name: 'x.example',
    status: 'failed',
    createdAt: T,
    verifiedAt: T + 1_000,
    lastCheckedAt: T + 2_000,
  } as const;
  const record = {
    record: 'SPF',
    type: 'TXT',
    name: 'send.x.example',
    value: 'v=spf1',
    ttl: 'Auto',
    status: 'pending',
    purpose: 'p',
    required: true,
    group: 'sending',
  } as const;
  expect(domainDetail(domain, [record], 'here')).toEqual({
    object: 'domain',
    id: ID,
    name: 'x.example',
    domain: 'x.example',
    status: 'failed',
    region: 'here',
    capabilities: { sending: 'enabled', receiving: 'disabled' },
    created_at: AT(0),
    verified_at: AT(1),
    last_checked_at: AT(2),
    records: [record],
  });
  const records = [
    { ...record, found: false, reason: 'It is missing.' },
    { ...record, found: true, reason: null },
  ];
  expect(domainCheck({ domain, isDnsReady: true, isProven: false, records })).toEqual({
    object: 'domain',
    id: ID,
    name: 'x.example',
    domain: 'x.example',
    status: 'pending',
    dns_ready: true,
    ses_verified: false,
    records: [
      { ...record, found: false, reason: 'It is missing.' },
      { ...record, found: true },
    ],
  });
  const check = { isDnsReady: false, isProven: true, records: [] };
  const said = (['pending', 'failed', 'verified'] as const).map((status) => {
    const { dns_ready, ses_verified, ...rest } = domainCheck({
      domain: { ...domain, status },
      ...check,
    });
    return [rest.status, dns_ready, ses_verified];
  });
  expect(said).toEqual([
    ['pending', false, true],
    ['pending', false, true],
    ['verified', false, true],
  ]);
});

test('an error says status, name and message twice, its code and its request', () => {
  const error = new ApiError('conflict', 'It exists.', { detail: { a: 1 } });
  const three = { statusCode: 409, name: 'invalid_parameter', message: 'It exists.' };
  const body = { ...three, code: 'conflict', request_id: 'r', error: three };
  expect(errorBody(error, 'r')).toEqual({ ...body, detail: { a: 1 } });
  expect(errorBody(new ApiError('conflict', 'It exists.'), 'r')).toEqual(body);
});

const ROWS = ['a', 'b', 'c', 'd', 'e'].map((id) => ({ id }));

test.each([
  [{}, 'abcde', false],
  [{ limit: 5 }, 'abcde', false],
  [{ limit: 4 }, 'abcd', true],
  [{ limit: 2, after: 'b' }, 'cd', true],
  [{ limit: 3, after: 'b' }, 'cde', false],
  [{ after: 'e' }, '', false],
  [{ limit: 2, before: 'd' }, 'bc', true],
  [{ limit: 3, before: 'd' }, 'abc', false],
  [{ before: 'a' }, '', false],
  // A cursor whose row is gone stands between the others.
  [{ after: 'bb' }, 'cde', false],
  [{ before: 'bb' }, 'ab', false],
])('a whole list of five with %j: %s, more: %s', (query, ids, more) => {
  const { object, has_more, data } = wholePage(ROWS, query);
  expect([object, data.map(({ id }) => id).join(''), has_more]).toEqual(['list', ids, more]);
});

test('a whole list that no limit cuts is whole, however long', () => {
  const rows = Array.from({ length: 1_001 }, (_, at) => ({ id: String(at).padStart(4, '0') }));
  expect(wholePage(rows, {})).toEqual({ object: 'list', has_more: false, data: rows });
});

test('a page names its last row as the next cursor only where more follows', () => {
  const page = (rows: number[], hasMore: boolean) =>
    paged({ rows, hasMore }, (row) => `c${row}`, String);
  expect(page([1, 2], true)).toEqual({
    object: 'list',
    has_more: true,
    next: 'c2',
    data: ['1', '2'],
  });
  expect(page([1, 2], false)).toMatchObject({ has_more: false, next: null });
  expect(page([], false)).toMatchObject({ next: null, data: [] });
});
