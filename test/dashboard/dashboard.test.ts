/** How the dashboard takes a request, whatever the page: forms at their size, where a sign-in leads, what is noted, names of files. */
import { afterAll, beforeAll, expect, spyOn, test } from 'bun:test';
import { createAccount } from '../../src/flow/accounts/accounts.ts';
import { addDomain } from '../../src/flow/domains/domains.ts';
import { findPage, formPage } from '../../src/dashboard/pages/routes.ts';
import { type DashboardRig, startDashboardRig } from './dashboard-rig.ts';
import { rowsOf } from './page-text.ts';

let rig: DashboardRig;
beforeAll(async () => {
  rig = await startDashboardRig();
});
afterAll(() => rig.stop());

test('a form may have 65,536 bytes, and must say how many it has', async () => {
  const form = (length: number): Record<string, string> => ({ name: 'n'.repeat(length - 5) });
  expect((await rig.submit('/accounts', form(65_536))).status).toBe(422);
  const beyond = await rig.submit('/accounts', form(65_537));
  expect([beyond.status, beyond.text]).toEqual([413, 'The form is too large.']);
  const stream = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('name=streamed'));
      controller.close();
    },
  });
  const unmeasured = await fetch(`${rig.url}/accounts`, {
    method: 'POST',
    headers: { cookie: rig.cookie, 'sec-fetch-site': 'same-origin' },
    body: stream,
  });
  expect(unmeasured.status).toBe(413);
});

test('a path with a slash at its end is the same page', async () => {
  expect((await rig.visit('/queue/')).status).toBe(200);
  expect((await rig.visit('/')).status).toBe(200);
  expect((await rig.visit('/queue//')).status).toBe(404);
});

test.each([
  ['/dashboard/queue?domain=a.example', '/dashboard/queue?domain=a.example'],
  ['/dashboard', '/dashboard'],
  ['', '/dashboard'],
  ['https://evil.example/dashboard/queue', '/dashboard/queue'],
  ['//evil.example/x', '/dashboard'],
  ['https://evil.example/', '/dashboard'],
  ['/other', '/dashboard'],
  ['/dashboardx/queue', '/dashboard'],
  ['javascript:alert(1)', '/dashboard'],
  ['/dashboard/nothing/here', '/dashboard'],
  // Where a form was sent, the page with that form is shown.
  ['/dashboard/queue/retry', '/dashboard/queue'],
])('signing in for %j leads to %s', async (to, location) => {
  const headers = { cookie: '', 'sec-fetch-site': 'same-origin' };
  const opened = await rig.submit('/sign-in', { password: rig.password, to }, headers);
  expect([opened.status, opened.headers.get('location')]).toEqual([303, location]);
});

test('names are read in any case, and without one it is the admin', async () => {
  const headers = { cookie: '', 'sec-fetch-site': 'same-origin' };
  const open = async (fields: Record<string, string>) =>
    (await rig.submit('/sign-in', fields, headers)).status;
  expect(await open({ name: ' ADMIN ', password: rig.password })).toBe(303);
  expect(await open({ password: rig.password })).toBe(303);
  expect(await open({ name: 'nobody', password: rig.password })).toBe(401);
  expect(await open({ name: 'admin', password: ` ${rig.password}` })).toBe(401);
  // Right ones end what was counted.
  expect(await open({ password: rig.password })).toBe(303);
});

test('what is done is noted under its page and verb, in its account, from its client', async () => {
  const { ctx } = rig.rig.appliance;
  const { id } = await createAccount(ctx, { name: 'noted' });
  const doing = spyOn(ctx.doing, 'during');
  rig.rig.log.items.length = 0;
  await rig.submit(`/accounts/${id}/suppressions`, { email: 'a@x.example' });
  await rig.submit(`/accounts/${id}/suppressions/remove`, { email: 'a@x.example' });
  // Where it was done stands in the address, whatever the form says.
  await rig.submit(`/accounts/${id}/pause`, { reason: 'why', account: 'another' });
  await rig.submit(`/accounts/${id}/edit`, { name: 'noted', plan: 'unlimited' });
  await rig.submit('/halt', { reason: 'test' });
  await rig.submit('/resume');
  await rig.submit('/accounts', { name: 'another', plan: '' });
  // What was refused was not done.
  await rig.submit('/accounts', { name: '', plan: '' });
  await rig.submit(`/accounts/${id}/nothing`);
  const rows = rowsOf((await rig.visit('/audit')).text).slice(0, 7);
  expect(rows.map(({ What }) => What)).toEqual([
    'accounts.add',
    'resume',
    'halt',
    'edit',
    'pause',
    'suppressions.remove',
    'suppressions.add',
  ]);
  expect(rows[4]).toMatchObject({
    Who: 'admin',
    By: 'dashboard',
    Account: 'noted',
    From: '127.0.0.1',
  });
  const lines = rig.rig.log.items.filter(({ event }) => event === 'dashboard_action');
  expect(lines.map(({ level, path, operator }) => [level, path, operator])).toEqual(
    [
      `/accounts/${id}/suppressions`,
      `/accounts/${id}/suppressions/remove`,
      `/accounts/${id}/pause`,
      `/accounts/${id}/edit`,
      '/halt',
      '/resume',
      '/accounts',
    ].map((path) => ['info', path, 'admin']),
  );
  // Names of what keeps the server busy come from the code alone.
  const names = doing.mock.calls.map(([name]) => name).filter((name) => name.startsWith('page '));
  expect(new Set(names)).toEqual(
    new Set([
      'page /accounts/:account/suppressions',
      'page /accounts/:account/suppressions/remove',
      'page /accounts/:account/pause',
      'page /accounts/:account/edit',
      'page /halt',
      'page /resume',
      'page /accounts',
      'page /audit',
    ]),
  );
  doing.mockRestore();
  expect(rows[1]).not.toHaveProperty('Account');
  expect(rows[4]?.['Of']).toBe(`account=${id}`);
});

test('an operator of one account starts at its emails, and has no other page of the server', async () => {
  const { ctx } = rig.rig.appliance;
  const { id } = await createAccount(ctx, { name: 'limited' });
  const made = await rig.submit('/operators', { name: 'lim', role: 'read_only', account: id });
  const password = /<code>([^<]+)<\/code/.exec(made.text)?.[1] ?? '';
  const headers = { cookie: '', 'sec-fetch-site': 'same-origin' };
  const opened = await rig.submit('/sign-in', { name: 'lim', password }, headers);
  const cookie = opened.headers.get('set-cookie')?.split(';')[0] ?? '';
  const start = await rig.visit('', { cookie });
  expect([start.status, start.headers.get('location')]).toEqual([
    303,
    `/dashboard/accounts/${id}/emails`,
  ]);
  const change = { cookie, 'sec-fetch-site': 'same-origin' };
  const refused = await rig.submit(`/accounts/${id}/keys`, { name: 'k' }, change);
  expect([refused.status, await ctx.store.keys(id)]).toEqual([403, []]);
  for (const path of ['/queue', '/settings', '/accounts', '/audit', rig.account + '/emails']) {
    expect([path, (await rig.visit(path, { cookie })).status]).toEqual([path, 404]);
  }
  // Halting is the server's: this operator is not told.
  await rig.submit('/halt', { reason: 'secret reason' });
  expect((await rig.visit(`/accounts/${id}/emails`, { cookie })).text).not.toContain(
    'secret reason',
  );
  expect((await rig.visit('/queue')).text).toContain('secret reason');
  await rig.submit('/resume');
});

test('a file has its name in both spellings, and may run nothing', async () => {
  const { ctx } = rig.rig.appliance;
  const account = await createAccount(ctx, { name: `Ann's "shop" (ü)` });
  const domain = await addDomain(ctx, account, 'named.example');
  const zone = await rig.visit(`/accounts/${account.id}/domains/${domain.id}/zone`);
  expect(zone.headers.get('content-disposition')).toBe(
    `attachment; filename="named.example.zone"; filename*=UTF-8''named.example.zone`,
  );
  expect(zone.headers.get('content-type')).toBe('text/plain; charset=utf-8');
  expect(zone.headers.get('content-security-policy')).toStartWith("sandbox; default-src 'none'");
  const csv = await rig.visit(`/accounts/${account.id}/emails.csv`);
  expect(csv.headers.get('content-disposition')).toBe(
    `attachment; filename="emails-Ann_s _shop_ ___.csv"; filename*=UTF-8''emails-Ann%27s%20%22shop%22%20%28%C3%BC%29.csv`,
  );
  expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8');
  for (const { headers } of [zone, csv]) {
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('cache-control')).toBe('no-store');
  }
});

test('a page is found by its method and its parts, none of which may be empty', () => {
  expect(findPage('GET', '/accounts/a%20b/domains/c')?.params).toEqual({ account: 'a b', id: 'c' });
  expect(findPage('POST', '/accounts/a/domains/c')).toBeNull();
  expect(findPage('GET', '/accounts/a/domains/')).toBeNull();
  expect(findPage('GET', '/accounts//domains')).toBeNull();
  expect(findPage('GET', '/accounts/%zz/domains')).toBeNull();
  expect(findPage('GET', '/queue/more')).toBeNull();
  expect(formPage('/accounts/a/domains/c/verify')).toMatchObject({
    path: '/accounts/a/domains/c',
    params: { account: 'a', id: 'c' },
  });
  expect(formPage('/nothing')).toBeNull();
});
