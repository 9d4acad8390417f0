/** Routes at their bounds: limits exactly at and one beyond, statuses and names of refusals, spellings, and what a change left. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { addSuppression } from '../../../src/flow/suppressions/suppressions.ts';
import type { Account } from '../../../src/store/rows.ts';
import { openBench, type Ask, type Bench, type Sent } from '../bench.ts';

const UNKNOWN = '01913c7e-89ab-7cde-8f01-23456789abcd';
const EMAIL = { from: 'a@own.example', to: 'b@example.net', subject: 's', text: 't' };

let bench: Bench;
let account: Account;
let key: string;
let other: string;

beforeAll(async () => {
  bench = await openBench({ toml: '[api]\nregion = "sa-east-1"' });
  account = await bench.account('routes', 'fast');
  await bench.domain(account, 'own.example');
  key = await bench.key(account);
  other = await bench.key(await bench.account('other', 'fast'));
});
afterAll(() => bench.close());

const ask = (what: Ask): Promise<Sent> => bench.ask({ key, ...what });
/** Status, error name, and path of the first issue. */
const refusal = (sent: Sent): unknown[] => [
  sent.status,
  sent.json.name,
  sent.json.detail?.issues?.[0]?.path ?? null,
];

test.each([
  ['/emails', 100],
  ['/email', 100],
  ['/logs', 100],
  ['/domains', 100],
  ['/api-keys', 100],
  ['/webhooks', 100],
  ['/suppressions', 500],
])('%s has pages of 1 to %d rows', async (path, most) => {
  for (const limit of ['1', String(most)]) {
    expect([limit, (await ask({ path: `${path}?limit=${limit}` })).status]).toEqual([limit, 200]);
  }
  for (const limit of ['0', String(most + 1), '-1', '1.5', 'x', '', '1e1']) {
    const sent = await ask({ path: `${path}?limit=${limit}` });
    expect([limit, ...refusal(sent)]).toEqual([limit, 422, 'validation_error', 'limit']);
  }
  const twice = await ask({ path: `${path}?limit=1&limit=2` });
  expect(twice.json.message).toContain('limit must appear only once.');
});

test.each(['/emails', '/logs', '/domains', '/api-keys', '/webhooks', '/suppressions'])(
  '%s takes one cursor that is an id',
  async (path) => {
    expect((await ask({ path: `${path}?after=${UNKNOWN}` })).status).toBe(200);
    expect((await ask({ path: `${path}?before=${UNKNOWN}` })).status).toBe(200);
    expect(refusal(await ask({ path: `${path}?after=x` }))).toEqual([
      422,
      'validation_error',
      'after',
    ]);
    expect(refusal(await ask({ path: `${path}?before=x` }))).toEqual([
      422,
      'validation_error',
      'before',
    ]);
    const both = await ask({ path: `${path}?after=${UNKNOWN}&before=${UNKNOWN}` });
    expect(both.json.message).toContain('after and before cannot be combined.');
  },
);

test('a search has at most 200 characters, none of them a control character', async () => {
  for (const path of ['/emails', '/logs', '/suppressions']) {
    expect((await ask({ path: `${path}?q=${'q'.repeat(200)}` })).status).toBe(200);
    for (const q of ['q'.repeat(201), '%00', '%1f', '%7f', '%0a']) {
      expect(refusal(await ask({ path: `${path}?q=${q}` }))).toEqual([
        422,
        'validation_error',
        'q',
      ]);
    }
  }
});

test('pages of the older list are counted from 1, with 20 emails each', async () => {
  const own = await bench.account('older', 'fast');
  await bench.domain(own, 'older.example');
  const ownKey = await bench.key(own);
  const sent: string[] = [];
  for (let n = 0; n < 21; n += 1) {
    const body = { ...EMAIL, from: 'a@older.example' };
    sent.unshift((await bench.ask({ path: '/emails', key: ownKey, body })).json.id);
  }
  const page = async (query: string) =>
    (await bench.ask({ path: `/email${query}`, key: ownKey })).json;
  const idsOf = ({ emails }: { emails: { id: string }[] }) => emails.map(({ id }) => id);
  expect(idsOf(await page(''))).toEqual(sent.slice(0, 20));
  expect(await page('')).toMatchObject({ page: 1, limit: 20 });
  expect(idsOf(await page('?page=2'))).toEqual(sent.slice(20));
  expect(idsOf(await page('?page=2&limit=5'))).toEqual(sent.slice(5, 10));
  expect(idsOf(await page('?page=3'))).toEqual([]);
  for (const wrong of ['0', '-1', 'x']) {
    const refused = await bench.ask({ path: `/email?page=${wrong}`, key: ownKey });
    expect(refusal(refused)).toEqual([422, 'validation_error', 'page']);
  }
  const list = (await bench.ask({ path: '/emails', key: ownKey })).json;
  expect([list.data.length, list.has_more, list.next]).toEqual([21, false, null]);
  const first = (await bench.ask({ path: '/emails?limit=20', key: ownKey })).json;
  expect([first.has_more, first.next]).toEqual([true, sent[19]]);
  for (const never of ['scheduled', 'canceled', 'opened', 'clicked', 'bounced']) {
    const none = await bench.ask({ path: `/emails?status=${never}`, key: ownKey });
    expect([none.status, none.json.data]).toEqual([200, []]);
  }
  expect((await bench.ask({ path: '/emails?status=queued', key: ownKey })).json.data).toHaveLength(
    21,
  );
  expect((await bench.ask({ path: '/emails?status=lost', key: ownKey })).status).toBe(422);
});

test('a batch has 1 to 100 emails, strict unless it says permissive', async () => {
  const batch = (count: number) => Array.from({ length: count }, () => EMAIL);
  const path = '/emails/batch';
  expect(refusal(await ask({ path, body: [] }))).toEqual([422, 'validation_error', '']);
  expect(refusal(await ask({ path, body: EMAIL }))).toEqual([422, 'validation_error', '']);
  expect(refusal(await ask({ path, body: batch(101) }))).toEqual([422, 'validation_error', '']);
  expect((await ask({ path, body: batch(100) })).json.data).toHaveLength(100);
  const mixed = [EMAIL, { ...EMAIL, to: 'nobody' }, EMAIL];
  const before = bench.accepted.length;
  const strict = await ask({ path, body: mixed });
  expect(refusal(strict)).toEqual([422, 'validation_error', '[1].to']);
  expect(bench.accepted.length).toBe(before);
  const mode = (value: string) =>
    ask({ path, body: mixed, headers: { 'x-batch-validation': value } });
  const permissive = await mode('permissive');
  expect([permissive.status, permissive.json.data.length]).toEqual([200, 2]);
  expect(permissive.json.errors).toEqual([
    {
      index: 1,
      code: 'validation_failed',
      name: 'validation_error',
      message: expect.stringContaining('[1].to'),
    },
  ]);
  expect((await mode('strict')).status).toBe(422);
  expect(refusal(await mode('loose'))).toEqual([422, 'validation_error', 'x-batch-validation']);
  expect((await ask({ path, body: [EMAIL] })).json).not.toHaveProperty('errors');
});

test('each route of a send has its own status, and refuses a list', async () => {
  expect((await ask({ path: '/emails', body: EMAIL })).status).toBe(200);
  expect((await ask({ path: '/email', body: EMAIL })).status).toBe(200);
  expect((await ask({ path: '/email/send', body: EMAIL })).status).toBe(202);
  for (const path of ['/emails', '/email', '/email/send']) {
    expect([path, (await ask({ path, body: [EMAIL] })).status]).toEqual([path, 422]);
  }
});

test('a key is named with 1 to 60 characters, sends only unless it says more, and knows no domain', async () => {
  const make = (body: object) => ask({ path: '/api-keys', body });
  const made = await make({ name: 'n'.repeat(60) });
  expect(made.json).toMatchObject({ permission: 'sending_access', scope: 'send' });
  expect((await make({ name: 'n'.repeat(61) })).status).toBe(422);
  expect((await make({ name: '' })).status).toBe(422);
  expect(refusal(await make({}))).toEqual([422, 'missing_required_field', 'name']);
  for (const domain of [UNKNOWN, '']) {
    expect(refusal(await make({ name: 'a', domain_id: domain }))).toEqual([
      422,
      'validation_error',
      'domain_id',
    ]);
  }
  expect(refusal(await make({ name: 'a', permission: 'full_access', scope: 'send' }))).toEqual([
    422,
    'validation_error',
    'scope',
  ]);
  const same = await make({ name: 'a', permission: 'full_access', scope: 'full' });
  expect([same.status, same.json.permission]).toEqual([201, 'full_access']);
  const { id } = made.json;
  const rename = (as: string) =>
    ask({ path: `/api-keys/${id}`, method: 'PATCH', body: { name: 'renamed' }, key: as });
  expect((await rename(other)).status).toBe(404);
  expect([
    (await rename(key)).json,
    (await bench.ctx.store.keys(account.id)).map(({ name }) => name),
  ]).toEqual([{ object: 'api_key', id }, expect.arrayContaining(['renamed'])]);
  expect((await ask({ path: `/api-keys/${id}`, method: 'DELETE', key: other })).status).toBe(404);
  const gone = await ask({ path: `/api-keys/${id}`, method: 'DELETE' });
  expect(gone.json).toEqual({ object: 'api_key', id, deleted: true, status: 'revoked' });
});

test('a domain is added under either name, has no settings, and belongs to its account', async () => {
  const add = (body: object) => ask({ path: '/domains', body });
  const one = await add({ name: 'one.example', domain: 'one.example', region: 'anywhere' });
  expect([one.status, one.json.name, one.json.domain, one.json.region]).toEqual([
    201,
    'one.example',
    'one.example',
    'sa-east-1',
  ]);
  expect((await add({ domain: 'two.example' })).json.name).toBe('two.example');
  expect(refusal(await add({ name: 'a.example', domain: 'b.example' }))).toEqual([
    422,
    'validation_error',
    'domain',
  ]);
  expect(refusal(await add({}))).toEqual([422, 'missing_required_field', 'name']);
  expect((await add({ name: 'one.example' })).status).toBe(409);
  const { id } = one.json;
  const change = (body: object, as = key) =>
    ask({ path: `/domains/${id}`, method: 'PATCH', body, key: as });
  const kept = {
    open_tracking: false,
    click_tracking: false,
    tracking_subdomain: '',
    tls: 'opportunistic',
    capabilities: { sending: 'enabled', receiving: 'disabled' },
  };
  expect((await change(kept)).json).toEqual({ object: 'domain', id });
  expect((await change({})).status).toBe(200);
  for (const [body, path] of [
    [{ open_tracking: true }, 'open_tracking'],
    [{ click_tracking: true }, 'click_tracking'],
    [{ tracking_subdomain: 'x' }, 'tracking_subdomain'],
    [{ tls: 'enforced' }, 'tls'],
    [{ capabilities: { sending: 'disabled' } }, 'capabilities.sending'],
    [{ capabilities: { receiving: 'enabled' } }, 'capabilities.receiving'],
    [{ capabilities: { sending: 'enabled', more: 'enabled' } }, 'capabilities.more'],
    [{ capabilities: ['sending'] }, 'capabilities'],
    [{ name: 'x.example' }, 'name'],
  ] as const) {
    expect(refusal(await change(body))).toEqual([422, 'validation_error', path]);
  }
  const all = { open_tracking: true, tls: 'enforced' };
  expect((await change(all)).json.detail.issues).toHaveLength(2);
  expect((await change({}, other)).status).toBe(404);
  for (const [method, path] of [
    ['GET', `/domains/${id}`],
    ['DELETE', `/domains/${id}`],
    ['POST', `/domains/${id}/verify`],
  ] as const) {
    expect([method, (await ask({ method, path, key: other })).status]).toEqual([method, 404]);
  }
  expect((await ask({ path: '/domains', key: other })).json.data).toEqual([]);
  expect((await ask({ path: `/domains/${id}`, method: 'DELETE' })).json).toEqual({
    object: 'domain',
    id,
    deleted: true,
    status: 'revoked',
  });
  expect((await ask({ path: `/domains/${id}` })).status).toBe(404);
});

test('an endpoint is added under either name, changed, enabled and removed by its own account', async () => {
  const url = 'https://127.0.0.1/hook';
  const add = (body: object) => ask({ path: '/webhooks', body });
  expect(refusal(await add({}))).toEqual([422, 'missing_required_field', 'endpoint']);
  expect(refusal(await add({ url, endpoint: `${url}2` }))).toEqual([
    422,
    'validation_error',
    'url',
  ]);
  expect((await add({ url, events: ['email.lost'] })).status).toBe(422);
  const { json, status } = await add({ endpoint: url, url, events: ['email.sent'] });
  expect([status, json.events, json.url, json.signing_secret]).toEqual([
    201,
    ['email.sent'],
    url,
    json.secret,
  ]);
  const path = `/webhooks/${json.id}`;
  const change = async (body: object) => (await ask({ path, method: 'PATCH', body })).json;
  expect(await change({ status: 'disabled' })).toMatchObject({ status: 'disabled', url });
  expect(await change({ events: [] })).toMatchObject({ status: 'disabled', events: [] });
  expect(await change({ status: 'enabled' })).toMatchObject({ status: 'active' });
  await change({ status: 'disabled' });
  expect((await ask({ path: `${path}/enable`, method: 'POST' })).json).toEqual({
    id: json.id,
    status: 'active',
  });
  await change({ status: 'disabled' });
  expect(await change({ status: 'active', url: `${url}3` })).toMatchObject({
    status: 'active',
    endpoint: `${url}3`,
  });
  expect((await ask({ path, method: 'PATCH', body: { status: 'off' } })).status).toBe(422);
  for (const rotate of ['rotate-secret', 'signing-secret/rotate']) {
    const sent = await ask({ path: `${path}/${rotate}`, method: 'POST' });
    expect(sent.json).toMatchObject({ object: 'webhook', id: json.id });
    expect(sent.json.secret).toBe(sent.json.signing_secret);
    expect(sent.json.secret).not.toBe(json.secret);
    const hours = (Date.parse(sent.json.previous_valid_until) - Date.now()) / 3_600_000;
    expect(hours).toBeWithin(23.9, 24.1);
  }
  for (const [method, below, body] of [
    ['GET', '', undefined],
    ['PATCH', '', {}],
    ['DELETE', '', undefined],
    ['POST', '/enable', undefined],
    ['POST', '/test', undefined],
    ['GET', '/deliveries', undefined],
    ['POST', '/rotate-secret', undefined],
    ['POST', '/replay', { event_id: UNKNOWN }],
    ['POST', `/events/${UNKNOWN}/replay`, undefined],
  ] as const) {
    const sent = await ask({ method, path: path + below, key: other, body });
    expect([method, below, sent.status]).toEqual([method, below, 404]);
  }
  for (const [body, field] of [
    [{}, 'event_id'],
    [{ event_id: UNKNOWN, since: '2026-11-21T09:30:00Z' }, 'event_id'],
    [{ event_id: 'x' }, 'event_id'],
    [{ since: '2026-11-21' }, 'since'],
    [{ since: '2026-13-21T09:30:00Z' }, 'since'],
    [{ since: '2026-02-30T09:30:00Z' }, 'since'],
    [{ since: 'yesterday' }, 'since'],
  ] as const) {
    const sent = await ask({ path: `${path}/replay`, body });
    expect(refusal(sent)).toEqual([422, 'validation_error', field]);
  }
  const since = { since: '2026-11-21T09:30:00Z' };
  expect((await ask({ path: `${path}/replay`, body: since })).json).toEqual({
    id: json.id,
    replayed: 0,
  });
  expect((await ask({ path: `${path}/events/${UNKNOWN}/replay`, method: 'POST' })).status).toBe(
    404,
  );
  expect((await ask({ path, method: 'DELETE' })).json).toEqual({
    object: 'webhook',
    id: json.id,
    deleted: true,
    status: 'deleted',
  });
  expect((await ask({ path })).status).toBe(404);
});

test('a suppression is found and removed by address or id, in its own account; a page goes on from either', async () => {
  const own = await bench.account('lists', 'fast');
  const ownKey = await bench.key(own);
  const made = await bench.ask({
    path: '/suppressions',
    key: ownKey,
    body: { email: 'Ann@X.example' },
  });
  expect([made.status, made.json.email, made.json.reason, made.json.source]).toEqual([
    201,
    'ann@x.example',
    'manual',
    'api',
  ]);
  const { id } = made.json;
  for (const path of ['/suppressions/ANN@x.example', `/suppressions/${id}`]) {
    expect((await bench.ask({ path, key: ownKey })).json.id).toBe(id);
    for (const method of ['GET', 'DELETE']) {
      expect([path, (await ask({ path, method })).status]).toEqual([path, 404]);
    }
  }
  expect((await bench.ask({ path: '/suppressions/nobody', key: ownKey })).status).toBe(404);
  for (const name of ['b', 'c'])
    await addSuppression(bench.ctx, own.id, { email: `${name}@x.example` });
  const page = async (query: string) => {
    const { json } = await bench.ask({ path: `/suppressions?${query}`, key: ownKey });
    const found = json.data.map(({ email }: { email: string }) => email.charAt(0));
    return [found.join(''), json.has_more, json.next];
  };
  expect(await page('limit=2')).toEqual(['cb', true, 'b@x.example']);
  expect(await page('after=B@x.example')).toEqual(['a', false, null]);
  expect(await page(`before=${id}`)).toEqual(['cb', false, null]);
  const batch = (emails: string[]) =>
    bench.ask({ path: '/suppressions/batch/add', key: ownKey, body: { emails } });
  const many = (count: number) => Array.from({ length: count }, (_, at) => `m${at}@x.example`);
  expect(refusal(await batch([]))).toEqual([422, 'validation_error', 'emails']);
  expect(refusal(await batch(many(101)))).toEqual([422, 'validation_error', 'emails']);
  expect(refusal(await batch(['d@x.example', 'nobody']))).toEqual([
    422,
    'validation_error',
    'emails[1]',
  ]);
  expect(await bench.ctx.store.suppression(own.id, 'd@x.example')).toBeNull();
  const added = await batch(many(100));
  expect(added.json.data.map(({ email }: { email: string }) => email)).toEqual(many(100));
  const removed = await bench.ask({ path: `/suppressions/${id}`, method: 'DELETE', key: ownKey });
  expect(removed.json).toEqual({
    object: 'suppression',
    id,
    email: 'ann@x.example',
    deleted: true,
    status: 'removed',
  });
});
