/** How much of an email its page shows: recipients and text. */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { accepted, newMessage } from '../../store/samples.ts';
import { type DashboardRig, startDashboardRig } from '../dashboard-rig.ts';

let rig: DashboardRig;
beforeAll(async () => {
  rig = await startDashboardRig();
});
afterAll(() => rig.stop());

/** The page of an email with so many recipients. */
async function pageFor(count: number): Promise<string> {
  const addresses = Array.from({ length: count }, (_, at) => `a${at}@x.example`);
  const { store } = rig.rig.appliance.ctx;
  const { message } = await accepted(store, newMessage(rig.rig.account, {}, addresses));
  return (await rig.visit(`${rig.account}/emails/${message.id}`)).text;
}

test.each([
  [1, []],
  [100, []],
  [101, ['1']],
  [130, ['30']],
])('of %d recipients a hundred are listed, and the others counted', async (count, left) => {
  const text = await pageFor(count);
  expect(text.match(/not tried yet/g)).toHaveLength(Math.min(count, 100));
  const said = Array.from(text.matchAll(/and (\d+) more recipients?/g), ([, more]) => more);
  expect(said).toEqual(left);
});

test.each([
  [32_768, false],
  [32_769, true],
])('a text of %d characters is cut: %p', async (length, isCut) => {
  const email = { from: 'a@sender.example', to: 'b@x.example', subject: 's' };
  const id = await rig.send({ ...email, text: 'x'.repeat(length) });
  const { text } = await rig.visit(`${rig.account}/emails/${id}?tab=text`);
  expect(/x{100,}/.exec(text)?.[0]).toHaveLength(32_768);
  expect(/x\n…/.test(text)).toBe(isCut);
});
