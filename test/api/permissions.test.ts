/**
 * Who may do what: every route × no key, bad key, revoked key, sending key, full key, another account's key.
 *
 * The table is written by hand. A route that is not in it fails the first test, so that none is added
 * without stating who may use it.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { NOT_OFFERED_ROUTES, ROUTES } from '../../src/api/routes/routes.ts';
import type { Account } from '../../src/store/rows.ts';
import { openBench, type Ask, type Bench } from './bench.ts';

type Who = 'send' | 'full' | 'open';

/** Route → who may use it. */
const TABLE: Record<string, Who> = {
  'POST /emails': 'send',
  'POST /emails/batch': 'send',
  'POST /email': 'send',
  'POST /email/send': 'send',
  'GET /emails': 'full',
  'GET /emails/:id': 'full',
  'GET /emails/:id/body': 'full',
  'GET /emails/:id/attachments': 'full',
  'GET /emails/:id/attachments/:attachment': 'full',
  'GET /emails/:id/attachments/:attachment/content': 'open',
  'GET /email': 'full',
  'GET /email/:id': 'full',
  'POST /domains': 'full',
  'GET /domains': 'full',
  'GET /domains/:id': 'full',
  'POST /domains/:id/verify': 'full',
  'PATCH /domains/:id': 'full',
  'DELETE /domains/:id': 'full',
  'POST /api-keys': 'full',
  'GET /api-keys': 'full',
  'PATCH /api-keys/:id': 'full',
  'DELETE /api-keys/:id': 'full',
  'POST /webhooks': 'full',
  'GET /webhooks': 'full',
  'GET /webhooks/:id': 'full',
  'PATCH /webhooks/:id': 'full',
  'DELETE /webhooks/:id': 'full',
  'POST /webhooks/:id/enable': 'full',
  'GET /webhooks/:id/deliveries': 'full',
  'POST /webhooks/:id/test': 'full',
  'POST /webhooks/:id/replay': 'full',
  'POST /webhooks/:id/events/:event/replay': 'full',
  'POST /webhooks/:id/rotate-secret': 'full',
  'POST /webhooks/:id/signing-secret/rotate': 'full',
  'POST /suppressions': 'full',
  'GET /suppressions': 'full',
  'GET /suppressions/:email': 'full',
  'DELETE /suppressions/:email': 'full',
  'POST /suppressions/batch/add': 'full',
  'POST /suppressions/batch/remove': 'full',
  'GET /logs': 'full',
  'GET /logs/:id': 'full',
  'GET /usage': 'full',
};

/** A body that would be accepted, for routes that need one. */
const BODIES: Record<string, unknown> = {
  'POST /emails': {
    from: 'a@own.example.com',
    to: 'delivered@sandbox.test',
    subject: 's',
    text: 't',
  },
  'POST /email': {
    from: 'a@own.example.com',
    to: 'delivered@sandbox.test',
    subject: 's',
    text: 't',
  },
  'POST /email/send': {
    from: 'a@own.example.com',
    to: 'delivered@sandbox.test',
    subject: 's',
    text: 't',
  },
  'POST /emails/batch': [
    { from: 'a@own.example.com', to: 'delivered@sandbox.test', subject: 's', text: 't' },
  ],
  'POST /domains': { name: 'added.example.com' },
  'PATCH /domains/:id': { open_tracking: false },
  'POST /api-keys': { name: 'made' },
  'PATCH /api-keys/:id': { name: 'renamed' },
  'POST /webhooks': { endpoint: 'https://hook.example.com/' },
  'PATCH /webhooks/:id': { events: [] },
  'POST /webhooks/:id/replay': { event_id: '01913c7e-89ab-7cde-8f01-23456789abcd' },
  'POST /suppressions': { email: 'new@example.com' },
  'POST /suppressions/batch/add': { emails: ['new@example.com'] },
  'POST /suppressions/batch/remove': { emails: ['new@example.com'] },
};

let bench: Bench;
let owner: Account;
/** Path parameters of objects of `owner`, by the first part of the path. */
let own: Record<string, Record<string, string>>;
let keys: Record<'bad' | 'revoked' | 'send' | 'full' | 'otherAccount', string>;

beforeAll(async () => {
  bench = await openBench();
  owner = await bench.account('owner');
  const other = await bench.account('otherAccount');
  const domain = await bench.domain(owner, 'own.example.com');
  await bench.domain(other, 'own.example.com');
  const full = await bench.key(owner);
  const ask = (path: string, body: unknown) => bench.ask({ path, key: full, body });
  const gone = await ask('/api-keys', { name: 'gone', scope: 'full' });
  await bench.ask({ path: `/api-keys/${gone.json.id}`, method: 'DELETE', key: full });
  keys = {
    bad: `pr_live_${'x'.repeat(36)}`,
    revoked: gone.json.token,
    send: await bench.key(owner, 'sending_access'),
    full,
    otherAccount: await bench.key(other),
  };
  const attachments = [{ filename: 'a.txt', content: 'YQ==' }];
  const sent = await ask('/emails/batch', [{ ...(BODIES['POST /emails'] as object), attachments }]);
  const id = String(sent.json.data[0].id);
  const list = await bench.ask({ path: `/emails/${id}/attachments`, key: full });
  const webhook = await ask('/webhooks', BODIES['POST /webhooks']);
  await ask('/suppressions', { email: 'listed@example.com' });
  const key = await ask('/api-keys', { name: 'target' });
  own = {
    emails: { id, attachment: list.json.data[0].id },
    email: { id },
    domains: { id: domain.id },
    'api-keys': { id: key.json.id },
    webhooks: { id: webhook.json.id },
    suppressions: { email: 'listed@example.com' },
    logs: { id: String(sent.headers.get('x-request-id')) },
  };
});

afterAll(() => bench.close());

function request(route: string, key: string | null): Ask {
  const [method = '', pattern = ''] = route.split(' ');
  const part = pattern.split('/')[1] ?? '';
  const path = pattern.replaceAll(/:(\w+)/g, (_, name: string) => own[part]?.[name] ?? 'none');
  const body = BODIES[route];
  return { method, path, key, ...(body !== undefined && { body }) };
}

test('every route is in the table, with the access it has', () => {
  const real = ROUTES.map(({ method, path, access }) => [`${method} ${path}`, access]);
  expect(Object.fromEntries(real)).toEqual(TABLE);
});

describe.each(Object.entries(TABLE).filter(([, who]) => who !== 'open'))('%s', (route, who) => {
  test('no key, a bad key and a revoked key are 401', async () => {
    const none = await bench.ask(request(route, null));
    expect([none.status, none.json.name]).toEqual([401, 'missing_api_key']);
    for (const key of [keys.bad, keys.revoked]) {
      const sent = await bench.ask(request(route, key));
      expect([sent.status, sent.json.name]).toEqual([401, 'invalid_api_key']);
    }
  });

  test(`a sending key ${who === 'send' ? 'may' : 'is refused with 403'}`, async () => {
    const sent = await bench.ask(request(route, keys.send));
    if (who === 'send') expect(sent.status).toBeLessThan(300);
    else expect([sent.status, sent.json.name]).toEqual([403, 'restricted_api_key']);
  });

  test("another account's key finds nothing", async () => {
    const sent = await bench.ask(request(route, keys.otherAccount));
    if (route.includes(':')) expect([sent.status, sent.json.code]).toEqual([404, 'not_found']);
    else expect(sent.status).toBeLessThan(300);
    if (sent.status >= 300) return;
    // The log of the other account has the paths of these requests.
    const shown = sent.text.replaceAll(/"(?:path|endpoint)":"[^"]*"/g, '');
    const ids = Object.values(own).flatMap((one) => Object.values(one));
    for (const id of ids) expect(shown).not.toContain(id);
  });
});

/** Routes that delete come last. */
const LAST = [
  'DELETE /domains/:id',
  'DELETE /api-keys/:id',
  'DELETE /webhooks/:id',
  'DELETE /suppressions/:email',
];
const GENTLE = Object.keys(TABLE).filter(
  (route) => TABLE[route] !== 'open' && !LAST.includes(route),
);

describe('the full key of the account', () => {
  test.each([...GENTLE, ...LAST])('%s', async (route) => {
    const sent = await bench.ask(request(route, keys.full));
    // An event id that does not exist: the only request of the table that finds nothing.
    const found = route.endsWith('/replay') ? [200, 404] : [200, 201, 202];
    expect(found).toContain(sent.status);
  });
});

test('routes that are not offered need a key too', async () => {
  for (const { method, path } of NOT_OFFERED_ROUTES) {
    const sent = await bench.ask({ method, path: path.replaceAll(/:\w+/g, 'x') });
    expect(sent.status).toBe(401);
  }
});
