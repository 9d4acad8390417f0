/** What every response has, whatever the route: its id, safe headers, JSON; and what unknown paths and methods get. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { TrustedProxies } from '../../src/api/client-address.ts';
import { missingRoute } from '../../src/api/fallback.ts';
import { RequestsUnderWay } from '../../src/api/requests-under-way.ts';
import { respond } from '../../src/api/respond.ts';
import { openBench, type Ask, type Bench } from './bench.ts';

let bench: Bench;
let key: string;
let sending: string;
const UNKNOWN = '01913c7e-89ab-7cde-8f01-23456789abcd';

beforeAll(async () => {
  bench = await openBench();
  const account = await bench.account('headers', 'fast');
  await bench.domain(account, 'own.example');
  key = await bench.key(account);
  sending = await bench.key(account, 'sending_access');
});
afterAll(() => bench.close());

const EMAIL = { from: 'a@own.example', to: 'b@example.net', subject: 's', text: 't' };

test.each([
  ['a list', { path: '/domains' }, 200],
  ['a send', { path: '/emails', body: EMAIL }, 200],
  ['a missing object', { path: `/emails/${UNKNOWN}` }, 404],
  ['an unknown path', { path: '/nowhere' }, 404],
  ['a wrong method', { path: '/emails', method: 'DELETE' }, 405],
  ['a key that is none', { path: '/emails', key: 'no-key' }, 401],
] as [string, Ask, number][])('%s has an id and safe headers', async (_, asked, status) => {
  const sent = await bench.ask({ key, ...asked });
  expect(sent.status).toBe(status);
  const found = Object.fromEntries(sent.headers);
  expect(found).toMatchObject({
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'referrer-policy': 'no-referrer',
    'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
  });
  if (status >= 400) expect(sent.json.request_id).toBe(sent.headers.get('x-request-id'));
});

test('rate headers come with what was counted, not with what needs no key', async () => {
  const counted = await bench.ask({ path: '/domains', key });
  expect(counted.headers.get('ratelimit-limit')).toBe('100000');
  const open = await bench.ask({ path: '/openapi.json' });
  expect([open.status, open.headers.get('ratelimit-limit')]).toEqual([200, null]);
});

test.each([
  [null, 'missing_api_key'],
  ['', 'missing_api_key'],
  ['Basic abc', 'invalid_api_key'],
  ['Bearer', 'invalid_api_key'],
  ['Bearer a b', 'invalid_api_key'],
  ['Bearer pr_live_nothing', 'invalid_api_key'],
] as const)('Authorization %p is 401 %s with a challenge', async (authorization, name) => {
  const headers = authorization === null ? {} : { authorization };
  const sent = await bench.ask({ path: '/domains', headers });
  expect([sent.status, sent.json.name, sent.json.code]).toEqual([401, name, 'unauthorized']);
  expect(sent.headers.get('www-authenticate')).toBe('Bearer');
});

test('the scheme of the key is read in any case, with any number of spaces', async () => {
  for (const scheme of ['bearer ', 'BEARER ', 'Bearer   ']) {
    const headers = { authorization: `${scheme}${key}` };
    expect([scheme, (await bench.ask({ path: '/usage', headers })).status]).toEqual([scheme, 200]);
  }
});

test('a query goes on behind a second question mark', async () => {
  const sent = await bench.ask({ path: '/emails?q=why?&limit=0', key });
  expect([sent.status, sent.json.message]).toEqual([422, expect.stringContaining('limit')]);
});

test('a key that may only send is refused elsewhere by name', async () => {
  const sent = await bench.ask({ path: '/domains', key: sending });
  expect([sent.status, sent.json.name, sent.json.code]).toEqual([
    403,
    'restricted_api_key',
    'forbidden',
  ]);
  expect((await bench.ask({ path: '/emails', key: sending, body: EMAIL })).status).toBe(200);
});

test.each([
  ['/emails', 'POST, GET, HEAD, OPTIONS', 'PUT'],
  ['/emails/batch', 'POST, OPTIONS', 'DELETE'],
  [`/v1/api-keys/${UNKNOWN}`, 'PATCH, DELETE, OPTIONS', 'POST'],
])('%s allows %s', async (path, allow, method) => {
  const sorted = (list: string): string[] => list.split(', ').toSorted();
  const options = await bench.ask({ path, method: 'OPTIONS' });
  expect([options.status, sorted(options.headers.get('allow') ?? '')]).toEqual([
    200,
    sorted(allow),
  ]);
  expect(options.json.allow.toSorted()).toEqual(sorted(allow));
  const wrong = await bench.ask({ path, method, key, body: {} });
  expect([wrong.status, wrong.json.name, wrong.json.code]).toEqual([
    405,
    'method_not_allowed',
    'not_found',
  ]);
  expect(sorted(wrong.headers.get('allow') ?? '')).toEqual(sorted(allow));
});

test('changes are in the audit log with who, what and from where; reads and sends are not', async () => {
  const account = await bench.account('audited', 'fast');
  await bench.domain(account, 'audited.example');
  const own = await bench.key(account);
  await bench.ask({ path: '/domains', key: own });
  await bench.ask({ path: '/emails', key: own, body: { ...EMAIL, from: 'a@audited.example' } });
  const made = await bench.ask({ path: '/api-keys', key: own, body: { name: 'made' } });
  await bench.ask({ path: `/api-keys/${made.json.id}`, method: 'DELETE', key: own });
  // What was refused changed nothing.
  await bench.ask({ path: `/api-keys/${UNKNOWN}`, method: 'DELETE', key: own });
  const all = await bench.ctx.store.audit({ limit: 100, before: null, who: null });
  const rows = all.filter(({ accountId }) => accountId === account.id);
  expect(rows.map(({ action }) => action)).toEqual(['revokeApiKey', 'createApiKey']);
  expect(rows[0]).toMatchObject({ via: 'api', who: 'bench', address: '127.0.0.1' });
  expect(JSON.stringify(rows[0])).toContain(made.json.id);
  expect(JSON.stringify(rows[1])).toContain('made');
});

test('a body needs a length, must be of at most 14 MB, and is JSON without compression', async () => {
  const ask = (headers: Record<string, string>, raw = '{}') =>
    bench.ask({ path: '/domains', key, raw, headers });
  const tooLong = await ask({ 'content-length': '14680065' });
  expect([tooLong.status, tooLong.json.detail]).toEqual([413, { max_bytes: 14_680_064 }]);
  // Whose it was is known all the same.
  const logged = await bench.ask({ path: '/logs?limit=1', key });
  expect(logged.json.data[0]).toMatchObject({ id: tooLong.json.request_id, status: 413 });
  expect((await ask({ 'content-length': '14680064' })).status).toBe(422);
  const packed = await ask({ 'content-encoding': 'gzip' });
  expect([packed.status, packed.json.detail.issues[0].path]).toEqual([400, 'Content-Encoding']);
  expect((await ask({ 'content-encoding': 'Identity' })).status).toBe(422);
  const broken = await ask({}, '{');
  expect([broken.status, broken.json.name]).toEqual([400, 'validation_error']);
});

test('a request counts once in the metrics, under its route’s method and the class of its status', async () => {
  const counts = async (): Promise<Record<string, number>> => {
    const all: Record<string, number> = {};
    for (const line of (await bench.ctx.metrics.render()).split('\n')) {
      const [, what = '', count = ''] =
        /^postrider_http_request_seconds_count\{(.*)\} (\d+)$/.exec(line) ?? [];
      if (what !== '') all[what] = Number(count);
    }
    return all;
  };
  const grown = async (asked: Ask): Promise<Record<string, number>> => {
    const before = await counts();
    await bench.ask(asked);
    const more = Object.entries(await counts()).map(([what, n]) => [what, n - (before[what] ?? 0)]);
    return Object.fromEntries(more.filter(([, n]) => n !== 0)) as Record<string, number>;
  };
  expect(await grown({ path: '/domains', key })).toEqual({ 'method="GET",status="2xx"': 1 });
  expect(await grown({ path: '/domains' })).toEqual({ 'method="GET",status="4xx"': 1 });
  expect(await grown({ path: '/emails', key, body: {} })).toEqual({
    'method="POST",status="4xx"': 1,
  });
  // What a client calls its method makes no row of its own.
  for (const method of ['HEAD', 'PUT', 'OPTIONS']) {
    const status = method === 'PUT' ? '4xx' : '2xx';
    expect(await grown({ path: '/domains', key, method })).toEqual({
      [`method="GET",status="${status}"`]: 1,
    });
  }
});

test('bytes that are a part of others are sent alone', async () => {
  const route = { ...missingRoute, handle: () => Promise.resolve({ status: 200, body: part }) };
  const part = Buffer.from('before, the part, after').subarray(8, 16);
  const parts = {
    ctx: bench.ctx,
    requestLog: { add: () => undefined },
    rates: bench.api.rates,
    proxies: new TrustedProxies(bench.ctx),
    underWay: new RequestsUnderWay(),
  } as never;
  const request = new Request('http://api.test/part');
  const arrived = { request, method: 'GET', path: '/part', peer: null, params: {} };
  expect(await (await respond(parts, route, arrived)).text()).toBe('the part');
});

test('a long answer to a long body takes memory beside it, and all of it is given back', async () => {
  const LONG = 300 * 1024;
  const body = { schema: {}, read: (value: unknown) => value } as never;
  const taken: number[] = [];
  const handle = () => {
    taken.push(bench.ctx.budget.bytes);
    return Promise.resolve({ status: 200, body: 'y'.repeat(LONG) });
  };
  const route = { ...missingRoute, method: 'POST' as const, body, handle };
  const parts = {
    ctx: bench.ctx,
    requestLog: { add: () => undefined },
    rates: bench.api.rates,
    proxies: new TrustedProxies(bench.ctx),
    underWay: new RequestsUnderWay(),
  } as never;
  const text = JSON.stringify('x'.repeat(LONG - 2));
  const request = new Request('http://api.test/long', {
    method: 'POST',
    headers: { 'content-length': String(text.length) },
    body: text,
  });
  const arrived = { request, method: 'POST', path: '/long', peer: null, params: {} };
  const response = await respond(parts, route, arrived);
  taken.push(bench.ctx.budget.bytes);
  expect((await response.text()).length).toBe(LONG);
  taken.push(bench.ctx.budget.bytes);
  expect(taken).toEqual([LONG, 2 * LONG, 0]);
});
