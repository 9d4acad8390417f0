/** Resources one by one: what is stored of each, lists page by page, and a check of a domain that succeeds or cannot be made. */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { addSuppression } from '../../../src/flow/suppressions/suppressions.ts';
import type { Account, Domain } from '../../../src/store/rows.ts';
import type { DnsAnswer } from '../../../src/wire/dns/resolver.ts';
import { TestClock } from '../../rig/clock.ts';
import { openBench, type Ask, type Bench, type Sent } from '../bench.ts';

const NONE = '01913c7e-89ab-7cde-8f01-23456789abcd';
const clock = new TestClock(Date.parse('2026-11-21T09:30:00.000Z'));

let bench: Bench;
let account: Account;
let domain: Domain;
let key: string;
/** What DNS answers to a name. */
let dns: (name: string) => DnsAnswer<string>;

const nodata: DnsAnswer<string> = { kind: 'nodata', isAuthenticated: false };
const found = (...records: string[]): DnsAnswer<string> => ({
  kind: 'found',
  records,
  ttlSeconds: 60,
  isAuthenticated: false,
});

beforeAll(async () => {
  const asked = (name: string) => Promise.resolve(dns(name));
  bench = await openBench({ clock, resolver: { txt: asked, cname: asked } });
  account = await bench.account('resources', 'fast');
  key = await bench.key(account);
  domain = await bench.domain(account, 'own.example');
  dns = () => nodata;
});
afterAll(() => bench.close());

const ask = (what: Ask): Promise<Sent> => bench.ask({ key, ...what });
const at = (): string => new Date(clock.now()).toISOString();

test('every list that is whole can be read page by page, in both directions', async () => {
  const own = await bench.account('pages', 'fast');
  const ownKey = await bench.key(own);
  const make = (path: string, body: object) => bench.ask({ path, key: ownKey, body });
  for (const n of [1, 2, 3]) {
    await make('/domains', { name: `d${n}.example` });
    await make('/webhooks', { endpoint: `https://127.0.0.1/${n}` });
    if (n > 1) await make('/api-keys', { name: `k${n}` });
  }
  await bench.domain(own, 'd4.example');
  const attachments = [1, 2, 3].map((n) => ({ filename: `${n}.txt`, content: 'YQ==' }));
  const email = { from: 'a@d4.example', to: 'b@c.example', subject: 's', text: 't', attachments };
  const { json } = await bench.ask({ path: '/emails/batch', key: ownKey, body: [email] });
  for (const path of [
    '/domains',
    '/webhooks',
    '/api-keys',
    `/emails/${json.data[0].id}/attachments`,
  ]) {
    const list = async (query: string) =>
      (await bench.ask({ path: path + query, key: ownKey })).json;
    const whole = await list('');
    const [first, second, third] = whole.data;
    const page = (has_more: boolean, ...data: unknown[]) => ({ object: 'list', has_more, data });
    expect([path, whole.data.length, whole.has_more]).toEqual([
      path,
      path === '/domains' ? 4 : 3,
      false,
    ]);
    expect(whole.data.map(({ id }: { id: string }) => id).toSorted()).toEqual(
      whole.data.map(({ id }: { id: string }) => id),
    );
    expect(await list('?limit=2')).toEqual(page(true, first, second));
    expect(await list(`?limit=1&after=${first.id}`)).toEqual(page(true, second));
    expect(await list(`?before=${third.id}`)).toEqual(page(false, first, second));
    expect(await list(`?limit=1&before=${third.id}`)).toEqual(page(true, second));
    expect(await list('?limit=100')).toEqual(whole);
    expect(await list(`?after=${whole.data.at(-1).id}`)).toEqual(page(false));
  }
});

test('a key has the permission that is asked for in either word, and is stored so', async () => {
  for (const [body, permission] of [
    [{}, 'sending_access'],
    [{ permission: null, scope: null }, 'sending_access'],
    [{ permission: 'full_access' }, 'full_access'],
    [{ permission: 'sending_access', scope: 'send' }, 'sending_access'],
    [{ scope: 'full' }, 'full_access'],
    [{ scope: 'send' }, 'sending_access'],
  ] as const) {
    for (const isTest of [false, true]) {
      const by = await bench.key(account, 'full_access', isTest);
      const made = await bench.ask({ path: '/api-keys', key: by, body: { name: 'made', ...body } });
      const rows = await bench.ctx.store.keys(account.id);
      const row = rows.find(({ id }) => id === made.json.id);
      expect([body, made.status, made.json.permission]).toEqual([body, 201, permission]);
      expect(row).toMatchObject({ name: 'made', permission, isTest, createdAt: clock.now() });
      expect(made.json.token).toStartWith(isTest ? 'pr_test_' : 'pr_live_');
      expect([made.json.prefix, made.json.last4]).toEqual([
        made.json.token.slice(0, 12),
        made.json.token.slice(-4),
      ]);
    }
  }
  for (const [permission, scope] of [
    ['full_access', 'send'],
    ['sending_access', 'full'],
  ]) {
    const { status, json } = await ask({
      path: '/api-keys',
      body: { name: 'x', permission, scope },
    });
    const message = 'scope and permission contradict each other. Send one of them.';
    expect([status, json.detail]).toEqual([422, { issues: [{ path: 'scope', message }] }]);
  }
});

test('a sandbox key renames and revokes one of its own, and the same of a live one is not found', async () => {
  const sandbox = await bench.key(account, 'full_access', true);
  const live = (await ask({ path: '/api-keys', body: { name: 'live' } })).json.id;
  const own = (await ask({ path: '/api-keys', body: { name: 'try' }, key: sandbox })).json.id;
  const rename = (id: string, by = sandbox) =>
    ask({ path: `/api-keys/${id}`, method: 'PATCH', body: { name: 'renamed' }, key: by });
  const revoke = (id: string, by = sandbox) =>
    ask({ path: `/api-keys/${id}`, method: 'DELETE', key: by });
  for (const sent of [
    await rename(live),
    await revoke(live),
    await rename(NONE),
    await revoke(NONE),
  ]) {
    expect([sent.status, sent.json.message]).toEqual([404, 'There is no such API key.']);
  }
  expect((await rename(own)).json).toEqual({ object: 'api_key', id: own });
  expect((await revoke(own)).json).toEqual({
    object: 'api_key',
    id: own,
    deleted: true,
    status: 'revoked',
  });
  const rows = await bench.ctx.store.keys(account.id);
  const row = (id: string) => rows.find((one) => one.id === id);
  expect([row(live)?.name, row(live)?.revokedAt]).toEqual(['live', null]);
  expect([row(own)?.name, row(own)?.revokedAt]).toEqual(['renamed', clock.now()]);
  const shown = (await ask({ path: '/api-keys', key: sandbox })).json.data;
  expect(shown.every(({ prefix }: { prefix: string }) => prefix.startsWith('pr_test_'))).toBe(true);
  expect((await ask({ path: '/api-keys' })).json.data.length).toBe(rows.length);
  expect((await revoke(live, key)).status).toBe(200);
});

test('a key is renamed to a name of 1 to 60 characters, and to nothing else', async () => {
  const { id } = (await ask({ path: '/api-keys', body: { name: 'before' } })).json;
  const rename = (body: object) => ask({ path: `/api-keys/${id}`, method: 'PATCH', body });
  const name = async (): Promise<string | undefined> =>
    (await bench.ctx.store.keys(account.id)).find((one) => one.id === id)?.name;
  for (const [body, error] of [
    [{}, 'missing_required_field'],
    [{ name: null }, 'missing_required_field'],
    [{ name: '' }, 'validation_error'],
    [{ name: 5 }, 'validation_error'],
    [{ name: 'n'.repeat(61) }, 'validation_error'],
  ] as const) {
    const { status, json } = await rename(body);
    const [issue] = json.detail.issues;
    expect([body, status, json.name, issue.path]).toEqual([body, 422, error, 'name']);
  }
  expect(await name()).toBe('before');
  const longest = 'n'.repeat(60);
  expect([(await rename({ name: longest })).json, await name()]).toEqual([
    { object: 'api_key', id },
    longest,
  ]);
});

test('an endpoint gets the events that are named, and every event where none is', async () => {
  for (const [events, stored] of [
    [undefined, []],
    [null, []],
    [[], []],
    [['email.sent'], ['email.sent']],
  ] as const) {
    const body = { url: 'https://127.0.0.1/events', ...(events !== undefined && { events }) };
    const { status, json } = await ask({ path: '/webhooks', body });
    expect([events, status, json.events]).toEqual([events, 201, [...stored]]);
    const row = await bench.ctx.store.endpoint(account.id, json.id);
    expect(row).toMatchObject({ url: 'https://127.0.0.1/events', events: [...stored] });
    await ask({ path: `/webhooks/${json.id}`, method: 'DELETE' });
  }
});

test('what a resource does not know is ignored, and an empty name of a domain is none', async () => {
  const { id } = (await ask({ path: '/webhooks', body: { url: 'https://127.0.0.1/u' } })).json;
  for (const [method, path, body, status] of [
    ['POST', '/api-keys', { name: 'known' }, 201],
    ['POST', '/suppressions', { email: 'known@x.example' }, 201],
    ['PATCH', `/webhooks/${id}`, { status: 'disabled' }, 200],
    ['DELETE', `/webhooks/${id}`, {}, 200],
  ] as const) {
    const sent = await ask({
      method,
      path,
      body: { ...body, colour: 'a red one', note: { a: 1 } },
    });
    expect([path, sent.status]).toEqual([path, status]);
    expect(sent.text).not.toContain('a red one');
  }
  const none = await ask({ path: '/domains', body: { name: '' } });
  expect([none.status, none.json.detail]).toEqual([
    422,
    { issues: [{ path: 'name', message: 'name must not be empty.' }] },
  ]);
});

test('a check of a domain tells each record, with the reason of each that is missing', async () => {
  const path = `/domains/${domain.id}/verify`;
  const { records } = (await ask({ path: `/domains/${domain.id}` })).json;
  const [dkim, spf] = records as { name: string; value: string }[];
  const check = async () => (await ask({ path, method: 'POST' })).json;
  const none = await check();
  expect(none).toMatchObject({
    object: 'domain',
    id: domain.id,
    name: 'own.example',
    domain: 'own.example',
    dns_ready: false,
    ses_verified: false,
  });
  expect(
    none.records.map((one: { record: string; found: boolean; reason?: string }) => [
      one.record,
      one.found,
      typeof one.reason,
    ]),
  ).toEqual([
    ['DKIM', false, 'string'],
    ['SPF', false, 'string'],
    ['DMARC', false, 'string'],
  ]);
  const answers = new Map([
    [dkim?.name, dkim?.value],
    [spf?.name, spf?.value],
    ['_dmarc.own.example', 'v=DMARC1; p=none'],
  ]);
  dns = (name) => {
    const answer = answers.get(name);
    return answer === undefined ? nodata : found(answer);
  };
  const all = await check();
  expect([all.status, all.dns_ready, all.ses_verified]).toEqual(['verified', true, true]);
  expect(
    all.records.map((one: object) => [
      Object.keys(one).includes('reason'),
      Reflect.get(one, 'found'),
    ]),
  ).toEqual([
    [false, true],
    [false, true],
    [false, true],
  ]);
  const list = (await ask({ path: '/domains' })).json.data;
  expect(list[0]).toMatchObject({ status: 'verified', last_checked_at: at() });
});

test('a check for which DNS cannot be asked is to be tried again', async () => {
  dns = () => ({ kind: 'failed', reason: 'timeout' });
  const sent = await ask({ path: `/domains/${domain.id}/verify`, method: 'POST' });
  dns = () => nodata;
  const error = {
    statusCode: 502,
    name: 'application_error',
    message: 'DNS could not be asked about own.example (timeout); try again shortly.',
  };
  expect([sent.status, sent.json]).toEqual([
    502,
    { ...error, code: 'provider_error', request_id: expect.any(String), error },
  ]);
});

test('a suppression is added with its reason, and what is not manual cannot be removed', async () => {
  const refusal = 'only';
  for (const reason of ['hard_bounce', 'complaint', 'unsubscribe', 'manual', null]) {
    const email = `${reason}@X.example`;
    const made = await ask({ path: '/suppressions', body: { email, reason } });
    expect([made.status, made.json]).toEqual([
      201,
      {
        object: 'suppression',
        id: expect.any(String),
        email: email.toLowerCase(),
        reason: reason ?? 'manual',
        origin: reason === 'hard_bounce' ? 'bounce' : (reason ?? 'manual'),
        source: 'api',
        source_id: null,
        created_at: at(),
      },
    ]);
    const { id } = made.json;
    for (const path of [`/suppressions/${id}`, `/suppressions/${encodeURIComponent(email)}`]) {
      expect((await ask({ path })).json).toEqual(made.json);
    }
    const removed = await ask({ path: `/suppressions/${id}`, method: 'DELETE' });
    const isManual = (reason ?? 'manual') === 'manual';
    expect([reason, removed.status]).toEqual([reason, isManual ? 200 : 403]);
    if (!isManual) expect(removed.json.message.toLowerCase()).toContain(refusal);
    expect((await ask({ path: `/suppressions/${id}` })).status).toBe(isManual ? 404 : 200);
  }
  const none = await ask({ path: `/suppressions/${NONE}` });
  expect([none.status, none.json.message]).toEqual([404, 'This address is not suppressed.']);
});

test('lists of addresses are answered whole, in their order', async () => {
  await addSuppression(bench.ctx, account.id, { email: 'here@x.example', reason: 'complaint' });
  const emails = ['New@X.example', 'here@x.example', 'new2@x.example'];
  const added = await ask({ path: '/suppressions/batch/add', body: { emails } });
  const row = (email: string, reason: string, source: string | null) => ({
    object: 'suppression',
    id: expect.any(String),
    email,
    reason,
    origin: reason,
    source,
    source_id: null,
    created_at: at(),
  });
  expect([added.status, added.json]).toEqual([
    200,
    {
      data: [
        row('new@x.example', 'manual', 'api'),
        row('here@x.example', 'complaint', null),
        row('new2@x.example', 'manual', 'api'),
      ],
    },
  ]);
  const removed = await ask({
    path: '/suppressions/batch/remove',
    body: { emails: ['NEW2@x.example', 'nobody@x.example'] },
  });
  expect([removed.status, removed.json]).toEqual([
    200,
    {
      data: [
        {
          object: 'suppression',
          id: added.json.data[2].id,
          email: 'new2@x.example',
          deleted: true,
          status: 'removed',
        },
      ],
    },
  ]);
});

test('who may not see a domain learns nothing of what is wrong with a change of it', async () => {
  const other = await bench.key(await bench.account('elsewhere', 'fast'));
  const change = { path: `/domains/${domain.id}`, method: 'PATCH', body: { open_tracking: true } };
  expect((await ask(change)).status).toBe(422);
  const { status, json } = await ask({ ...change, key: other });
  expect([status, json.message]).toEqual([404, 'There is no such domain.']);
});

test('an address that a list names twice is suppressed once and removed once', async () => {
  const emails = ['twice@x.example', 'TWICE@x.example'];
  const added = await ask({ path: '/suppressions/batch/add', body: { emails } });
  const [first, second] = added.json.data;
  expect([added.status, first.email, second]).toEqual([200, 'twice@x.example', first]);
  const removed = await ask({ path: '/suppressions/batch/remove', body: { emails } });
  expect([removed.status, removed.json.data.map(({ id }: { id: string }) => id)]).toEqual([
    200,
    [first.id],
  ]);
});
