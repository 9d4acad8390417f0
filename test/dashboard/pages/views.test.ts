/** Pages over made-up parts: an endpoint in each state, its calls, the halt, and which domains a test email may come from. */
import { expect, test } from 'bun:test';
import { overviewPages } from '../../../src/dashboard/pages/overview.ts';
import { settingsPages } from '../../../src/dashboard/pages/settings.ts';
import { testEmailPages } from '../../../src/dashboard/pages/test-email.ts';
import { endpointView, secretView, testView } from '../../../src/dashboard/pages/webhook-view.ts';
import type { Page, Visit } from '../../../src/dashboard/frame/visit.ts';
import type { Account, Endpoint } from '../../../src/store/rows.ts';
import { TestClock } from '../../rig/clock.ts';
import { factsOf, rowsOf, targetsOf, textOf } from '../page-text.ts';

const clock = new TestClock(Date.UTC(2026, 2, 1, 12));
const account: Account = {
  id: 'acc',
  name: 'Shop',
  plan: 'unlimited',
  status: 'active',
  statusReason: null,
  createdAt: 0,
};
const endpoint: Endpoint = {
  id: 'end',
  accountId: 'acc',
  url: 'https://hooks.example/?a=<b>',
  events: ['email.sent', 'email.failed'],
  status: 'active',
  sealedSecret: new Uint8Array(1),
  sealedPreviousSecret: null,
  previousUntil: null,
  failureCount: 0,
  lastFailureAt: null,
  createdAt: Date.UTC(2026, 1, 1),
  deletedAt: null,
};
const BASE = '/dashboard/accounts/acc/webhooks/end';

interface Parts {
  query?: string;
  form?: Record<string, string>;
  store?: object;
  more?: object;
  parts?: object;
}

const visitOf = ({ query = '', form = {}, store = {}, more = {}, parts = {} }: Parts): Visit =>
  ({
    ctx: { store, clock, ...more },
    parts,
    params: {},
    query: new URLSearchParams(query),
    form: new URLSearchParams(form),
    refused: null,
    operator: null,
    may: () => true,
  }) as unknown as Visit;

async function endpointPage(change: Partial<Endpoint>, rows: object[] = [], query = '') {
  const asked: unknown[] = [];
  const store = {
    callAttempts: (...given: unknown[]) => {
      asked.push(given);
      return Promise.resolve({ rows, hasMore: rows.length > 0 });
    },
  };
  const page = await endpointView(visitOf({ store, query }), account, { ...endpoint, ...change });
  return { page, shown: String(page.body), asked: asked[0] };
}

test('an endpoint shows its state and what may be done in it', async () => {
  const active = await endpointPage({});
  expect(factsOf(active.shown)).toMatchObject({
    Status: 'active',
    Events: 'email.sent, email.failed',
    'Failures in a row': '0',
    Added: '2026-02-01 00:00:00 UTC',
  });
  expect(active.page).toMatchObject({ title: endpoint.url, liveSeconds: 10 });
  expect(targetsOf(active.shown)).toContain(`${BASE}/disable`);
  expect(targetsOf(active.shown)).not.toContain(`${BASE}/enable`);
  expect(active.asked).toEqual(['end', { limit: 25, after: null, before: null }, false]);
  const off = { status: 'disabled', lastFailureAt: Date.UTC(2026, 2, 1) } as const;
  const failed = await endpointPage({ ...off, failureCount: 1, events: [] });
  expect(factsOf(failed.shown)).toMatchObject({
    Status: expect.stringContaining(' 1 call in a row failed. Repair it,'),
    Events: 'All',
    'Last failure': '2026-03-01 00:00:00 UTC',
  });
  expect(targetsOf(failed.shown)).toContain(`${BASE}/enable`);
  expect(targetsOf(failed.shown)).not.toContain(`${BASE}/disable`);
  const waits = await endpointPage({ ...off, failureCount: 0 });
  expect(factsOf(waits.shown)['Status']).toBe('disabled Calls wait until it is enabled.');
  const older = await endpointPage({}, [], 'after=x&show=failed');
  expect(older.asked).toEqual(['end', { limit: 25, after: 'x', before: null }, true]);
  expect(older.page).not.toHaveProperty('liveSeconds');
});

test('the old secret is named while it signs', async () => {
  const until = async (at: number | null) =>
    factsOf((await endpointPage({ previousUntil: at })).shown)['Old secret signs until'];
  expect(await until(null)).toBeUndefined();
  expect(await until(clock.steady())).toBeUndefined();
  expect(await until(clock.steady() + 60_000)).toBe('2026-03-01 12:01:00 UTC');
});

test('each attempt has its result, and may be replayed while its event is known', async () => {
  const row = {
    id: 'one',
    createdAt: Date.UTC(2026, 2, 1),
    eventType: 'email.sent',
    messageId: 'msg',
    attempt: 3,
    ok: false,
    statusCode: 502,
    durationMs: 41,
    error: 'status <502>',
    eventId: 'event',
  };
  const gone = { ...row, id: 'two', ok: true, messageId: null, durationMs: null, eventId: null };
  const { shown } = await endpointPage({}, [row, gone]);
  const rows = rowsOf(shown);
  expect(rows[0]).toEqual({
    Time: '2026-03-01 00:00:00 UTC',
    Event: 'email.sent (email)',
    Attempt: '3',
    Result: 'failed 502 41 ms',
    Reason: 'status <502>',
    '': 'Replay',
  });
  expect(rows[1]).toMatchObject({ Event: 'email.sent', Result: 'ok 502' });
  expect(rows[1]).not.toHaveProperty('');
  expect(targetsOf(shown)).toContain('/dashboard/accounts/acc/emails/msg');
  expect(targetsOf(shown)).toContain(`${BASE}?after=two`);
  expect(shown).toContain('name="event_id" value="event"');
});

test('a test call and a new secret say what came of them, as text', () => {
  const result = {
    id: 'hook-id',
    ok: false,
    statusCode: 500,
    durationMs: 12,
    error: 'why',
    response: '<b>',
  };
  const shown = String(testView(visitOf({}), account, endpoint, result).body);
  expect(factsOf(shown)).toMatchObject({
    Result: 'failed',
    Status: '500',
    Duration: '12 ms',
    Reason: 'why',
  });
  expect(factsOf(shown)['webhook-id']).toContain('hook-id');
  expect(shown).toContain('<pre tabindex="0">&lt;b&gt;</pre>');
  const secret = textOf(String(secretView(account, endpoint, 'whsec_<x>', 'Added.').body));
  expect(secret).toContain('Added. Copy the signing secret now. It is shown only once.');
  expect(secret).toContain('whsec_<x>');
});

const pageOf = (pages: readonly Page[], method: string, path: string): Page => {
  const found = pages.find((page) => page.method === method && page.path === path);
  if (found === undefined) throw new Error(`no page ${method} ${path}`);
  return found;
};

test.each([null, 'the disk is full'])(
  'a halt stops the queue with its reason: %p',
  async (fault) => {
    const done: unknown[] = [];
    const more = {
      halt: {
        state: null as object | null,
        async halt(reason: string) {
          this.state = { reason };
          done.push(['halt', reason]);
          await Promise.resolve();
          // Also where it cannot be written.
          if (fault !== null) throw new Error(fault);
        },
        resume: () => Promise.resolve(done.push(['resume'])),
      },
    };
    const parts = {
      queue: { setResting: (isResting: boolean) => done.push(['rests', isResting]) },
    };
    const open = (path: string) =>
      pageOf(overviewPages, 'POST', path).open(visitOf({ more, parts, form: { reason: ' why ' } }));
    expect(await open('/halt').catch((error: Error) => error.message)).toEqual(
      fault ?? { kind: 'redirect', to: '/dashboard', done: 'halted' },
    );
    expect(await open('/resume')).toEqual({ kind: 'redirect', to: '/dashboard', done: 'resumed' });
    expect(done).toEqual([['halt', 'why'], ['rests', true], ['resume'], ['rests', false]]);
  },
);

test('a test email may come from verified domains only, of any account', async () => {
  const store = {
    accounts: () => Promise.resolve([account, { ...account, id: 'two', name: 'Two' }]),
    domains: (id: string) =>
      Promise.resolve([
        { id: `${id}-p`, name: `pending.${id}`, status: 'pending' },
        { id: `${id}-f`, name: `failed.${id}`, status: 'failed' },
        { id: `${id}-v`, name: `verified.${id}`, status: 'verified' },
      ]),
    domainForSigning: (id: string) =>
      Promise.resolve({ id, accountId: 'acc', status: 'pending', deletedAt: null }),
  };
  const shown = await pageOf(testEmailPages, 'GET', '/test-email').open(visitOf({ store }));
  const markup = shown.kind === 'page' ? String(shown.body) : '';
  const options = Array.from(markup.matchAll(/<option value="([^"]*)"/g), ([, value]) => value);
  expect(options).toEqual(['acc-v', 'two-v']);
  expect(textOf(markup)).toContain('verified.two (Two)');
  const form = { domain: 'acc-p', to: 'me@x.example' };
  const refused = pageOf(testEmailPages, 'POST', '/test-email').open(visitOf({ store, form }));
  expect((await refused.catch((error: Error) => error.message)) as string).toBe(
    'Choose a verified domain.',
  );
});

test('the host is checked before the page is shown again, a backup runs behind it', async () => {
  const done: string[] = [];
  const parts = {
    vitals: { checkNow: () => Promise.resolve(done.push('checked')) },
    backups: { start: () => done.push('backup') },
  };
  const open = (path: string) => pageOf(settingsPages, 'POST', path).open(visitOf({ parts }));
  const to = '/dashboard/settings';
  expect(await open('/settings/check')).toEqual({ kind: 'redirect', to, done: 'host_checked' });
  expect(await open('/settings/backup')).toEqual({ kind: 'redirect', to });
  expect(done).toEqual(['checked', 'backup']);
});
