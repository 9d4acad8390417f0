/**
 * An email whose content cannot be shown: its page says so, and shows what happened. Retention has taken it, then no part
 * of it opens; or it is large and the memory budget is used up, then it opens later.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { type DashboardRig, startDashboardRig } from '../dashboard-rig.ts';

let rig: DashboardRig;
beforeAll(async () => {
  rig = await startDashboardRig();
});
afterAll(() => rig.stop());

test('what is left of an email without its content', async () => {
  const from = 'shop@sender.example';
  const id = await rig.send({ from, to: 'delivered@sandbox.test', subject: 'Old', html: '<p>x' });
  const path = `${rig.account}/emails/${id}`;
  const { store, clock } = rig.rig.appliance.ctx;
  expect((await rig.visit(`${path}/html`)).text).toContain('<p>x');
  while ((await store.purgeBodies(clock.now() + 1)) === 0);
  const { status, text } = await rig.visit(path);
  expect(status).toBe(200);
  expect(text).toContain('The content is no longer kept. What happened to the email is.');
  expect(text).toContain('delivered@sandbox.test');
  expect((await rig.visit(`${path}/html`)).text).not.toContain('<p>x');
  const source = await rig.visit(`${path}/source`);
  expect(source.status).toBe(404);
  expect(source.text).toContain('The content of this email is no longer kept.');
  expect((await rig.visit(`${path}/attachments/1`)).status).toBe(404);
});

test('an email whose content finds no memory shows what happened, and the content later', async () => {
  const html = `<p>${'x'.repeat(600_000)}`;
  const from = 'shop@sender.example';
  const id = await rig.send({ from, to: 'delivered@sandbox.test', subject: 'Large', html });
  const path = `${rig.account}/emails/${id}`;
  const others = rig.rig.appliance.ctx.budget.open(rig.rig.account);
  expect(others.grow(48 * 1024 * 1024)).toBe(true);
  const busy = await rig.visit(`${path}?tab=html&width=phone`);
  others.release();
  expect(busy.status).toBe(200);
  expect(busy.text).toContain('delivered@sandbox.test');
  expect(busy.text).toContain('too many large requests are being handled at the moment.');
  const again = /<a href="([^"]*)"\s*>Try again/.exec(busy.text)?.[1] ?? '';
  expect(again).toEndWith(`${path}?tab=html&amp;width=phone`);
  const later = await rig.visit(`${path}?tab=html&width=phone`);
  expect(later.text).not.toContain('Try again');
  expect(later.text).toContain('class="phone"');
});
