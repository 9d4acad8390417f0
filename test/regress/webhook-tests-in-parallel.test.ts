/**
 * 400 test calls at once took 800 descriptors. They wait in the queue of their endpoint, four at most, and are posted
 * as its calls are.
 */
import { expect, test } from 'bun:test';

import { ApiError } from '../../src/base/errors.ts';
import { startWebhookRig } from '../flow/webhooks/webhook-rig.ts';
import { startHook } from '../rig/hook.ts';

test('400 tests at once are four posts; the others are told when to come back', async () => {
  const rig = await startWebhookRig();
  const hook = await startHook();
  const refused = Promise.withResolvers<void>();
  const refusals: ApiError[] = [];
  let open = 0;
  let most = 0;
  hook.script.answer = async () => {
    open += 1;
    most = Math.max(most, open);
    await refused.promise;
    open -= 1;
    return { status: 200 };
  };
  const { endpoint } = await rig.endpoint(hook.url);
  const run = (): Promise<unknown> =>
    rig.dispatcher.test(rig.accountId, endpoint.id).catch((error: unknown) => {
      if (!(error instanceof ApiError)) throw error;
      refusals.push(error);
      if (refusals.length === 396) refused.resolve();
    });
  await Promise.all(Array.from({ length: 400 }, run));
  expect(refusals).toHaveLength(396);
  for (const { code, headers } of refusals) {
    expect([code, headers['Retry-After']]).toEqual(['rate_limited', '10']);
  }
  expect(most).toBeLessThanOrEqual(4);
  expect(hook.calls.items).toHaveLength(4);
  expect(await run()).toMatchObject({ ok: true, statusCode: 200 });
  await rig.stop();
  await hook.stop();
});
