/** Lists of accounts, keys, operators and requests: each value under its heading, in order, with what may be done. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createAccount, setAccountStatus } from '../../../src/flow/accounts/accounts.ts';
import { createKey } from '../../../src/flow/accounts/keys.ts';
import { type DashboardRig, startDashboardRig } from '../dashboard-rig.ts';
import { factsOf, rowsOf, targetsOf, textOf } from '../page-text.ts';
import { newId } from '../../rig/ids.ts';
import { IdSource } from '../../../src/base/ids.ts';

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/);
const PLANS = `
[[plans]]
id = "small"
included_emails = 12345
daily_limit = 1000
max_domains = 3
storage_bytes = 5000000
log_retention_days = 9
rate_per_second = 4`;

let rig: DashboardRig;
beforeAll(async () => {
  rig = await startDashboardRig({ config: PLANS });
});
afterAll(() => rig.stop());

test('accounts are listed with plan, usage and reason, and plans with their limits', async () => {
  const { ctx } = rig.rig.appliance;
  const { id } = await createAccount(ctx, { name: 'The <shop>', plan: 'small' });
  const page = (await rig.visit('/accounts')).text;
  const row = rowsOf(page).find(({ Account }) => Account === 'The <shop>');
  expect(row).toMatchObject({
    Status: 'active',
    Plan: 'small',
    'Sent this month': '0 of 12,345',
    Kept: '0 bytes',
    Created: TIME,
  });
  expect(rowsOf(page).find((one) => one['Emails a month'] === '12,345')).toEqual({
    Plan: 'small',
    'Emails a month': '12,345',
    'Emails a day': '1,000',
    Domains: '3',
    'Content kept': '5.0 MB',
    Logs: '9 days',
    Requests: '4 a second',
  });
  expect(
    rowsOf(page).find((one) => one['Plan'] === 'unlimited' && one['Logs'] !== undefined),
  ).toMatchObject({
    'Emails a month': 'no limit',
    'Emails a day': 'no limit',
    Domains: 'no limit',
    'Content kept': 'no limit',
  });
  const base = `/accounts/${id}`;
  expect(targetsOf(page)).toContain(`/dashboard${base}/pause`);
  expect(targetsOf(page)).not.toContain(`/dashboard${base}/resume`);
  await setAccountStatus(ctx, id, 'active', null);
});

test('an account is paused, stopped until it is paid, and resumed, with the reason that senders see', async () => {
  const { store } = rig.rig.appliance.ctx;
  expect(
    (await rig.submit('/accounts', { name: ' Second ', plan: '' })).headers.get('location'),
  ).toMatch(/^\/dashboard\/accounts\/[0-9a-f-]+\/domains\?done=account_added$/);
  const second = (await store.accounts()).find(({ name }) => name === 'Second');
  expect(second?.plan).toBe('unlimited');
  const base = `/accounts/${second?.id}`;
  for (const [verb, reason, status, kept] of [
    ['pause', ' abuse ', 'paused', 'abuse'],
    ['resume', '', 'active', null],
    ['payment-required', 'bill', 'payment_required', 'bill'],
    ['resume', '', 'active', null],
    ['pause', '', 'paused', null],
  ] as const) {
    const done = await rig.submit(`${base}/${verb}`, { reason });
    expect([done.status, done.headers.get('location')]).toEqual([
      303,
      '/dashboard/accounts?done=saved',
    ]);
    expect(await store.account(second?.id ?? '')).toMatchObject({ status, statusReason: kept });
  }
  await rig.submit(`${base}/pause`, { reason: 'a <reason>' });
  const row = rowsOf((await rig.visit('/accounts')).text).find(
    (one) => one['Account'] === 'Second',
  );
  expect(row?.['Status']).toBe('paused a <reason>');
  const edit = (await rig.visit(`${base}/edit`)).text;
  expect(targetsOf(edit)).toContain(`/dashboard${base}/resume`);
  expect(targetsOf(edit)).not.toContain(`/dashboard${base}/payment-required`);
  expect(edit).toMatch(/<option value="unlimited" selected/);
  expect(edit).toContain(second?.id ?? '-');
});

test('name and plan of an account are changed together; another account, a plan or a name that is none is refused', async () => {
  const { store, ctx } = { store: rig.rig.appliance.ctx.store, ctx: rig.rig.appliance.ctx };
  const { id } = await createAccount(ctx, { name: 'Old' });
  const edit = (fields: Record<string, string>, of = id) =>
    rig.submit(`/accounts/${of}/edit`, fields);
  expect((await edit({ name: 'New', plan: 'small' })).status).toBe(303);
  expect(await store.account(id)).toMatchObject({ name: 'New', plan: 'small' });
  expect((await edit({ name: 'New', plan: 'none' })).status).toBe(422);
  expect((await edit({ name: '', plan: 'small' })).status).toBe(422);
  expect((await edit({ name: 'n'.repeat(61), plan: 'small' })).status).toBe(422);
  expect((await edit({ name: 'X', plan: 'small' }, newId(Date.now()))).status).toBe(404);
  expect(await store.account(id)).toMatchObject({ name: 'New', plan: 'small' });
});

test('keys are listed newest first and revoked ones last, with what each may do', async () => {
  const { ctx } = rig.rig.appliance;
  const { id } = await createAccount(ctx, { name: 'keys' });
  const path = `/accounts/${id}/keys`;
  const make = (name: string, permission: 'full_access' | 'sending_access', isTest: boolean) =>
    createKey(ctx, id, { name, permission, isTest });
  const { key: first } = await make('first', 'full_access', false);
  const { key: gone } = await make('gone', 'sending_access', false);
  await make('last <b>', 'sending_access', true);
  const revoked = await rig.submit(`${path}/${gone.id}/revoke`);
  expect(revoked.headers.get('location')).toBe(`/dashboard${path}?done=revoked`);
  const page = (await rig.visit(path)).text;
  const rows = rowsOf(page);
  expect(rows.map(({ Name }) => Name)).toEqual(['last <b>', 'first', 'gone']);
  expect(rows[0]).toMatchObject({ Permission: 'Sending only', Mode: 'sandbox' });
  expect(rows[1]).toMatchObject({
    Key: `${first.prefix}…${first.last4}`,
    Permission: 'Full access',
    Mode: 'live',
    Created: TIME,
    'Last used': 'never',
  });
  expect(rows[2]?.['']).toMatch(/^revoked \d{4}-/);
  expect(targetsOf(page)).toContain(`/dashboard${path}/${first.id}/revoke`);
  expect(targetsOf(page)).not.toContain(`/dashboard${path}/${gone.id}/revoke`);
  expect(targetsOf(page)).toContain(`/dashboard/accounts/${id}/logs?key=${first.id}`);
  await rig.submit(`${path}/${first.id}/rename`, { name: ' renamed ' });
  const names = (await ctx.store.keys(id)).map(({ name }) => name);
  expect(names.toSorted()).toEqual(['gone', 'last <b>', 'renamed']);
});

test('a key is made with what the form says; what it does not know is the least', async () => {
  const { ctx } = rig.rig.appliance;
  const { id } = await createAccount(ctx, { name: 'new keys' });
  const path = `/accounts/${id}/keys`;
  for (const [fields, permission, isTest] of [
    [{ permission: 'full_access', environment: 'test' }, 'full_access', true],
    [{ permission: 'sending_access', environment: 'live' }, 'sending_access', false],
    [{ permission: 'everything', environment: 'other' }, 'sending_access', false],
    [{}, 'sending_access', false],
  ] as const) {
    const shown = await rig.submit(path, { name: 'k', ...fields });
    const token = /<code>(pr_[^<]+)<\/code/.exec(shown.text)?.[1] ?? '';
    expect(token).toStartWith(isTest ? 'pr_test_' : 'pr_live_');
    const key = (await ctx.store.keys(id)).at(-1);
    expect(key).toMatchObject({ permission, isTest, name: 'k' });
    // It is not shown again.
    expect((await rig.visit(path)).text).not.toContain(token);
  }
  expect((await rig.submit(path, { name: '' })).status).toBe(422);
});

test('requests are filtered by day, key, method and status, and shown with their bodies', async () => {
  const { ctx } = rig.rig.appliance;
  const { id } = await createAccount(ctx, { name: 'requests' });
  const { key } = await createKey(ctx, id, {
    name: 'mine',
    permission: 'full_access',
    isTest: false,
  });
  const at = (text: string): number => Date.parse(text);
  const messageId = newId(1);
  // Days are found by the time in the id.
  const ids = new IdSource();
  const record = (path: string, createdAt: number, more: object) => ({
    id: ids.next(createdAt),
    accountId: id,
    keyId: key.id,
    keyName: 'mine',
    keyPermission: 'full_access' as const,
    isSandbox: false,
    method: 'POST',
    path,
    status: 200,
    durationMs: 12,
    messageId: null,
    userAgent: 'agent/1',
    ip: '203.0.113.7',
    requestBody: null,
    responseBody: null,
    createdAt,
    ...more,
  });
  const rows = [
    record('/a', at('2026-03-01T23:59:59.999Z'), { status: 399 }),
    record('/b', at('2026-03-02T00:00:00.000Z'), { status: 404, method: 'GET', durationMs: null }),
    record('/c', at('2026-03-02T23:59:59.999Z'), {
      status: 500,
      messageId,
      requestBody: '{"a":"<b>"}',
      responseBody: 'no json',
    }),
    record('/d', at('2026-03-03T00:00:00.000Z'), { keyId: null, keyName: null }),
  ];
  await ctx.store.appendLogs(rows);
  const base = `/accounts/${id}/logs`;
  const paths = async (query: string): Promise<string> => {
    const found = rowsOf((await rig.visit(`${base}?${query}`)).text);
    return found.map(({ Request = '' }) => Request.replace(/.*\//, '')).join('');
  };
  expect(await paths('')).toBe('dcba');
  expect(await paths('from=2026-03-02')).toBe('dcb');
  expect(await paths('to=2026-03-02')).toBe('cba');
  expect(await paths('from=2026-03-02&to=2026-03-02')).toBe('cb');
  expect(await paths('from=2026-03-01&to=2026-03-02')).toBe('cba');
  expect(await paths('from=2026-13-02')).toBe('dcba');
  expect(await paths(`key=${key.id}`)).toBe('cba');
  expect(await paths('key=none')).toBe('dcba');
  expect(await paths('method=GET')).toBe('b');
  expect(await paths('method=TRACE')).toBe('dcba');
  expect(await paths('status=4')).toBe('b');
  expect(await paths('status=404')).toBe('b');
  expect(await paths('status=5')).toBe('c');
  expect(await paths('status=600')).toBe('dcba');
  // One that the list does not offer by itself is kept in it.
  for (const status of ['100', '204', '404'])
    expect((await rig.visit(`${base}?status=${status}`)).text).toMatch(
      new RegExp(`<option value="${status}" selected>${status}</option>`),
    );
  expect(await paths('q=%2Fc')).toBe('c');
  const page = (await rig.visit(base)).text;
  expect(rowsOf(page)[1]).toEqual({
    Time: '2026-03-02 23:59:59 UTC',
    Request: 'POST /c',
    Status: '500',
    Duration: '12 ms',
    Key: 'mine',
    Email: 'email',
  });
  expect(targetsOf(page)).toContain(`/dashboard/accounts/${id}/emails/${messageId}`);
  const tones = Array.from(page.matchAll(/class="badge (\w+)">(\d{3})</g), ([, tone, code]) => [
    code,
    tone,
  ]);
  expect(Object.fromEntries(tones)).toEqual({ 200: 'good', 399: 'good', 404: 'fair', 500: 'bad' });
  expect(page).toContain('data-live="10"');
  expect((await rig.visit(`${base}?to=2026-03-02`)).text).not.toContain('data-live');
  const one = (await rig.visit(`${base}/${rows[2]?.id}`)).text;
  expect(factsOf(one)).toMatchObject({
    Status: '500',
    Time: '2026-03-02 23:59:59 UTC',
    Duration: '12 ms',
    Key: 'mine',
    'Client address': '203.0.113.7',
    'User agent': 'agent/1',
    Email: 'Show email',
  });
  expect(one).toContain('{\n  &quot;a&quot;: &quot;&lt;b&gt;&quot;\n}</pre>');
  expect(textOf(one)).toContain('Response no json');
  // Of another account it is not there.
  expect((await rig.visit(`${rig.account}/logs/${rows[2]?.id}`)).status).toBe(404);
});

test('operators are listed with role, sight and second factor', async () => {
  const { ctx } = rig.rig.appliance;
  const { id } = await createAccount(ctx, { name: 'Their shop' });
  const added = await rig.submit('/operators', {
    name: 'Ann@Shop.example',
    role: 'other',
    account: id,
  });
  expect(added.status).toBe(200);
  await rig.submit('/operators', { name: 'boss', role: 'admin', account: '' });
  const rows = rowsOf((await rig.visit('/operators')).text);
  const ann = rows.find(({ Name }) => Name === 'ann@shop.example');
  expect(ann).toMatchObject({
    Role: 'Read-only',
    Sees: 'Only Their shop',
    'Second factor': 'none',
    'Last sign-in': 'Never',
  });
  expect(rows.find(({ Name }) => Name === 'boss')).toMatchObject({
    Role: 'May change',
    Sees: 'Everything',
  });
  expect(rows.find(({ Name }) => Name === 'admin')).toMatchObject({ 'Last sign-in': TIME });
  expect(
    (await rig.submit('/operators', { name: 'x', role: 'admin', account: newId(1) })).status,
  ).toBe(404);
  const fresh = await rig.submit('/operators/boss/password');
  expect([fresh.status, /<h1>(.*?)<\/h1>/.exec(fresh.text)?.[1]]).toEqual([
    200,
    'New password of boss',
  ]);
  expect((await rig.submit('/operators/nobody/password')).status).toBe(404);
  expect((await rig.submit('/operators/nobody/remove')).status).toBe(404);
});

test('the audit log is read fifty rows at a time, by who', async () => {
  const { ctx } = rig.rig.appliance;
  const add = async (at: number): Promise<void> =>
    ctx.store.addAudit({
      at: Date.UTC(2026, 2, 1) + at * 1_000,
      via: 'api',
      who: 'robot',
      action: `act.${at}`,
      target: `of ${at}`,
      accountId: at === 50 ? rig.rig.account : null,
      address: '203.0.113.9',
    });
  for (let at = 1; at <= 50; at += 1) await add(at);
  const first = (await rig.visit('/audit?who=robot')).text;
  expect(rowsOf(first)).toHaveLength(50);
  expect(rowsOf(first)[0]).toEqual({
    When: '2026-03-01 00:00:50 UTC',
    Who: 'robot',
    By: 'api',
    What: 'act.50',
    Of: 'of 50',
    Account: 'default',
    From: '203.0.113.9',
  });
  expect(first).not.toContain('>Older<');
  await add(51);
  const more = (await rig.visit('/audit?who=robot')).text;
  expect(rowsOf(more)).toHaveLength(50);
  const older = targetsOf(more).find((to) => to.includes('after=')) ?? '';
  expect(older).toContain('who=robot');
  const last = rowsOf((await rig.visit(older.replace('/dashboard', ''))).text);
  expect(last.map(({ What }) => What)).toEqual(['act.1']);
  expect(rowsOf((await rig.visit('/audit?who=robot&after=x')).text)[0]).toMatchObject({
    What: 'act.51',
  });
});
