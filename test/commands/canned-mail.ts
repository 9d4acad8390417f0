/** The cases of canned.test.ts about mail: sending, emails, the queue, the request log, the switches and backups. */
import type { Detail, Listing } from '../../src/control/queue.ts';
import { reply } from './canned.ts';
import type { Case } from './canned.ts';

const T = Date.parse('2026-11-21T09:30:00.000Z');
const at = (minutes: number): number => T + minutes * 60_000;

const MESSAGE: Detail['message'] = {
  id: 'msg-1',
  accountId: 'acc-1',
  keyId: 'key-1',
  logId: 'log-1',
  domainId: 'dom-1',
  isSandbox: true,
  from: 'Shop <shop@x.example>',
  to: ['Ann <ann@y.example>', 'ben@y.example'],
  cc: ['c@y.example'],
  bcc: ['b@y.example'],
  replyTo: ['r@x.example'],
  subject: 'Receipt',
  tags: [{ name: 'kind', value: 'one' }],
  messageId: '<m@x.example>',
  status: 'delivery_delayed',
  failureReason: 'why it failed',
  createdAt: at(1),
  updatedAt: at(2),
};
const PLAIN: Detail['message'] = {
  ...MESSAGE,
  id: 'msg-2',
  keyId: null,
  logId: null,
  domainId: null,
  cc: [],
  bcc: [],
  replyTo: [],
  tags: [],
  status: 'delivered',
  failureReason: null,
};

const NO_QUEUE: Listing = {
  halt: null,
  throttles: [],
  destinations: [],
  destinationCount: 0,
  recipients: [],
};

const RECIPIENT: Detail['recipients'][number] = {
  id: 'rcp-1',
  messageId: 'msg-1',
  accountId: 'acc-1',
  address: 'ann@y.example',
  domain: 'y.example',
  kind: 'cc',
  status: 'delivery_delayed',
  attempts: 4,
  nextAttemptAt: at(3),
  expiresAt: at(4),
  lastReason: '451 4.7.1 Later.',
  delayedAt: at(5),
  updatedAt: at(6),
  explanation: 'ann@y.example waits until then.',
};
const ENDED: Detail['recipients'][number] = {
  ...RECIPIENT,
  id: 'rcp-2',
  address: 'ben@y.example',
  status: 'delivered',
  nextAttemptAt: null,
  lastReason: null,
  delayedAt: null,
  explanation: 'ben@y.example\u001b was delivered.',
};

const ATTEMPT: Detail['attempts'][number] & { tls: object } = {
  id: 'att-1',
  messageId: 'msg-1',
  recipientId: 'rcp-1',
  number: 3,
  beganAt: at(7),
  endedAt: at(8),
  outcome: 'deferred',
  class: 'greylisted',
  stage: 'RCPT TO',
  host: 'mx.y.example',
  address: '192.0.2.7',
  tls: { version: 'TLSv1.3', cipher: 'AES', verified: true, policy: 'dane' },
  reply: '451 4.7.1 Later.',
  mayBeDuplicate: true,
};
const ATTEMPTS: Detail['attempts'] = [
  ATTEMPT,
  { ...ATTEMPT, number: 2, tls: { ...ATTEMPT.tls, verified: false, policy: 'none' }, reply: null },
  {
    ...ATTEMPT,
    number: 1,
    class: null,
    host: null,
    address: null,
    tls: null,
    reply: null,
    stage: 'connect',
  },
];
const DETAIL: Detail = { message: MESSAGE, recipients: [RECIPIENT, ENDED], attempts: ATTEMPTS };

const EVENT = {
  id: 'evt-1',
  type: 'email.sent',
  occurredAt: at(9),
  payload: '{"a":1}',
  recipient: 'ann@y.example',
  reason: '250 OK',
};
const EVENTS = [
  EVENT,
  { ...EVENT, id: 'evt-2', type: 'email.queued', payload: null, recipient: null, reason: null },
];

const REQUEST = {
  id: 'log-1',
  method: 'POST',
  path: '/emails',
  status: 422,
  durationMs: 17,
  messageId: 'msg-1',
  keyName: 'ci',
  ip: '192.0.2.9',
  createdAt: at(10),
};
const BARE = {
  ...REQUEST,
  id: 'log-2',
  durationMs: null,
  messageId: null,
  keyName: null,
  ip: null,
};

const TAIL = {
  id: 'evt-1',
  type: 'email.delivered',
  created_at: '2026-11-21T09:40:00.000Z',
  account_id: 'acc-1',
  account: 'shop',
  email_id: 'msg-1',
  from: 'a@x.example',
  recipient: 'ann@y.example',
  to: ['ann@y.example', 'ben@y.example'],
  subject: 'Receipt',
  reason: '250 OK',
};
/** Its address has 41 columns: with time and status the line has exactly 80. */
const WIDE = `${'a'.repeat(31)}@y.example`;
const tailed = (change: object): string => `${JSON.stringify({ ...TAIL, ...change })}\n`;

const SEND = 'send --from a@x.example --to ann@y.example --subject s';
const sent = (status: 'queued' | 'sent' | 'suppressed') =>
  reply('email.send', { id: 'msg-1', status });
const waited = (...statuses: ('delivered' | 'sent' | 'bounced' | 'failed' | 'suppressed')[]) =>
  reply(
    'email.wait',
    {
      ...DETAIL,
      recipients: statuses.map((status, n) => ({
        ...ENDED,
        address: `r${n}@y.example`,
        status,
        lastReason: n === 0 ? null : `reason ${n}`,
      })),
    },
    { says: ['ann@y.example waits.'] },
  );

export const MAIL_CASES: Case[] = [
  { line: `${SEND} --text t --account shop`, replies: [sent('queued')] },
  {
    line: `${SEND} --to ben@y.example --cc c@y.example --bcc b@y.example --reply-to r@x.example --html <p> --text t --header X-A:1 --header X-B:2:3 --tag a=b=c --tag d=e --sandbox`,
    replies: [sent('sent')],
  },
  { line: `${SEND} --html-file FILE --attachment FILE`, replies: [sent('suppressed')] },
  { line: `${SEND} --text-file FILE`, replies: [sent('queued')] },
  { line: `${SEND} --text t --wait`, replies: [sent('queued'), waited('delivered', 'sent')] },
  { line: `${SEND} --text t --wait`, replies: [sent('queued'), waited('delivered', 'bounced')] },
  { line: `${SEND} --text t --wait`, replies: [sent('queued'), waited('failed')] },
  { line: 'email list', replies: [reply('email.list', { emails: [], hasMore: false })] },
  {
    line: 'email list --status bounced --search rece --limit 2 --after msg-0 --account shop',
    replies: [reply('email.list', { emails: [MESSAGE, PLAIN], hasMore: true })],
  },
  {
    line: 'email list',
    replies: [reply('email.list', { emails: [PLAIN], hasMore: false })],
  },
  { line: 'email show msg-1', replies: [reply('email.show', { ...DETAIL, events: EVENTS })] },
  {
    line: 'email show msg-2',
    replies: [
      reply('email.show', { message: PLAIN, recipients: [ENDED], attempts: [], events: [] }),
    ],
  },
  {
    line: 'queue list --domain y.example',
    replies: [
      reply('queue.list', {
        halt: { reason: 'Leak.', since: at(11) },
        throttles: [
          {
            site: 'mx.y.example',
            until: '2026-11-21T10:00:00.000Z',
            cause: '421 Too fast',
            class: 'rate',
            hint: 'Send less.',
          },
          {
            site: 'mx.z.example',
            until: '2026-11-21T11:00:00.000Z',
            cause: 'slow',
            class: 'reputation',
            hint: null,
          },
        ],
        destinations: [
          { domain: 'y.example', waiting: 12, oldestCreatedAt: at(12), reason: '451 Later' },
          { domain: 'z.example', waiting: 1, oldestCreatedAt: at(13), reason: null },
        ],
        destinationCount: 2,
        recipients: [RECIPIENT, { ...ENDED, id: 'rcp-3' }],
      }),
    ],
  },
  {
    line: 'queue list --domain none.example',
    replies: [reply('queue.list', NO_QUEUE)],
  },
  {
    line: 'queue list',
    replies: [reply('queue.list', NO_QUEUE)],
  },
  {
    line: 'queue list',
    replies: [
      reply('queue.list', {
        ...NO_QUEUE,
        destinations: [{ domain: 'z.example', waiting: 3, oldestCreatedAt: at(13), reason: null }],
        destinationCount: 1_300,
      }),
    ],
  },
  { line: 'queue show rcp-1', replies: [reply('queue.show', DETAIL)] },
  {
    line: 'queue show msg-2',
    replies: [reply('queue.show', { message: PLAIN, recipients: [ENDED], attempts: [] })],
  },
  { line: 'queue retry', replies: [reply('queue.retry', { retried: 0 })] },
  { line: 'queue retry rcp-1', replies: [reply('queue.retry', { retried: 0 })] },
  { line: 'queue retry --domain y.example', replies: [reply('queue.retry', { retried: 3 })] },
  { line: 'queue fail rcp-1', replies: [reply('queue.fail', { failed: 2, under_way: 0 })] },
  { line: 'queue fail msg-1', replies: [reply('queue.fail', { failed: 2, under_way: 3 })] },
  {
    line: 'log list --status 4xx --method post --search emails --limit 2 --after log-0 --account shop',
    replies: [reply('log.list', { requests: [REQUEST, BARE], hasMore: true })],
  },
  { line: 'log list', replies: [reply('log.list', { requests: [BARE], hasMore: false })] },
  { line: 'log list', replies: [reply('log.list', { requests: [], hasMore: false })] },
  { line: 'log list', replies: [reply('log.list', { requests: [], hasMore: true })] },
  {
    line: 'tail --account shop --domain y.example --status delivered',
    replies: [
      reply('tail', null, {
        says: ['2 events were skipped.'],
        chunks: [
          tailed({}),
          tailed({ recipient: null, reason: null, type: 'email.delivery_delayed' }),
          tailed({ recipient: WIDE, type: 'email.sent', account: 'n'.repeat(90) }),
          tailed({ recipient: `${WIDE}s`, reason: 'many words '.repeat(12) }),
          tailed({ recipient: 'e\u001bvil@y.example' }),
        ],
      }),
    ],
  },
  {
    line: 'halt --reason Leak.',
    replies: [reply('halt', { halted: true, reason: 'Leak.', since: '2026-11-21T09:30:00.000Z' })],
  },
  {
    line: 'halt',
    replies: [
      reply('halt', { halted: true, reason: 'Halted.', since: '2026-11-21T09:30:00.000Z' }),
    ],
  },
  { line: 'resume', replies: [reply('resume', { halted: false, was_halted: true })] },
  { line: 'resume', replies: [reply('resume', { halted: false, was_halted: false })] },
  { line: 'reload', replies: [reply('reload', { needs_restart: [], new_certificate: false })] },
  {
    line: 'reload',
    replies: [reply('reload', { needs_restart: ['dns.servers'], new_certificate: false })],
  },
  {
    line: 'reload',
    replies: [
      reply('reload', { needs_restart: ['http.listen', 'smtp.submission'], new_certificate: true }),
    ],
  },
  { line: 'version --server', replies: [reply('version', { version: '1.2.3', pid: 77 })] },
  {
    line: 'backup FILE',
    replies: [
      reply(
        'backup',
        { file: '/b/file', bytes: 4_096, rows: { accounts: 2, keys: 3 } },
        { says: ['Copying.'] },
      ),
    ],
  },
];
