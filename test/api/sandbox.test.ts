/**
 * What a sandbox key touches: over every route of the API it finds, changes and removes nothing live, and it sees what
 * sandbox keys sent and asked.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { ROUTES } from '../../src/api/routes/routes.ts';
import type { Account } from '../../src/store/rows.ts';
import { openBench, type Bench, type Sent } from './bench.ts';

const SENT = { from: 'a@own.example.com', to: 'y@example.org', subject: 'a test', text: 't' };
const MAIL = { from: 'a@own.example.com', to: 'x@example.org', subject: 'live one', text: 't' };

/** What a sandbox key gets where its own data is: on a list that nothing live is in, or on a creation. */
const OWN = [200, 201, 202];
/** Route → the statuses that a sandbox key may get for a live thing. */
const TABLE: Record<string, number[]> = {
  'POST /email': OWN,
  'POST /emails': OWN,
  'POST /emails/batch': OWN,
  'POST /email/send': OWN,
  'GET /emails': OWN,
  'GET /emails/:id': [404],
  'GET /emails/:id/body': [404],
  'GET /emails/:id/attachments': [404],
  'GET /emails/:id/attachments/:attachment': [404],
  'GET /email': OWN,
  'GET /email/:id': [404],
  'POST /domains': [403],
  'GET /domains': OWN,
  'GET /domains/:id': [404],
  'PATCH /domains/:id': [404],
  'POST /domains/:id/verify': [404],
  'DELETE /domains/:id': [404],
  'POST /api-keys': OWN,
  'GET /api-keys': OWN,
  'PATCH /api-keys/:id': [404],
  'DELETE /api-keys/:id': [404],
  'POST /webhooks': [403],
  'GET /webhooks': OWN,
  'GET /webhooks/:id': [404],
  'PATCH /webhooks/:id': [404],
  'DELETE /webhooks/:id': [404],
  'POST /webhooks/:id/enable': [404],
  'GET /webhooks/:id/deliveries': [404],
  'POST /webhooks/:id/test': [404],
  'POST /webhooks/:id/replay': [404],
  'POST /webhooks/:id/events/:event/replay': [404],
  'POST /webhooks/:id/rotate-secret': [404],
  'POST /webhooks/:id/signing-secret/rotate': [404],
  'POST /suppressions': [403],
  'GET /suppressions': OWN,
  'GET /suppressions/:email': [404],
  'DELETE /suppressions/:email': [404],
  'POST /suppressions/batch/add': [403],
  'POST /suppressions/batch/remove': [403],
  'GET /logs': OWN,
  'GET /logs/:id': [404],
  'GET /usage': OWN,
};

const BODIES: Record<string, unknown> = {
  'POST /email': SENT,
  'POST /emails': SENT,
  'POST /emails/batch': [SENT],
  'POST /email/send': SENT,
  'POST /domains': { name: 'added.example.com' },
  'POST /api-keys': { name: 'made', permission: 'full_access' },
  'PATCH /api-keys/:id': { name: 'renamed' },
  'POST /webhooks': { endpoint: 'https://hook.example.com/' },
  'PATCH /webhooks/:id': { events: [], status: 'disabled' },
  'POST /webhooks/:id/replay': { event_id: '01913c7e-89ab-7cde-8f01-23456789abcd' },
  'POST /suppressions': { email: 'new@example.com' },
  'POST /suppressions/batch/add': { emails: ['new@example.com'] },
  'POST /suppressions/batch/remove': { emails: ['listed@example.com'] },
};

let bench: Bench;
let account: Account;
let live: string;
let sandbox: string;
/** Path parameters of live things, by the first part of the path. */
let things: Record<string, Record<string, string>>;
/** Texts that only live rows have. */
let marks: string[];

const asked = (path: string, key: string, body?: unknown, method?: string): Promise<Sent> =>
  bench.ask({ path, key, body, ...(method !== undefined && { method }) });

beforeAll(async () => {
  bench = await openBench();
  account = await bench.account('owner');
  const domain = await bench.domain(account, 'own.example.com');
  live = await bench.key(account);
  sandbox = await bench.key(account, 'full_access', true);
  const attachments = [{ filename: 'a.txt', content: 'YQ==' }];
  const sent = await asked('/emails/batch', live, [{ ...MAIL, attachments }]);
  const id = String(sent.json.data[0].id);
  const list = await asked(`/emails/${id}/attachments`, live);
  const webhook = await asked('/webhooks', live, { endpoint: 'https://hook.example.com/' });
  await asked('/suppressions', live, { email: 'listed@example.com' });
  const key = await asked('/api-keys', live, { name: 'target' });
  const logId = String(sent.headers.get('x-request-id'));
  things = {
    emails: { id, attachment: list.json.data[0].id },
    email: { id },
    domains: { id: domain.id },
    'api-keys': { id: key.json.id },
    webhooks: { id: webhook.json.id, event: '01913c7e-89ab-7cde-8f01-23456789abcd' },
    suppressions: { email: 'listed@example.com' },
    logs: { id: logId },
  };
  const ids = [id, domain.id, key.json.id, webhook.json.id, logId].map(String);
  marks = [...ids, 'live one', 'listed@example.com', 'hook.example.com', 'own.example.com"'];
});

afterAll(() => bench.close());

test('every route with a key is in the table', () => {
  const real = ROUTES.filter(({ access }) => access !== 'open');
  expect(real.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(
    Object.keys(TABLE).sort(),
  );
});

describe.each(Object.entries(TABLE))('%s', (route, statuses) => {
  test('touches nothing live', async () => {
    const [method = '', pattern = ''] = route.split(' ');
    const part = pattern.split('/')[1] ?? '';
    const path = pattern.replaceAll(/:(\w+)/g, (_, name: string) => things[part]?.[name] ?? 'none');
    const before = await liveState();
    const sent = await asked(path, sandbox, BODIES[route], method);
    expect(statuses).toContain(sent.status);
    if (method === 'GET' && sent.status === 200) {
      // What the sandbox key itself sent says `own.example.com` too, as its sender.
      const shown = pattern.startsWith('/email') ? marks.slice(0, 6) : marks;
      const own = pattern === '/logs' ? sent.text.replaceAll(/"(path|endpoint)":"[^"]*"/g, '') : '';
      for (const mark of shown) expect(own || sent.text).not.toContain(mark);
    }
    expect(await liveState()).toEqual(before);
  });
});

/** Everything live that a request could change. */
async function liveState(): Promise<unknown> {
  const { store } = bench.ctx;
  const keys = await store.keys(account.id);
  // Not `storage`: sandbox sends count against the bytes that the account keeps (docs/decisions.md D171).
  const used = (await asked('/usage', live)).json.usage;
  return {
    domains: await store.domains(account.id),
    endpoints: (await asked('/webhooks', live)).json.data,
    keys: keys
      .filter(({ isTest }) => !isTest)
      .map(({ id, name, revokedAt }) => ({ id, name, revokedAt })),
    suppressions: (await asked('/suppressions', live)).json.data,
    accepted: bench.accepted.length,
    used,
  };
}

describe('what a sandbox key sees', () => {
  let ids: string[];

  beforeAll(async () => {
    const other = await bench.account('both');
    live = await bench.key(other);
    sandbox = await bench.key(other, 'full_access', true);
    await bench.domain(other, 'own.example.com');
    ids = [];
    for (const n of [1, 2, 3, 4, 5]) {
      await asked('/emails', live, { ...MAIL, subject: `live ${n}` });
      const sent = await asked('/emails', sandbox, { ...MAIL, subject: `sandbox ${n}` });
      ids.unshift(sent.json.id);
    }
  });

  test('its emails, in pages both ways, by status, by text and by page number', async () => {
    const idsOf = async (path: string): Promise<string[]> =>
      (await asked(path, sandbox)).json.data.map(({ id }: { id: string }) => id);
    expect(await idsOf('/emails')).toEqual(ids);
    expect(await idsOf('/emails?limit=2')).toEqual(ids.slice(0, 2));
    expect(await idsOf(`/emails?limit=2&after=${ids[1]}`)).toEqual(ids.slice(2, 4));
    expect(await idsOf(`/emails?limit=2&before=${ids[3]}`)).toEqual(ids.slice(1, 3));
    expect(await idsOf('/emails?status=delivered')).toEqual(ids);
    expect(await idsOf(`/emails?status=delivered&limit=2&before=${ids[3]}`)).toEqual(
      ids.slice(1, 3),
    );
    expect(await idsOf('/emails?status=queued')).toEqual([]);
    expect(await idsOf('/emails?q=sandbox%203')).toEqual(ids.slice(2, 3));
    expect(await idsOf('/emails?q=live')).toEqual([]);
    const older = await asked('/email?page=2&limit=2', sandbox);
    expect(older.json.emails.map(({ id }: { id: string }) => id)).toEqual(ids.slice(2, 4));
    expect((await asked(`/emails/${ids[0]}`, sandbox)).status).toBe(200);
    expect((await asked('/emails', live)).json.data).toHaveLength(10);
  });

  test('its emails and its requests, which a live key sees one by one, too', async () => {
    const [id = ''] = ids;
    const logs = (await asked('/logs?limit=1&method=POST', sandbox)).json.data;
    for (const path of [
      `/emails/${id}`,
      `/emails/${id}/body`,
      `/emails/${id}/attachments`,
      `/email/${id}`,
      `/logs/${logs[0].id}`,
    ]) {
      const [own, other] = [await asked(path, sandbox), await asked(path, live)];
      expect([path, own.status, other.status]).toEqual([path, 200, 200]);
      expect(other.json).toEqual(own.json);
    }
  });

  test('its usage, which spends nothing', async () => {
    const { usage, counts } = (await asked('/usage', sandbox)).json;
    expect([usage.usedThisMonth, counts.delivered, counts.queued]).toEqual([0, 5, 0]);
    const full = (await asked('/usage', live)).json;
    expect([full.usage.usedThisMonth, full.counts.delivered, full.counts.queued]).toEqual([
      5, 5, 5,
    ]);
  });

  test('its requests, with every filter', async () => {
    const rows = async (query: string, key: string): Promise<number> =>
      (await asked(`/logs?limit=100${query}`, key)).json.data.length;
    expect(await rows('&method=POST', sandbox)).toBe(5);
    expect(await rows('&method=POST', live)).toBe(10);
    expect(await rows('&method=POST&status=4', sandbox)).toBe(0);
    expect(await rows('&method=POST&status=2&q=emails', sandbox)).toBe(5);
    const { id } = (await asked('/logs?method=POST&limit=1', sandbox)).json.data[0];
    expect((await asked(`/logs/${id}`, sandbox)).status).toBe(200);
  });

  test('its keys, which it renames and revokes', async () => {
    const made = await asked('/api-keys', sandbox, { name: 'made', permission: 'full_access' });
    expect(made.json.token).toMatch(/^pr_test_/);
    const { data } = (await asked('/api-keys', sandbox)).json;
    expect(data.map(({ prefix }: { prefix: string }) => prefix.slice(0, 8))).toEqual([
      'pr_test_',
      'pr_test_',
    ]);
    const path = `/api-keys/${made.json.id}`;
    expect((await asked(path, sandbox, { name: 'other' }, 'PATCH')).status).toBe(200);
    expect((await asked(path, sandbox, undefined, 'DELETE')).status).toBe(200);
    expect((await asked('/emails', made.json.token)).status).toBe(401);
  });

  test('an idempotency key of one kind of key is not in the way of the other', async () => {
    const headers = { 'idempotency-key': 'order-1' };
    const send = (key: string): Promise<Sent> =>
      bench.ask({ path: '/emails', key, body: MAIL, headers });
    const first = await send(sandbox);
    const second = await send(live);
    expect([first.status, first.json.status]).toEqual([200, 'sent']);
    expect([second.status, second.json.status]).toEqual([200, 'queued']);
    expect((await send(sandbox)).json).toEqual(first.json);
    expect((await send(live)).json).toEqual(second.json);
  });
});
