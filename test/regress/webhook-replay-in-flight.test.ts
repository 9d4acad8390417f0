/**
 * A replay asked for while the same call was in flight: the end of that attempt once swallowed it.
 */
import { expect, test } from 'bun:test';

import { replayCalls } from '../../src/flow/webhooks/dispatcher.ts';
import { startWebhookRig } from '../flow/webhooks/webhook-rig.ts';
import { type HookAnswer, startHook } from '../rig/hook.ts';
import { nextCallDue } from '../store/due-calls.ts';

for (const status of [200, 500, 410]) {
  test(`a call replayed while its attempt is about to end with ${status} is made once more`, async () => {
    const rig = await startWebhookRig();
    const hook = await startHook();
    const { endpoint } = await rig.endpoint(hook.url);
    const pending = Promise.withResolvers<HookAnswer>();
    hook.script.answer = (call) =>
      hook.calls.items.some((before) => before.body === call.body)
        ? { status: 200 }
        : pending.promise;
    const [event] = await rig.happen(1);
    if (event === undefined) throw new Error('no event');
    await hook.calls.atLeast(1);

    const { ctx, dispatcher, accountId } = rig;
    const what = { eventId: event.id };
    expect(await replayCalls(ctx, dispatcher, accountId, endpoint.id, what)).toBe(1);
    pending.resolve({ status });

    const calls = await hook.calls.atLeast(2);
    expect(calls.map((call) => call.headers['webhook-id'])).toEqual([event.id, event.id]);
    const ended = await rig.ended.atLeast(2);
    expect(ended.map((end) => [end.attempt.statusCode, end.status])).toEqual([
      [status, status === 200 ? 'done' : status === 500 ? 'open' : 'failed'],
      [200, 'done'],
    ]);
    // Made once more, not for ever: nothing of it is open.
    expect(await nextCallDue(ctx.store, 0)).toBeNull();
    await rig.stop();
    await hook.stop();
  });
}
