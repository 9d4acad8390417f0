/** The twentieth failure in a row disables an endpoint, not the nineteenth, and enabling starts the count anew. */
import { expect, test } from 'bun:test';

import { enableEndpoint } from '../../../src/flow/webhooks/endpoints.ts';
import { TestClock } from '../../rig/clock.ts';
import { startHook } from '../../rig/hook.ts';
import { startWebhookRig } from './webhook-rig.ts';

/** docs/contract.md C12.8. */
const FAILURES = 20;

test('20 failures in a row, and 20 more after it was enabled', async () => {
  const rig = await startWebhookRig({ clock: new TestClock() });
  const hook = await startHook();
  try {
    // An answer that is not worth another attempt: one call, one failure.
    hook.script.answer = () => ({ status: 410 });
    const { endpoint } = await rig.endpoint(hook.url);
    const failOnce = async (): Promise<[status: string | undefined, count: number | undefined]> => {
      const [event] = await rig.happen(1);
      await rig.ended.first(({ call }) => call.eventId === event?.id);
      const row = await rig.ctx.store.endpointById(endpoint.id);
      return [row?.status, row?.failureCount];
    };
    for (let round = 0; round < 2; round += 1) {
      for (let failures = 1; failures < FAILURES; failures += 1) {
        expect(await failOnce()).toEqual(['active', failures]);
      }
      expect(await failOnce()).toEqual(['disabled', FAILURES]);
      await enableEndpoint(rig.ctx, rig.dispatcher, rig.accountId, endpoint.id);
    }
  } finally {
    await rig.stop();
    await hook.stop();
  }
});
