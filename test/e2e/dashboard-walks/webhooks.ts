/** Webhook endpoints: added, tested, edited, replayed by a row and by time, given a new secret, disabled and removed. */
import { expect } from 'bun:test';

import type { HookCall } from '../../rig/hook.ts';
import { send } from './mail.ts';
import type { Walker } from './walker.ts';

export async function useWebhooks(walker: Walker): Promise<void> {
  const { hook } = walker.ground;
  hook.calls.clear();
  hook.script.answer = () => ({ status: 200, body: 'Thanks' });
  await add(walker);
  await test(walker);
  await edit(walker);
  await fail(walker, 1);
  await replayOne(walker);
  await fail(walker, 2);
  await replayByTime(walker);
  await end(walker);
}

const urlOf = ({ ground, tag }: Walker): string => `${ground.hook.url}/${tag}`;

/** Calls of events of the endpoint. */
function calls({ ground, tag }: Walker, count: number): Promise<HookCall[]> {
  return ground.hook.calls.atLeast(
    count,
    ({ path, body }) => path.endsWith(`/${tag}`) && !body.includes('webhook.test'),
  );
}

/** Refused first: the form keeps what was entered, with the reason at its field. */
async function add(walker: Walker): Promise<void> {
  const { page } = walker;
  await walker.menu('Webhooks');
  await walker.fill('URL', 'http://plain.example/hook');
  await walker.field('email.bounced').check();
  await walker.press('Add endpoint');
  await page.locator('.field .message').getByText(/https/).waitFor();
  expect(await walker.field('URL').inputValue()).toBe('http://plain.example/hook');
  expect(await walker.field('email.bounced').isChecked()).toBe(true);
  await walker.fill('URL', `${walker.ground.hook.url}/first-${walker.tag}`);
  await walker.press('Add endpoint');
  await walker.says(/Copy the signing secret now/);
  expect(await walker.copied('Copy the signing secret')).toStartWith('whsec_');
  await walker.follow('Go to the endpoint');
  expect(await page.content()).not.toContain('whsec_');
}

async function test(walker: Walker): Promise<void> {
  await walker.press('Send a test');
  await walker.heading('Test call');
  await walker.says('Thanks');
  await walker.press('Send another test');
  await walker.says('Thanks');
  await walker.page.locator('p.up a').click();
  await walker.lists('webhook.test', 'webhook.test');
}

async function edit(walker: Walker): Promise<void> {
  const card = walker.card('Edit');
  await walker.fill('URL', urlOf(walker), card);
  await walker.field('email.bounced', card).uncheck();
  await walker.field('email.delivered', card).check();
  await walker.press('Save', card);
  await walker.says('Saved.');
  await walker.heading(urlOf(walker));
  expect(await walker.field('email.delivered', card).isChecked()).toBe(true);
}

/** An email whose event the endpoint refuses; the page shows it among the failed. `count`: how many were by now. */
async function fail(walker: Walker, count: number): Promise<void> {
  const { ground, tag } = walker;
  ground.hook.script.answer = () => ({ status: 400, body: 'Not that one' });
  const id = await send(ground, `Called ${tag} ${count}`);
  await ground.appliance.log.first(
    ({ event, message_id: message }) => event === 'webhook_call' && message === id,
  );
  await walker.menu('Webhooks');
  await walker.follow(urlOf(walker));
  await walker.follow('Failed');
  await walker.lists(...Array<string>(count).fill('email.delivered'));
}

/** By its row, with what was posted and answered before; the receiver sees the same id again. */
async function replayOne(walker: Walker): Promise<void> {
  const { hook } = walker.ground;
  hook.script.answer = () => ({ status: 200 });
  await walker.row('email.delivered').locator('a').first().click();
  await walker.heading('email.delivered');
  await walker.says('Not that one');
  await walker.says(/"type": "email.delivered"/);
  const eventId = await walker.copied('Copy the webhook-id');
  await walker.page.goBack();
  await walker.press('Replay', walker.row('email.delivered'));
  await walker.says('Events scheduled for delivery again: 1.');
  expect((await calls(walker, 2)).map(({ headers }) => headers['webhook-id'])).toEqual([
    eventId,
    eventId,
  ]);
}

async function replayByTime(walker: Walker): Promise<void> {
  const card = walker.card('Replay');
  walker.ground.hook.script.answer = () => ({ status: 200 });
  const ahead = new Date(Date.now() + 3_600_000).toISOString().slice(0, 16);
  await walker.fill('Or since this time (UTC)', ahead, card);
  await walker.press('Replay', card);
  await walker.says('Events scheduled for delivery again: 0.');
  await walker.choose('Failed and missed events', 'of the last day', card);
  await walker.press('Replay', card);
  await walker.says('Events scheduled for delivery again: 1.');
  const [, , first, again] = await calls(walker, 4);
  expect(again?.headers['webhook-id']).toBe(String(first?.headers['webhook-id']));
}

async function end(walker: Walker): Promise<void> {
  await walker.confirm('New secret', 'Make a new secret');
  await walker.says(/signature of the old secret for 24 hours/);
  expect(await walker.copied('Copy the signing secret')).toStartWith('whsec_');
  await walker.follow('Go to the endpoint');
  await walker.says('Old secret signs until');
  await walker.confirm('Disable', 'Disable this endpoint');
  await walker.says('Disabled. Its calls wait.');
  await walker.press('Enable');
  await walker.says('Enabled. Pending calls continue.');
  await walker.confirm('Remove', 'Remove this endpoint');
  await walker.says('Removed.');
  await walker.says('No endpoints yet');
}
