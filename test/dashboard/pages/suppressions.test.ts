/** The pages of suppressions: filters, the source of each, and lists that come and go as CSV. */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { addSuppression } from '../../../src/flow/suppressions/suppressions.ts';
import { newId } from '../../rig/ids.ts';
import { type DashboardRig, startDashboardRig } from '../dashboard-rig.ts';

let rig: DashboardRig;
let path: string;
beforeAll(async () => {
  rig = await startDashboardRig();
  path = `${rig.account}/suppressions`;
});
afterAll(() => rig.stop());

function upload(
  content: string,
  name = 'list.csv',
  headers: Record<string, string> = { cookie: rig.cookie },
): Promise<Response> {
  const form = new FormData();
  form.append('file', new File([content], name));
  form.append('csv', '');
  return fetch(`${rig.url}${path}/import`, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'sec-fetch-site': 'same-origin', ...headers },
    body: form,
  });
}

/** The page of imports when the last one has ended. */
async function ended(): Promise<string> {
  for (;;) {
    const { text } = await rig.visit(`${path}/import`);
    if (!text.includes('data-live')) return text;
    await Bun.sleep(10);
  }
}

test('the list is filtered by reason and address, and leads to the email that caused a row', async () => {
  const { ctx } = rig.rig.appliance;
  const email = newId(Date.now());
  await addSuppression(ctx, rig.rig.account, {
    email: 'bounced@receiver.example',
    reason: 'hard_bounce',
    source: email,
  });
  await addSuppression(ctx, rig.rig.account, { email: 'manual@receiver.example', source: 'api' });
  const all = (await rig.visit(path)).text;
  expect(all).toContain(`href="/dashboard${rig.account}/emails/${email}"`);
  expect(all).toContain('manual@receiver.example');
  const bounced = (await rig.visit(`${path}?reason=hard_bounce`)).text;
  expect(bounced).toContain('bounced@receiver.example');
  expect(bounced).not.toContain('manual@receiver.example');
  const found = (await rig.visit(`${path}?q=MANUAL`)).text;
  expect(found).toContain('manual@receiver.example');
  expect(found).not.toContain('bounced@receiver.example');
  expect((await rig.visit(`${path}?reason=constructor`)).text).toContain(
    'bounced@receiver.example',
  );
});

test('a file is imported behind its page, which says what was added and what was not understood', async () => {
  const bad = '<script>alert(1)</script>';
  const rows = Array.from({ length: 2_500 }, (_, n) => `n${n}@import.example,unsubscribed`);
  const answer = await upload(['email,reason', ...rows, `${bad},manual`].join('\n'), `${bad}.csv`);
  expect(answer.headers.get('location')).toBe(`/dashboard${path}/import`);
  const text = await ended();
  expect(text).toContain('2500');
  expect(text).toContain('Imported: &lt;script&gt;');
  expect(text).toMatch(/Not understood<\/dt>\s*<dd>1</);
  expect(text).toContain('&lt;script&gt;');
  expect(text).not.toContain(bad);
  const { store } = rig.rig.appliance.ctx;
  expect(await store.suppression(rig.rig.account, 'n2499@import.example')).toMatchObject({
    reason: 'unsubscribe',
  });
});

test('while an import is under way its page shows how far it is, and offers no second one', async () => {
  const { store } = rig.rig.appliance.ctx;
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const add = store.addSuppressions.bind(store);
  store.addSuppressions = async (rows) => {
    await released;
    return await add(rows);
  };
  const form = `action="/dashboard${path}/import"`;
  await rig.submit(`${path}/import`, { csv: 'slow@paused.example' });
  const { text } = await rig.visit(`${path}/import`);
  expect([text.includes('data-live'), text.includes(form)]).toEqual([true, false]);
  expect(text).toContain('Importing: pasted addresses');
  expect((await upload('second@paused.example')).status).toBe(409);
  store.addSuppressions = add;
  release();
  expect(await ended()).toContain(form);
  expect(await store.suppression(rig.rig.account, 'slow@paused.example')).not.toBeNull();
  expect(await store.suppression(rig.rig.account, 'second@paused.example')).toBeNull();
});

test('pasted addresses are imported; an empty form and broken CSV are told', async () => {
  await rig.submit(`${path}/import`, { csv: 'pasted@import.example\nother@import.example' });
  expect(await ended()).toContain('pasted addresses');
  const { store } = rig.rig.appliance.ctx;
  expect(await store.suppression(rig.rig.account, 'other@import.example')).not.toBeNull();
  const empty = await upload('');
  expect(empty.status).toBe(422);
  expect(await empty.text()).toContain('Choose a file, or paste addresses.');
  await upload('a@b.example\n"open');
  const broken = await ended();
  expect(broken).toContain('a quotation mark is not closed');
  expect(broken).toContain('Ended early: ');
});

test('the export holds every row, and is imported again as it is', async () => {
  const { headers, text } = await rig.visit(`${path}/export`);
  expect(headers.get('content-type')).toBe('text/csv; charset=utf-8');
  expect(headers.get('content-disposition')).toContain('filename="suppressions-default.csv"');
  expect(text).toStartWith('email,reason,source,note,created_at\r\n');
  expect(text.split('\r\n').filter((line) => line.includes('@import.example'))).toHaveLength(2_502);
  await upload(text);
  expect(await ended()).toMatch(/Added<\/dt>\s*<dd>0</);
});

test('a file is read for an operator only', async () => {
  const anonymous = await upload('x@import.example', 'x.csv', {});
  expect(anonymous.status).toBe(401);
  const foreign = await upload('x@import.example', 'x.csv', {
    cookie: rig.cookie,
    'sec-fetch-site': 'cross-site',
  });
  expect(foreign.status).toBe(403);
  const { store } = rig.rig.appliance.ctx;
  expect(await store.suppression(rig.rig.account, 'x@import.example')).toBeNull();
});
