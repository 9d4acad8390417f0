/** Confirmed recipients on the dashboard: the list, what confirms and what takes back, and where other pages lead to it. */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { createAccount } from '../../../src/flow/accounts/accounts.ts';
import { addOperator, setPassword } from '../../../src/flow/people/operators.ts';
import { type DashboardRig, startDashboardRig } from '../dashboard-rig.ts';
import { rowsOf, textOf } from '../page-text.ts';

const PLAN = '[[plans]]\nid = "careful"\nconfirmed_recipients_only = true';
const PASSWORD = 'long enough for anyone';

let rig: DashboardRig;
let careful: string;
let careless: string;
beforeAll(async () => {
  rig = await startDashboardRig({ config: PLAN });
  const { ctx } = rig.rig.appliance;
  careful = `/accounts/${(await createAccount(ctx, { name: 'careful', plan: 'careful' })).id}`;
  careless = rig.account;
});
afterAll(() => rig.stop());

const addresses = (text: string): string[] => rowsOf(text).flatMap((row) => row['Address'] ?? []);

test('an address is confirmed in any spelling, listed once, and taken back', async () => {
  const path = `${careful}/recipients`;
  expect((await rig.visit(path)).text).toContain('No confirmed recipients');
  for (const email of ['Ben@B.example', 'ann@a.example', 'ben@b.example']) {
    const { status, headers } = await rig.submit(path, { email });
    expect([status, headers.get('location')]).toEqual([303, `/dashboard${path}?done=confirmed`]);
  }
  const { text } = await rig.visit(path);
  expect(addresses(text)).toEqual(['ann@a.example', 'ben@b.example']);
  expect(text).toContain('name="email" value="ben@b.example"');
  await rig.submit(`${path}/remove`, { email: 'ben@b.example' });
  expect(addresses((await rig.visit(path)).text)).toEqual(['ann@a.example']);
  const again = await rig.submit(`${path}/remove`, { email: 'ben@b.example' });
  expect(again.status).toBe(404);
  expect(textOf(again.text)).toContain('ben@b.example is not a confirmed recipient.');
  const wrong = await rig.submit(path, { email: 'nobody' });
  expect([wrong.status, wrong.text.includes('aria-invalid="true"')]).toEqual([422, true]);
});

test('fifty stand on a page, and the way leads through all', async () => {
  const { store } = rig.rig.appliance.ctx;
  const id = careless.split('/').at(-1) ?? '';
  const all = Array.from({ length: 120 }, (_, at) => `r${String(at).padStart(3, '0')}@x.example`);
  for (const email of all) await store.addConfirmedRecipient(id, email, 1);
  const seen: string[][] = [];
  for (let path: string | undefined = `${careless}/recipients`; path !== undefined;) {
    const { text } = await rig.visit(path);
    seen.push(addresses(text));
    path = /rel="next" href="\/dashboard([^"]*)"/.exec(text)?.[1]?.replaceAll('&amp;', '&');
  }
  expect(seen.map((page) => page.length)).toEqual([50, 50, 20]);
  expect(seen.flat()).toEqual(all);
});

test('pages of an account on such a plan lead there, those of others do not', async () => {
  for (const page of ['usage', 'edit']) {
    const link = `href="/dashboard${careful}/recipients"`;
    expect([page, (await rig.visit(`${careful}/${page}`)).text.includes(link)]).toEqual([
      page,
      true,
    ]);
    expect((await rig.visit(`${careless}/${page}`)).text).not.toContain('/recipients"');
  }
  expect((await rig.visit(`${careless}/recipients`)).text).toContain('allows emails to everybody');
  expect((await rig.visit(`${careful}/recipients`)).text).not.toContain('to everybody');
});

test('who sees one account alone finds no such page, and no link to it', async () => {
  const { ctx } = rig.rig.appliance;
  const accountId = careful.split('/').at(-1) ?? '';
  await addOperator(ctx, { name: 'own', role: 'admin', accountId });
  await setPassword(ctx, 'own', PASSWORD);
  const answer = await fetch(`${rig.url}/sign-in`, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'sec-fetch-site': 'same-origin' },
    body: new URLSearchParams({ name: 'own', password: PASSWORD }),
  });
  const cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? '';
  expect((await rig.visit(`${careful}/recipients`, { cookie })).status).toBe(404);
  const { text } = await rig.visit(`${careful}/usage`, { cookie });
  expect([text.includes('only to'), text.includes('/recipients"')]).toEqual([true, false]);
  const posted = { cookie, 'sec-fetch-site': 'same-origin' };
  const { status } = await rig.submit(`${careful}/recipients`, { email: 'c@c.example' }, posted);
  expect(status).toBe(404);
  expect(await ctx.store.confirmed(accountId, ['c@c.example'])).toEqual(new Set());
});
