/** An email whose content retention has taken: its page says so and shows what happened, and no part of it opens. */
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
