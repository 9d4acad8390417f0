/** How much of an email its page shows: recipients and text. */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { accepted, finishOf, newMessage } from '../../store/samples.ts';
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

test.each([
  [3, 'a0@x.example, a1@x.example, a2@x.example: '],
  [5, 'a0@x.example, a1@x.example, a2@x.example and 2 more: '],
])('a reason of %d recipients names three of them', async (count, words) => {
  const { store } = rig.rig.appliance.ctx;
  const addresses = Array.from({ length: 6 }, (_, at) => `a${at}@x.example`);
  const made = await accepted(store, newMessage(rig.rig.account, {}, addresses));
  const bounced = {
    status: 'bounced',
    lastReason: '550 5.1.1 No such user',
    attempt: null,
  } as const;
  for (const recipient of made.recipients.slice(0, count)) {
    await store.finish(finishOf(made, recipient, bounced));
  }
  const { text } = await rig.visit(`${rig.account}/emails/${made.message.id}`);
  expect(text).toContain(`<p>${words}`);
});
