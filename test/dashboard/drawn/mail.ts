/** Emails, requests and keys of an account: lists with each filter alone, and one of each with what is known of it or not. */
import { emailPages } from '../../../src/dashboard/pages/email.ts';
import { emailsPages } from '../../../src/dashboard/pages/emails.ts';
import { keyPages } from '../../../src/dashboard/pages/keys.ts';
import { logPages } from '../../../src/dashboard/pages/logs.ts';
import { usagePages } from '../../../src/dashboard/pages/usage.ts';
import { UNLIMITED } from '../../../src/base/config.ts';
import type { RefusedForm } from '../../../src/dashboard/frame/visit.ts';
import type {
  Account,
  Event,
  Key,
  LogRecord,
  Message,
  Recipient,
} from '../../../src/store/rows.ts';
import type { MessageCall } from '../../../src/store/webhooks.ts';
import { newDomain, newKey, newLogRecord, newMessage } from '../../store/samples.ts';
import { account, ahead, type Drawing, NOW, opened, type Parts, visitOf } from './page.ts';

const key = (id: string, change: Partial<Key> = {}): Key => ({
  ...newKey('acc'),
  id,
  name: `${id} <1>`,
  isTest: false,
  createdAt: NOW,
  ...change,
});
const KEYS = [
  key('old', { revokedAt: NOW + 5, permission: 'full_access', lastUsedAt: NOW }),
  key('new', { permission: 'full_access', lastUsedAt: NOW }),
  key('test', { isTest: true }),
];

const SAMPLE = newMessage('acc', { id: 'mail', createdAt: NOW, updatedAt: NOW });
const email = (change: Partial<Message> = {}): Message => ({
  ...SAMPLE.message,
  logId: null,
  messageId: '<m@x.example>',
  ...change,
});
const EMAILS: readonly [Message, Message, Message] = [
  email({ from: 'Shop <shop@x.example>', subject: '', isSandbox: true, status: 'failed' }),
  email({ from: 'shop@x.example', to: ['a@x', 'b@x'], cc: ['c@x'], bcc: ['d@x'] }),
  email({ to: [], bcc: ['d@x'], subject: '<s>', status: 'delivery_delayed' }),
];

const DOMAIN = { ...newDomain('acc', 'x.example'), id: 'dom' };

interface Listed extends Parts {
  rows?: readonly object[];
  hasMore?: boolean;
}

/** The list of emails, and how it was asked for. */
async function emails({ rows = [], hasMore = false, ...more }: Listed): Promise<string> {
  const asked: unknown[] = [];
  const visit = visitOf({
    ...more,
    store: {
      emails: (_: string, page: object) => {
        asked.push(page);
        return Promise.resolve({ rows, hasMore });
      },
      domain: (_: string, id: string) => Promise.resolve(id === 'dom' ? DOMAIN : null),
      domains: () => Promise.resolve([DOMAIN]),
      keys: () => Promise.resolve(KEYS.slice(1)),
    },
  });
  const text = await opened(emailsPages, 'GET', '/accounts/:account/emails', visit);
  return `asked ${JSON.stringify(asked)}\n${text}`;
}
/** Of the list by one filter: how it was asked for, what the form says, and what stands instead of rows. */
const filtered = async (query: string): Promise<string> => {
  const text = await emails({ query });
  const values = text.matchAll(/name="(\w+)"\s+value="([^"]+)"/g);
  const chosen = text.matchAll(/<option value="([^"]+)" selected>/g);
  return [
    text.split('\n')[0],
    `written ${JSON.stringify(Array.from(values, ([, name, value]) => [name, value]))}`,
    `chosen ${JSON.stringify(Array.from(chosen, ([, value]) => value))}`,
    /<details class="more"[^>]*>/.exec(text)?.[0] ?? 'no filters',
    /<strong>.*<\/strong>/.exec(text)?.[0] ?? '',
    /href="[^"]*csv[^"]*"/.exec(text)?.[0] ?? 'no CSV',
    `live ${text.includes('liveSeconds')}`,
  ].join('\n');
};
/** A clock on which every search has taken too long. */
const slow = () => {
  let steady = NOW;
  return { now: () => NOW, steady: () => (steady += 100) };
};

function recipient(at: number, change: Partial<Recipient> = {}): Recipient {
  const [base] = SAMPLE.recipients;
  if (base === undefined) throw new Error('no recipient');
  const waits = { status: 'queued', nextAttemptAt: NOW + 60_000, attempts: 0 } as const;
  const expiresAt = NOW + 120_000;
  return { ...base, ...waits, id: `r${at}`, address: `a${at}@x.example`, expiresAt, ...change };
}
const DONE = { status: 'delivered', nextAttemptAt: null, attempts: 1 } as const;

interface Detail extends Parts {
  message?: Message;
  recipients?: readonly Recipient[];
  newer?: string;
  older?: string;
  events?: readonly Event[];
  calls?: readonly MessageCall[];
}

/** The page of an email, without the content's tabs. */
function detail({ message = email(), recipients = [recipient(0)], ...given }: Detail) {
  const { newer, older, events = [], calls = [], ...more } = given;
  const rowsOf = (id?: string) => ({ rows: id === undefined ? [] : [{ id }] });
  const asked: unknown[] = [];
  const visit = visitOf({
    params: { id: 'mail' },
    ...more,
    store: {
      message: () => Promise.resolve(message),
      recipients: () => Promise.resolve(recipients),
      events: () => Promise.resolve(events),
      attempts: () => Promise.resolve([]),
      callsOfMessage: () => Promise.resolve(calls),
      key: (id: string) => Promise.resolve(KEYS.find((one) => one.id === id) ?? null),
      contentSizes: () => Promise.resolve(null),
      listedBody: () => Promise.resolve(null),
      emails: (_: string, page: { before: string | null }) => {
        asked.push(page);
        return Promise.resolve(rowsOf(page.before === null ? older : newer));
      },
    },
  });
  const path = '/accounts/:account/emails/:id';
  return opened(emailPages, 'GET', path, visit).then(
    (text) => `asked ${JSON.stringify(asked)}\n${text}`,
  );
}

function log(change: Partial<LogRecord> | null): Promise<string> {
  const record = change && newLogRecord('acc', { id: 'log', createdAt: NOW, ...change });
  const visit = visitOf({ params: { id: 'log' }, store: { log: () => Promise.resolve(record) } });
  return opened(logPages, 'GET', '/accounts/:account/logs/:id', visit);
}

/** How the requests were asked for by a query, and what the form says then. */
async function logs(query: string): Promise<string> {
  const asked: unknown[] = [];
  const visit = visitOf({
    query,
    store: {
      keys: () => Promise.resolve([key('k')]),
      logs: (_: string, filter: object) => {
        asked.push(filter);
        return Promise.resolve({ rows: [], hasMore: false });
      },
    },
  });
  const text = await opened(logPages, 'GET', '/accounts/:account/logs', visit);
  const said = text.replace(/<div class="none">.*?<strong>(.*?)<\/strong>.*/s, '$1');
  const options = said.matchAll(/<option value="([^"]+)" selected>([^<]*)/g);
  return [
    JSON.stringify(asked),
    text.includes('liveSeconds') ? 'live' : 'still',
    Array.from(options, ([, value, words]) => `${value}: ${words}`).join(', '),
    said.slice(-30).split('\n').at(-1),
  ].join('\n');
}

const keys = (list: readonly Key[], more: Parts & { refused?: RefusedForm } = {}) => {
  const { refused = null, ...parts } = more;
  const visit = visitOf({ ...parts, store: { keys: () => Promise.resolve(list) } });
  return opened(keyPages, 'GET', '/accounts/:account/keys', { ...visit, refused });
};

interface Used {
  plan?: object;
  month?: number;
  days?: readonly [day: string, count: number][];
  bytes?: number;
  of?: Partial<Account>;
}

function usage({ plan = {}, month = 0, days = [], bytes = 0, of = {} }: Used): Promise<string> {
  const visit = visitOf({
    ctx: { config: { live: { plans: new Map([['unlimited', { ...UNLIMITED, ...plan }]]) } } },
    store: {
      account: () => Promise.resolve({ ...account, ...of }),
      usedByDay: (_: string, from: string) =>
        Promise.resolve([['from', from] as const, ...days].map(([day, count]) => ({ day, count }))),
      usedInMonth: () => Promise.resolve(month),
      storedBytes: () => Promise.resolve(bytes),
      countsByStatus: () => Promise.resolve({}),
    },
  });
  return opened(usagePages, 'GET', '/accounts/:account/usage', visit).then((text) =>
    text.replaceAll(/<g\s.*?<\/g\s*>/gs, (column) => column.replaceAll('\n', ' ')),
  );
}
const TODAY: [string, number] = ['2026-03-01', 1_234];
const LIMITED = {
  includedEmails: 1_000,
  dailyLimit: 1_300,
  storageBytes: 10_000,
  overageSenPerThousand: 1,
};

/** Of an email to so many, of whom so many were refused: whom it names, and how many it leaves out. */
const left = async (count: number, refused: number): Promise<string> => {
  const recipients = Array.from({ length: count }, (_, at) =>
    recipient(at, { ...DONE, ...(at < refused && { status: 'failed', lastReason: '550 no' }) }),
  );
  const lines = (await detail({ recipients })).split('\n');
  return lines.filter((line) => line.includes('550 no') || line.includes('more')).join('\n');
};

const SENT: Event = {
  id: 'evt',
  messageId: 'mail',
  accountId: 'acc',
  recipientId: null,
  type: 'email.sent',
  occurredAt: NOW,
  payload: null,
};

export const MAIL: readonly Drawing[] = [
  ['emails in every shape', () => emails({ rows: EMAILS })],
  ['emails for a reader', () => emails({ rows: EMAILS.slice(0, 1), mayChange: false })],
  ['no emails yet', () => emails({})],
  [
    'a search that took too long',
    () =>
      emails({
        rows: EMAILS.slice(0, 1),
        hasMore: true,
        query: 'tag=none&after=x&done=sent',
        ctx: { clock: slow() },
      }),
  ],
  ...[
    'q=%3Cx%3E',
    'status=bounced',
    'to=ann',
    'from=2026-03-01',
    'until=2026-03-01',
    'domain=dom',
    'key=new',
    'tag=a%3Db',
    'after=m9',
    'from=2026-02-31x&status=Sent',
  ].map((query): Drawing => [`emails by ${query}`, () => filtered(query)]),
  ['an email that waits', () => detail({ newer: 'm1', older: 'm2' })],
  ['an email for a reader', () => detail({ mayChange: false })],
  [
    'an email with each fact, and nobody waits',
    () =>
      detail({
        message: EMAILS[1],
        recipients: [
          recipient(0, DONE),
          recipient(1, { ...DONE, kind: 'cc', status: 'sent', lastReason: '250 never shown' }),
          recipient(2, { ...DONE, kind: 'bcc', status: 'bounced', lastReason: '550 <no>' }),
          recipient(3, { ...DONE, status: 'failed', attempts: 2, lastReason: '550 <no>' }),
        ],
      }),
  ],
  [
    'an email with replies to others, tags, and in the sandbox',
    () =>
      detail({
        message: email({
          isSandbox: true,
          subject: '',
          keyId: 'old',
          replyTo: ['r@x', 's@x'],
          tags: [
            { name: 'a', value: 'b' },
            { name: 'c', value: '<d>' },
          ],
        }),
        recipients: [recipient(0, { ...DONE, status: 'suppressed', lastReason: 'manual' })],
      }),
  ],
  [
    'an email that waits, where the time was set',
    () =>
      detail({
        ctx: { clock: ahead },
        recipients: [recipient(0, { attempts: 1, lastReason: '451 <later>' })],
        events: [SENT],
        calls: [
          {
            id: 'call',
            eventId: SENT.id,
            endpointId: 'hook',
            url: 'https://hook.example/',
            status: 'open',
            attempts: 1,
            nextAttemptAt: NOW + 60_000,
          },
        ],
      }),
  ],
  ['a request', () => log({})],
  [
    'a request with less',
    () => log({ durationMs: null, keyName: null, ip: null, userAgent: null }),
  ],
  [
    'a request of an email',
    () => log({ messageId: 'mail', status: 400, requestBody: '{"a":[1]}' }),
  ],
  ['a request without bodies', () => log({ requestBody: null, responseBody: null, status: 499 })],
  ['a request with a cut body', () => log({ requestBody: '{"a":<', status: 399 })],
  ['a request that failed', () => log({ status: 500, durationMs: 0 })],
  ['a request that is gone', () => log(null)],
  ...[
    '',
    'q=x',
    'status=2',
    'status=404',
    'status=99',
    'status=600',
    'method=PATCH',
    'method=PUT',
    'key=k',
    'key=none',
    'from=2026-03-01',
    'to=2026-03-01',
    'from=2026-03-1',
    'after=l1',
  ].map((query): Drawing => [`requests by ${query}`, () => logs(query)]),
  ['keys', () => keys(KEYS)],
  ['keys for a reader', () => keys(KEYS, { mayChange: false })],
  ['no keys for a reader', () => keys([], { mayChange: false })],
  [
    'a refused key',
    () =>
      keys([], {
        refused: {
          action: '/dashboard/accounts/acc/keys',
          fields: new URLSearchParams('name=%3Cn%3E&permission=full_access&environment=test'),
          issues: new Map([['name', 'Taken.']]),
          message: null,
        },
      }),
  ],
  [
    'usage without limits',
    () => usage({ month: 2_000, days: [TODAY, ['2026-01-31', 7]], bytes: 5 }),
  ],
  ['usage within limits', () => usage({ plan: LIMITED, month: 799, bytes: 7_999 })],
  [
    'usage near its limits',
    () => usage({ plan: LIMITED, month: 800, bytes: 8_000, days: [['2026-03-01', 1_040]] }),
  ],
  [
    'usage beyond its limits',
    () =>
      usage({
        plan: LIMITED,
        month: 2_234,
        bytes: 10_000,
        days: [['2026-03-01', 1_300]],
        of: { status: 'paused', statusReason: 'Too <many>' },
      }),
  ],
  ...(
    [
      [100, 3],
      [101, 4],
      [102, 5],
    ] as const
  ).map(([count, refused]): Drawing => [
    `an email to ${count}, of whom ${refused} were refused`,
    () => left(count, refused),
  ]),
];
