/** How the dashboard takes requests of every kind, each response whole: its status, where it leads, its words, its cookie. */
import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, spyOn, test } from 'bun:test';

import { createDashboard, type Dashboard } from '../../src/dashboard/dashboard.ts';
import { accountNamed } from '../../src/flow/accounts/accounts.ts';
import type { Context } from '../../src/flow/context.ts';
import { addDomain } from '../../src/flow/domains/domains.ts';
import { MAX_UPLOAD_BYTES } from '../../src/dashboard/upload.ts';
import { type Fixture, openFixture } from '../flow/fixture.ts';
import { textOf } from './page-text.ts';

const PASSWORD = 'a pass phrase for tests';
const HOST = 'mail.example:8080';
const OWN = { 'sec-fetch-site': 'same-origin' };

setDefaultTimeout(60_000);

let fixture: Fixture;
let dashboard: Dashboard;
let account: string;
const cookies: Record<string, string> = {};

beforeAll(async () => {
  fixture = await openFixture({ toml: '[http]\npublic_url = "http://public.example"' });
  account = (await fixture.sender()).account.id;
  dashboard = createDashboard(fixture.ctx, partsOf());
  for (const [name, role, accountId] of [
    ['admin', 'admin', null],
    ['reader', 'read_only', null],
    ['owner', 'admin', account],
  ] as const) {
    await operator(name, role, accountId);
    const seen = await asked('/sign-in', {
      method: 'POST',
      form: { name, password: PASSWORD },
      who: null,
    });
    cookies[name] = /^[^;]+/.exec(seen.cookie ?? '')?.[0] ?? '';
  }
});
afterAll(() => fixture.close());
beforeEach(() => {
  fixture.logged.length = 0;
});

const partsOf = (): Parameters<typeof createDashboard>[1] =>
  ({
    queue: { setResting: () => undefined, throttles: () => [], counts: () => ({ inFlight: 0 }) },
    capture: null,
    vitals: { findings: null },
  }) as unknown as Parameters<typeof createDashboard>[1];

async function operator(
  name: string,
  role: 'admin' | 'read_only',
  accountId: string | null,
): Promise<void> {
  const { ctx, clock } = fixture;
  const passwordHash = await Bun.password.hash(PASSWORD, { algorithm: 'bcrypt', cost: 4 });
  const rest = { sealedTotp: null, recoveryCodes: 0, createdAt: 0, signedInAt: null };
  await ctx.store.createOperator(
    { id: ctx.ids.next(clock.now()), name, role, accountId, passwordHash, ...rest },
    10,
  );
}

interface Asking {
  method?: string;
  form?: Record<string, string>;
  body?: FormData | string;
  headers?: Record<string, string>;
  /** Null: nobody is signed in. */
  who?: string | null;
  scheme?: string;
  of?: Dashboard;
}

interface Seen {
  status: number;
  location?: string;
  title?: string;
  /** Where a sign-in from this page leads. */
  back?: string;
  /** The box at the top of a page; all of what is no page. */
  words?: string;
  cookie?: string;
  allow?: string;
  hsts?: string;
}

/** Asks, and tells what came without what is absent. */
async function asked(path: string, given: Asking = {}): Promise<Seen> {
  const { method = 'GET', form, body = new URLSearchParams(form), scheme = 'http' } = given;
  const { who = 'admin', of = dashboard } = given;
  const isPost = method === 'POST';
  const bytes = isPost ? await new Response(body).clone().arrayBuffer() : null;
  const whole = isPost ? new Response(body) : null;
  const headers = {
    ...(isPost && { 'content-type': whole?.headers.get('content-type') ?? '' }),
    ...(isPost && OWN),
    ...(bytes !== null && { 'content-length': String(bytes.byteLength) }),
    ...(who !== null && { cookie: cookies[who] ?? '' }),
    ...given.headers,
  };
  const sent = Object.entries(headers).filter(([, value]) => value !== 'LEFT OUT');
  const request = new Request(`${scheme}://${HOST}/dashboard${path}`, {
    method,
    ...(whole !== null && { body: await whole.arrayBuffer() }),
    headers: Object.fromEntries(sent),
  });
  return told(await of(request, '203.0.113.9'));
}

async function told(response: Response): Promise<Seen> {
  const text = await response.text();
  const isPage = response.headers.get('content-type')?.startsWith('text/html') === true;
  const box = /<p class="notice[^>]*>(.*?)<\/p>/s.exec(text)?.[1];
  const words = isPage ? box && textOf(box) : text;
  const of = (name: string): string | undefined => response.headers.get(name) ?? undefined;
  const seen = {
    status: response.status,
    location: of('location'),
    title: isPage ? textOf(/<title>(.*?)<\/title>/s.exec(text)?.[1] ?? '') : undefined,
    back: /name="to" value="([^"]*)"/.exec(text)?.[1]?.replaceAll('&amp;', '&'),
    words: words === '' ? undefined : words,
    cookie: of('set-cookie'),
    allow: of('allow'),
    hsts: of('strict-transport-security'),
  };
  const there = Object.entries(seen).filter(([, value]) => value !== undefined);
  return Object.fromEntries(there) as unknown as Seen;
}

const page = (title: string, status = 200): Seen => ({ status, title: `${title} · Postrider` });
const NO_PAGE: Seen = {
  ...page('Page not found', 404),
  words: 'The dashboard has no page at this address.',
};
const READ_ONLY: Seen = {
  ...page('Read-only', 403),
  words: 'Your sign-in may look at everything here, and change nothing.',
};
const FOREIGN: Seen = {
  status: 403,
  words: 'This form did not come from the dashboard. Open the dashboard and try again.',
};
const NO_METHOD: Seen = { status: 405, words: 'Method not allowed.', allow: 'GET, HEAD, POST' };
const UNREADABLE: Seen = { status: 400, words: 'The form could not be read.' };
const SIGN_OUT = 'postrider_session=; Path=/dashboard; Max-Age=0; HttpOnly; SameSite=Strict';
const signIn = (back: string, status = 401): Seen => ({ ...page('Sign in', status), back });
const to = (location: string): Seen => ({ status: 303, location });
const named = (seen: Seen): Seen =>
  JSON.parse(JSON.stringify(seen).replaceAll(account, 'ACCOUNT')) as Seen;
const A = '/accounts/ACCOUNT';

test.each([
  ['GET', '', 'admin', page('Overview')],
  ['HEAD', '', 'admin', page('Overview')],
  ['GET', '/', 'admin', page('Overview')],
  ['PUT', '', 'admin', NO_METHOD],
  ['DELETE', '/queue', null, NO_METHOD],
  ['OPTIONS', '/queue', 'admin', NO_METHOD],
  ['GET', '/sign-in', 'admin', NO_PAGE],
  ['GET', '/sign-out', 'admin', NO_PAGE],
  ['POST', '/sign-out', null, signIn('/dashboard')],
  ['GET', '', 'owner', to(`/dashboard${A}/emails`)],
  ['GET', `${A}/keys`, 'owner', page('API keys')],
  ['GET', `${A}/suppressions/import`, 'owner', page('Import suppressions')],
  ['GET', `${A}/edit`, 'owner', NO_PAGE],
  ['POST', `${A}/pause`, 'owner', NO_PAGE],
  ['GET', '/queue', 'owner', NO_PAGE],
  ['GET', '/accounts/other/keys', 'owner', NO_PAGE],
  [
    'GET',
    '/accounts/other/keys',
    'admin',
    { ...page('The request was refused', 404), words: 'There is no account "other".' },
  ],
  ['GET', '/halt', 'admin', page('Halt sending')],
  ['GET', '/halt', 'reader', READ_ONLY],
  ['POST', '/halt', 'reader', READ_ONLY],
  ['GET', `${A}/suppressions/import`, 'reader', READ_ONLY],
  ['GET', '/settings/backup', 'reader', NO_PAGE],
  ['POST', '/queue', 'admin', NO_PAGE],
  ['GET', '/resume', 'admin', NO_PAGE],
  ['POST', '/resume', 'admin', to('/dashboard?done=resumed')],
  ['GET', '', null, signIn('/dashboard', 200)],
  ['GET', '/', null, signIn('/dashboard', 200)],
  ['GET', '?done=saved', null, signIn('/dashboard?done=saved', 200)],
  ['GET', '/queue?domain=a&x=%3C', null, signIn('/dashboard/queue?domain=a&x=%3C')],
  ['GET', '/queue/', null, signIn('/dashboard/queue')],
  ['GET', '/sign-in', null, signIn('/dashboard')],
  ['GET', '/nowhere?a=1', null, signIn('/dashboard')],
  ['GET', `${A}/keys/x/revoke?a=1`, null, signIn(`/dashboard${A}/keys`)],
  ['POST', '/queue/retry', null, signIn('/dashboard/queue')],
  ['POST', '/accounts?a=1', null, signIn('/dashboard/accounts?a=1')],
] as const)('%s %j of %p', async (method, path, who, seen) => {
  expect(named(await asked(path.replace('ACCOUNT', account), { method, who }))).toEqual(seen);
});

const REMOVED = to(`/dashboard${A}/suppressions?done=added`);
test.each([
  [{}, FOREIGN],
  [{ 'sec-fetch-site': 'same-origin' }, REMOVED],
  [{ 'sec-fetch-site': 'same-origin', origin: 'http://evil.example' }, REMOVED],
  [{ 'sec-fetch-site': 'same-site', origin: `http://${HOST}` }, FOREIGN],
  [{ 'sec-fetch-site': '', origin: `http://${HOST}` }, FOREIGN],
  [{ origin: `http://${HOST}`, host: HOST }, REMOVED],
  [{ origin: `https://${HOST}`, host: HOST }, REMOVED],
  [{ origin: `http://${HOST}` }, REMOVED],
  [{ origin: `ftp://${HOST}`, host: HOST }, FOREIGN],
  [{ origin: 'http://mail.example', host: HOST }, FOREIGN],
  [{ origin: 'http://behind.example', host: 'behind.example' }, REMOVED],
  [{ origin: `http://${HOST}`, host: 'behind.example' }, FOREIGN],
  [{ origin: 'http://public.example', host: 'behind.example' }, REMOVED],
  [{ origin: 'https://public.example', host: 'behind.example' }, FOREIGN],
  [{ origin: 'null', host: HOST }, FOREIGN],
] as const)('a form that says %j of where it comes from', async (said, seen) => {
  const email = 'ann@x.example';
  const headers: Record<string, string> = { 'sec-fetch-site': 'LEFT OUT', ...said };
  const path = `/accounts/${account}/suppressions`;
  expect(named(await asked(path, { method: 'POST', form: { email }, headers }))).toEqual(seen);
  const { ctx, clock } = fixture;
  const isDone = await ctx.store.removeSuppression(account, email, clock.now());
  expect(isDone).toBe(seen.status === 303);
});

/** A form with a file, of so many bytes where it says another length. */
function upload(
  file: string | null,
  who: string | null = 'admin',
  headers: Record<string, string> = {},
): Promise<Seen> {
  const body = new FormData();
  if (file !== null) body.append('file', new File([file], 'list.csv'));
  body.append('csv', '');
  const path = `/accounts/${account}/suppressions/import`;
  return asked(path, { method: 'POST', body, who, headers }).then(named);
}

test('a form with a file is read for who may send it, within its bounds', async () => {
  const { ctx } = fixture;
  const large: Seen = {
    status: 413,
    words: 'A file may have at most 10 MB. Import it in parts, or by the command line.',
  };
  const length = (bytes: number) => ({ 'content-length': String(bytes) });
  const path = `/dashboard${A}/suppressions/import`;
  expect(await upload('a@x.example')).toEqual(to(path));
  expect(await upload(null)).toEqual({
    ...page('Import suppressions', 422),
    words: 'Choose a file, or paste addresses.',
  });
  expect(await upload('a', null)).toEqual(signIn(path));
  expect(await upload('a', 'reader')).toEqual(READ_ONLY);
  expect(await upload('a', 'admin', { 'sec-fetch-site': 'cross-site' })).toEqual(FOREIGN);
  expect(await upload('a', 'admin', length(MAX_UPLOAD_BYTES + 1))).toEqual(large);
  expect(await upload('a', 'admin', { 'content-length': 'LEFT OUT' })).toEqual(large);
  expect(await upload('a', 'admin', { 'content-type': 'multipart/form-data' })).toEqual(UNREADABLE);
  const grow = spyOn(ctx.budget, 'open').mockReturnValue({
    grow: () => false,
    release: () => undefined,
  } as unknown as ReturnType<Context['budget']['open']>);
  expect(await upload('a')).toEqual({
    status: 503,
    words: 'The server is handling too much at the moment. Try again later.',
  });
  expect(grow.mock.calls).toEqual([['dashboard']]);
  grow.mockRestore();
});

test('whoever leaves before the end of a form is no fault of ours', async () => {
  const body = new ReadableStream({
    pull: (controller) => controller.error(new Error('The connection was closed.')),
  });
  const headers = { ...OWN, 'content-length': '100' };
  const url = `http://${HOST}/dashboard/sign-in`;
  const response = await dashboard(new Request(url, { method: 'POST', headers, body }), null);
  expect(await told(response)).toEqual(UNREADABLE);
  expect(fixture.logged).toEqual([]);
});

test.each([
  ['GET', '/queue?domain=a%00b', {}],
  ['GET', '/accounts/a%00b/emails', {}],
  ['POST', '/sign-in', { name: 'a\0b', password: PASSWORD }],
  ['POST', '/accounts', { name: 'second', 'a\0': 'b' }],
  ['POST', '/queue/retry?a=%00', {}],
] as const)('what no store takes as text is refused: %s %s %j', async (method, path, form) => {
  expect(await asked(path, { method, form })).toEqual(UNREADABLE);
  expect(fixture.logged).toEqual([]);
});

test('beside a file it is refused too, and what looks like it is not', async () => {
  const { ctx } = fixture;
  const body = new FormData();
  body.append('file', new File(['a@nul.example'], 'list.csv'));
  body.append('csv', 'a\0b');
  const path = `/accounts/${account}/suppressions/import`;
  expect(await asked(path, { method: 'POST', body })).toEqual(UNREADABLE);
  expect(await ctx.store.suppression(account, 'a@nul.example')).toBeNull();
  expect(await asked('/queue?domain=%2500')).toEqual(page('Queue for %00'));
});

test('a page is shown whatever the request says of a content that it has not', async () => {
  const headers = { 'content-type': 'multipart/form-data; boundary=x' };
  expect(await asked('', { headers })).toEqual(page('Overview'));
  expect(await asked('/queue', { headers, who: null })).toEqual(signIn('/dashboard/queue'));
});

test('the head of a file to save has its length and nothing of it', async () => {
  const of = await accountNamed(fixture.ctx, account);
  const { id } = await addDomain(fixture.ctx, of, 'zone.example');
  const path = `/accounts/${account}/domains/${id}/zone`;
  const answer = async (method: string) => {
    const request = new Request(`http://${HOST}/dashboard${path}`, {
      method,
      headers: { cookie: cookies['admin'] ?? '' },
    });
    const response = await dashboard(request, null);
    return { text: await response.text(), headers: Object.fromEntries(response.headers) };
  };
  const [whole, head] = [await answer('GET'), await answer('HEAD')];
  expect(whole.text).toContain('_domainkey');
  expect(head).toEqual({
    text: '',
    headers: { ...whole.headers, 'content-length': String(Buffer.byteLength(whole.text)) },
  });
});

test('an emulator asks nobody, and has no page to sign in', async () => {
  const of = createDashboard({ ...fixture.ctx, emulation: {} } as unknown as Context, partsOf());
  const ask = (path: string, method = 'GET') => asked(path, { of, method, who: null });
  expect(await ask('')).toEqual(page('Overview'));
  expect(await ask('/halt')).toEqual(page('Halt sending'));
  expect(await ask('/resume', 'POST')).toEqual(to('/dashboard?done=resumed'));
  expect(await ask('/sign-in')).toEqual(NO_PAGE);
  expect(fixture.logged.map(({ event, path, operator: by }) => [event, path, by])).toEqual([
    ['dashboard_action', '/resume', undefined],
  ]);
  const [noted] = await fixture.ctx.store.audit({ limit: 1, before: null, who: null });
  expect(noted).toMatchObject({ who: '', via: 'dashboard', action: 'resume', accountId: null });
});

test('over https every response says to come so for a year, and cookies are for https alone', async () => {
  const hsts = 'max-age=31536000';
  const ask = (path: string, given: Asking = {}) => asked(path, { scheme: 'https', ...given });
  expect(await ask('')).toEqual({ ...page('Overview'), hsts });
  expect(await ask('', { method: 'PUT' })).toEqual({ ...NO_METHOD, hsts });
  expect(await ask('/queue', { who: null })).toEqual({ ...signIn('/dashboard/queue'), hsts });
  const accounts = spyOn(fixture.ctx.store, 'accounts').mockRejectedValue(new Error('broken'));
  expect(await ask('/queue')).toEqual({
    ...page('Internal error', 500),
    words: 'The page could not be shown. The server log has the details.',
    hsts,
  });
  accounts.mockRestore();
  expect(await ask('/sign-out', { method: 'POST', who: 'reader' })).toEqual({
    ...to('/dashboard'),
    cookie: `${SIGN_OUT}; Secure`,
    hsts,
  });
  expect(await asked('/queue', { who: 'reader' })).toEqual(signIn('/dashboard/queue'));
  expect(await asked('/sign-out', { method: 'POST', who: 'owner' })).toEqual({
    ...to('/dashboard'),
    cookie: SIGN_OUT,
  });
});
