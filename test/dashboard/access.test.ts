/**
 * Who may open what: every route of the dashboard with every role, and what an operator of one account finds of another.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { PAGES } from '../../src/dashboard/pages/routes.ts';
import { createAccount } from '../../src/flow/accounts/accounts.ts';
import { createKey } from '../../src/flow/accounts/keys.ts';
import { addDomain } from '../../src/flow/domains/domains.ts';
import { addOperator, removeOperator, setPassword } from '../../src/flow/people/operators.ts';
import type { OperatorRole } from '../../src/store/people.ts';
import { type DashboardRig, startDashboardRig } from './dashboard-rig.ts';

const PASSWORD = 'long enough for anyone';

let rig: DashboardRig;
let other: string;
let cookies: Record<'reader' | 'owner' | 'guest', string>;

beforeAll(async () => {
  rig = await startDashboardRig();
  const { ctx } = rig.rig.appliance;
  const account = await createAccount(ctx, { name: 'other' });
  other = account.id;
  await addDomain(ctx, account, 'other.example');
  await createKey(ctx, other, { name: 'theirs', permission: 'full_access' });
  cookies = {
    reader: await signedIn('reader', 'read_only', null),
    owner: await signedIn('owner', 'admin', rig.rig.account),
    guest: await signedIn('guest', 'read_only', rig.rig.account),
  };
});
afterAll(() => rig.stop());

async function signedIn(name: string, role: OperatorRole, accountId: string | null) {
  const { ctx } = rig.rig.appliance;
  await addOperator(ctx, { name, role, accountId });
  await setPassword(ctx, name, PASSWORD);
  const answer = await fetch(`${rig.url}/sign-in`, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'sec-fetch-site': 'same-origin' },
    body: new URLSearchParams({ name, password: PASSWORD }),
  });
  return answer.headers.get('set-cookie')?.split(';')[0] ?? '';
}

/** The status that `cookie` gets at a route; `account` in its path. */
async function statusAt(method: string, pattern: string, account: string, cookie: string) {
  const path = pattern.replace(':account', account).replaceAll(/:\w+/g, 'none');
  const seen =
    method === 'GET'
      ? await rig.visit(path, { cookie })
      : await rig.submit(path, {}, { cookie, 'sec-fetch-site': 'same-origin' });
  return seen.status;
}

const ROUTES = PAGES.map(({ method, path }): [string, string] => [method, path]);
/** Pages that are nothing but a form: they open for those who may post it. */
const FORMS = new Set(PAGES.filter(({ isForm }) => isForm === true).map(({ path }) => path));
const isOwn = (path: string): boolean => path.startsWith('/profile');
const isInAccount = (path: string): boolean =>
  /^\/accounts\/:account\/(emails|domains|webhooks|suppressions|keys|logs|usage)/.test(path);

test('the parts of an account that an operator of it sees are all there', () => {
  const parts = new Set(ROUTES.filter(([, path]) => isInAccount(path)).map(([, path]) => path));
  expect(parts.size).toBeGreaterThan(10);
});

describe.each(ROUTES)('%s %s', (method, path) => {
  test('a read-only operator looks and changes nothing', async () => {
    const status = await statusAt(method, path, rig.rig.account, cookies.reader);
    if ((method === 'POST' || FORMS.has(path)) && !isOwn(path)) expect(status).toBe(403);
    else expect(status).not.toBe(403);
  });

  test.each([['owner'], ['guest']] as const)(
    'an %s of one account finds that alone',
    async (who) => {
      const elsewhere = await statusAt(method, path, other, cookies[who]);
      const start = path === '' && method === 'GET' ? 303 : 404;
      if (!isOwn(path)) expect(elsewhere).toBe(start);
      const within = await statusAt(method, path, rig.rig.account, cookies[who]);
      if (isOwn(path)) expect(within).not.toBe(403);
      else if (path === '' && method === 'GET') expect(within).toBe(303);
      else if (!isInAccount(path)) expect(within).toBe(404);
      else if (who === 'guest' && (method === 'POST' || FORMS.has(path))) {
        expect(within).toBe(403);
      } else expect([200, 303, 404, 422, 400, 409]).toContain(within);
    },
  );
});

test('under the own account nothing of another one is found', async () => {
  const { store } = rig.rig.appliance.ctx;
  const [domain] = await store.domains(other);
  const [key] = await store.keys(other);
  const headers = { cookie: cookies.owner, 'sec-fetch-site': 'same-origin' };
  const { account } = rig;
  await rig.submit(`${account}/keys/${key?.id}/revoke`, {}, headers);
  await rig.submit(`${account}/domains/${domain?.id}/remove`, {}, headers);
  expect(await store.keys(other)).toMatchObject([{ id: key?.id, revokedAt: null }]);
  expect(await store.domains(other)).toMatchObject([{ id: domain?.id }]);
  const seen = await rig.visit(`${account}/domains/${domain?.id}`, { cookie: cookies.owner });
  expect(seen.status).toBe(404);
  const page = await rig.visit(`${account}/emails`, { cookie: cookies.owner });
  expect(page.status).toBe(200);
  expect(page.text).not.toContain(other);
  expect(page.text).not.toContain('href="/dashboard/queue"');
});

test('an account of another name in the path is not a way around', async () => {
  expect(await statusAt('GET', '/accounts/:account/keys', 'other', cookies.owner)).toBe(404);
  expect(await statusAt('GET', '/accounts/:account/keys', '..%2Fother', cookies.owner)).toBe(404);
});

test('an address whose escapes are broken is of no page', async () => {
  for (const part of ['%', '%E0%A4', '%ff']) {
    for (const path of [`/accounts/${part}/keys`, `/accounts/${rig.rig.account}/emails/${part}`]) {
      expect([path, (await rig.visit(path)).status]).toEqual([path, 404]);
      expect([path, (await rig.submit(path)).status]).toEqual([path, 404]);
    }
  }
});

test('a session ends with its operator and with the password', async () => {
  const { ctx } = rig.rig.appliance;
  const cookie = await signedIn('leaving', 'admin', null);
  expect((await rig.visit('/operators', { cookie })).status).toBe(200);
  await removeOperator(ctx, 'leaving');
  expect((await rig.visit('/operators', { cookie })).status).toBe(401);
  const changing = await signedIn('changing', 'admin', null);
  await setPassword(ctx, 'changing', `${PASSWORD} again`);
  expect((await rig.visit('/operators', { cookie: changing })).status).toBe(401);
  await removeOperator(ctx, 'changing');
  expect(removeOperator(ctx, 'admin')).rejects.toThrow('last operator');
});

describe('on their page', () => {
  test('operators are added, shown with what they see, and removed', async () => {
    const wrong = await rig.submit('/operators', { name: 'No Name', role: 'admin', account: '' });
    expect([wrong.status, wrong.text]).toEqual([422, expect.stringContaining('lower-case')]);
    const fields = { name: 'anna@shop.example', role: 'read_only', account: rig.rig.account };
    const added = await rig.submit('/operators', fields);
    expect(added.text).toMatch(/<code>[\w-]{24}<\/code\s*>/);
    const list = await rig.visit('/operators');
    expect(list.text).toContain('anna@shop.example');
    expect(list.text).toContain('Only default');
    const gone = await rig.submit('/operators/anna%40shop.example/remove');
    expect(gone.headers.get('location')).toContain('done=removed');
    expect((await rig.submit('/operators/admin/remove')).status).toBe(422);
  });

  test('an own password needs the present one', async () => {
    const cookie = await signedIn('chooser', 'read_only', null);
    const headers = { cookie, 'sec-fetch-site': 'same-origin' };
    const change = (password: string, chosen: string) =>
      rig.submit('/profile/password', { password, new_password: chosen }, headers);
    expect((await change('wrong', `${PASSWORD} too`)).status).toBe(422);
    const short = await change(PASSWORD, 'short');
    expect([short.status, short.text]).toEqual([422, expect.stringContaining('15 characters')]);
    expect((await change(PASSWORD, `${PASSWORD} too`)).status).toBe(303);
    expect((await rig.visit('/profile', { cookie })).status).toBe(401);
  });
});

test('every change is in the audit log, with who and from where, and no secret', async () => {
  await rig.submit(`${rig.account}/suppressions`, { email: 'someone@person.example' });
  await rig.submit(`${rig.account}/keys`, { name: 'audited', permission: 'sending_access' });
  const by = { cookie: cookies.owner, 'sec-fetch-site': 'same-origin' };
  await rig.submit(`${rig.account}/keys`, { name: 'by the owner' }, by);
  const { text } = await rig.visit('/audit');
  expect(text).toContain('suppressions.add');
  expect(text).toContain('…@person.example');
  expect(text).not.toContain('someone@');
  expect(text).not.toContain(PASSWORD);
  const rows = await rig.rig.appliance.ctx.store.audit({ limit: 100, before: null, who: 'owner' });
  expect(rows[0]).toMatchObject({
    via: 'dashboard',
    action: 'keys.add',
    target: 'name=by the owner account=' + rig.rig.account,
    accountId: rig.rig.account,
    address: '127.0.0.1',
  });
  expect(rows.at(-1)).toMatchObject({ action: 'sign_in' });
  expect((await rig.visit('/audit?who=nobody')).text).toContain('Nothing has been changed');
  expect((await rig.visit('/audit', { cookie: cookies.owner })).status).toBe(404);
});

test('what an API key changes is in it too, sends and reads are not', async () => {
  const { ctx } = rig.rig.appliance;
  const before = await ctx.store.audit({ limit: 1, before: null, who: null });
  const headers = { authorization: `Bearer ${rig.rig.key}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ name: 'api-made.example' });
  await fetch(`${rig.rig.url}/domains`, { method: 'POST', headers, body });
  await fetch(`${rig.rig.url}/domains`, { headers });
  await rig.send({ from: 'a@sender.example', to: 'b@receiver.example', subject: 's', text: 't' });
  await fetch(`${rig.rig.url}/domains`, { method: 'POST', headers, body: '{}' });
  const rows = await ctx.store.audit({ limit: 100, before: null, who: null });
  expect(rows.filter(({ seq }) => seq > (before[0]?.seq ?? 0))).toMatchObject([
    { via: 'api', who: 'rig', action: 'addDomain', target: 'name=api-made.example' },
  ]);
});
