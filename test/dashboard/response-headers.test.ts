/** Every header field of every kind of response, of the dashboard and of the other listeners of HTTP beside it. */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { type DashboardRig, startDashboardRig } from './dashboard-rig.ts';

let rig: DashboardRig;
let email: string;

beforeAll(async () => {
  rig = await startDashboardRig();
  const html = { from: 'a@sender.example', to: 'b@x.example', subject: 's', html: '<p>t</p>' };
  email = await rig.send(html);
});
afterAll(() => rig.stop());

type Headers = Readonly<Record<string, unknown>>;

const SAFE: Headers = {
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'SAMEORIGIN',
};
const PAGE: Headers = {
  ...SAFE,
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; frame-src 'self'; frame-ancestors 'none'; base-uri 'none'",
  'content-type': 'text/html; charset=utf-8',
};
const DOCUMENT: Headers = {
  ...SAFE,
  'content-security-policy':
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'",
};
const WORDS: Headers = { ...SAFE, 'content-type': 'text/plain; charset=utf-8' };
const asset = (type: string): Headers => ({
  ...SAFE,
  'cache-control': 'public, max-age=31536000, immutable',
  'content-encoding': 'gzip',
  'content-type': type,
  vary: 'Accept-Encoding',
});
const file = (name: string): string => `attachment; filename="${name}"; filename*=UTF-8''${name}`;
const JSON_TYPE = 'application/json';
const API: Headers = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'content-type': JSON_TYPE,
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};
const digits: unknown = expect.stringMatching(/^\d+$/);
const READ: Headers = {
  ...API,
  'ratelimit-limit': '300',
  'ratelimit-remaining': digits,
  'ratelimit-reset': digits,
};
const COOKIE = 'Path=/dashboard; Max-Age=43200; HttpOnly; SameSite=Strict';

/** Status and header fields, less those that every response of Bun has. */
async function seen(path: string, init: RequestInit = {}): Promise<[number, Headers]> {
  const response = await fetch(rig.rig.url + path, { redirect: 'manual', ...init });
  await response.arrayBuffer();
  const fields: Record<string, unknown> = Object.fromEntries(response.headers);
  expect(fields['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
  for (const name of ['date', 'content-length', 'transfer-encoding', 'x-request-id']) {
    delete fields[name];
  }
  return [response.status, fields];
}

const as = (): RequestInit => ({ headers: { cookie: rig.cookie } });
const keyed = (): RequestInit => ({ headers: { authorization: `Bearer ${rig.rig.key}` } });
const posted = (fields: Record<string, string> = {}): RequestInit => ({
  method: 'POST',
  headers: { cookie: rig.cookie, 'sec-fetch-site': 'same-origin' },
  body: new URLSearchParams(fields),
});

test.each([
  ['', 200],
  ['/nowhere', 404],
  ['/accounts/{ACCOUNT}/emails', 200],
  ['/accounts/{ACCOUNT}/emails/{EMAIL}', 200],
])('the page at /dashboard%s', async (path, status) => {
  const at = path.replace('{ACCOUNT}', rig.rig.account).replace('{EMAIL}', email);
  expect(await seen(`/dashboard${at}`, as())).toEqual([status, PAGE]);
});

test('what shows or hands over content of others is a document without rights', async () => {
  const at = `/dashboard${rig.account}`;
  const html = { 'content-type': 'text/html; charset=utf-8' };
  expect(await seen(`${at}/emails/${email}/html`, as())).toEqual([200, { ...DOCUMENT, ...html }]);
  const source = {
    'content-type': 'message/rfc822',
    'content-disposition': file(`${email}.eml`),
  };
  expect(await seen(`${at}/emails/${email}/source`, as())).toEqual([
    200,
    { ...DOCUMENT, ...source },
  ]);
  const csv = {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': file('suppressions-default.csv'),
  };
  expect(await seen(`${at}/suppressions/export`, as())).toEqual([200, { ...DOCUMENT, ...csv }]);
});

test('a form that was done leads on, and one that is foreign is refused in words', async () => {
  const done = { ...SAFE, location: '/dashboard?done=resumed' };
  expect(await seen('/dashboard/resume', posted())).toEqual([303, done]);
  expect(await seen('/dashboard/resume', { ...as(), method: 'POST' })).toEqual([403, WORDS]);
  const allow = { allow: 'GET, HEAD, POST' };
  expect(await seen('/dashboard', { ...as(), method: 'PUT' })).toEqual([
    405,
    { ...WORDS, ...allow },
  ]);
});

test('signing in gives a cookie for half a day, signing out takes it away', async () => {
  const to = { location: '/dashboard' };
  const given = expect.stringMatching(/^postrider_session=[\w.-]+; /) as string;
  const [status, fields] = await seen('/dashboard/sign-in', posted({ password: rig.password }));
  expect([status, fields]).toEqual([303, { ...SAFE, ...to, 'set-cookie': given }]);
  expect(fields['set-cookie']).toEndWith(`; ${COOKIE}`);
  expect(await seen('/dashboard/sign-in', posted({ password: 'wrong' }))).toEqual([401, PAGE]);
  const cookie = String(fields['set-cookie']).split(';')[0] ?? '';
  const out = { ...posted(), headers: { cookie, 'sec-fetch-site': 'same-origin' } };
  const taken = `postrider_session=; ${COOKIE.replace('43200', '0')}`;
  expect(await seen('/dashboard/sign-out', out)).toEqual([
    303,
    { ...SAFE, ...to, 'set-cookie': taken },
  ]);
});

test('assets are kept for a year under an address that changes with them', async () => {
  const { text } = await rig.visit('');
  const types: Record<string, string> = {
    'icon.svg': 'image/svg+xml',
    'style.css': 'text/css; charset=utf-8',
    'enhance.js': 'text/javascript; charset=utf-8',
    'morph.js': 'text/javascript; charset=utf-8',
  };
  for (const [name, type] of Object.entries(types)) {
    const path = new RegExp(`"(/dashboard/${name}\\?v=[\\w-]+)"`).exec(text)?.[1] ?? '';
    expect([name, await seen(path)]).toEqual([name, [200, asset(type)]]);
  }
});

test('the API', async () => {
  for (const path of ['/emails', `/emails/${email}`, '/usage']) {
    expect(await seen(path, keyed())).toEqual([200, READ]);
    expect(await seen(path, { ...keyed(), method: 'HEAD' })).toEqual([200, READ]);
  }
  expect(await seen('/nowhere', keyed())).toEqual([404, API]);
  expect(await seen('/emails')).toEqual([401, { ...API, 'www-authenticate': 'Bearer' }]);
  const allow = { allow: 'POST, GET, HEAD, OPTIONS' };
  expect(await seen('/emails', { method: 'OPTIONS' })).toEqual([200, { ...API, ...allow }]);
  const put = { ...keyed(), method: 'PUT' };
  expect(await seen('/emails', put)).toEqual([405, { ...API, ...allow }]);
});

test('what needs no key', async () => {
  expect(await seen('/openapi.json')).toEqual([200, API]);
  const docs = {
    ...API,
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy':
      "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  };
  expect(await seen('/docs')).toEqual([200, docs]);
  const style = {
    'cache-control': 'public, max-age=3600',
    'content-type': 'text/css; charset=utf-8',
  };
  expect(await seen('/docs/style.css')).toEqual([200, { ...API, ...style }]);
  expect(await seen('/favicon.ico')).toEqual([
    200,
    {
      'cache-control': 'public, max-age=86400',
      'content-type': 'image/svg+xml',
      'x-content-type-options': 'nosniff',
    },
  ]);
  const health = { 'cache-control': 'no-store', 'content-type': 'application/json;charset=utf-8' };
  expect(await seen('/health')).toEqual([200, health]);
  expect((await seen('/ready'))[1]).toEqual(health);
  const metrics = { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' };
  expect(await seen('/metrics')).toEqual([200, metrics]);
  expect(await seen('/unsubscribe/x')).toEqual([
    404,
    {
      'cache-control': 'no-store',
      'content-security-policy':
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'",
      'content-type': 'text/html; charset=utf-8',
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex',
    },
  ]);
});

test('while sending is halted every page says since when and why, and the queue rests', async () => {
  const before = Date.now();
  const { queue } = rig.rig.appliance;
  const rests: boolean[] = [];
  const setResting = queue.setResting.bind(queue);
  queue.setResting = (isResting) => {
    rests.push(isResting);
    setResting(isResting);
  };
  await rig.submit('/halt', { reason: 'A leak.' });
  const { text } = await rig.visit('/accounts');
  const words = /<strong>Sending is halted<\/strong> since ([\s\S]*?): A leak\. New sends/.exec(
    text,
  );
  const since = /datetime="([^"]+)"/.exec(words?.[1] ?? '')?.[1] ?? '';
  expect(Date.parse(since)).toBeGreaterThanOrEqual(before - 1_000);
  await rig.submit('/resume');
  expect((await rig.visit('/accounts')).text).not.toContain('Sending is halted');
  // The queue begins nothing in between.
  expect(rests).toEqual([true, false]);
});
