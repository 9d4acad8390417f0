/**
 * The list of attempts is newest first by the time it shows, also when attempts overlap and end in another order.
 */
import { expect, test } from 'bun:test';
import { TestClock } from '../../rig/clock.ts';
import { startHook, type HookAnswer } from '../../rig/hook.ts';
import { startWebhookRig } from './webhook-rig.ts';

test('attempts that overlap are listed newest first by the time shown', async () => {
  const clock = new TestClock(Date.now());
  const rig = await startWebhookRig({ clock });
  const hook = await startHook();
  try {
    const { endpoint } = await rig.endpoint(hook.url);
    // The first call waits until two others, begun later, have ended.
    const slow = Promise.withResolvers<HookAnswer>();
    let count = 0;
    hook.script.answer = () => {
      count += 1;
      return count === 1 ? slow.promise : { status: 200 };
    };
    const [first] = await rig.happen(1);
    await hook.calls.first((call) => call.headers['webhook-id'] === first?.id);
    for (let at = 0; at < 2; at += 1) {
      clock.pass(1_000);
      await rig.dispatcher.test(rig.accountId, endpoint.id);
    }
    clock.pass(1_000);
    slow.resolve({ status: 200 });
    await rig.ended.first(({ call }) => call.eventId === first?.id);
    clock.jump(-60_000);
    await rig.dispatcher.test(rig.accountId, endpoint.id);

    const page = { limit: 10, after: null, before: null };
    const { rows } = await rig.ctx.store.callAttempts(endpoint.id, page);
    expect(rows.map(({ eventType }) => eventType)).toEqual([
      'webhook.test',
      'email.sent',
      'webhook.test',
      'webhook.test',
    ]);
    const times = rows.map(({ createdAt }) => createdAt);
    expect(times).toEqual(times.toSorted((one, other) => other - one));
  } finally {
    await rig.stop();
    await hook.stop();
  }
});
