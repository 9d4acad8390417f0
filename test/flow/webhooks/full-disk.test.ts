/** A disk that is full when a call has been posted: what the endpoint has got is recorded when there is space again. */
import { expect, test } from 'bun:test';
import { StoreFullError } from '../../../src/store/store.ts';
import { startHook } from '../../rig/hook.ts';
import { startWebhookRig } from './webhook-rig.ts';

test('the end of a call waits for space, and the call is not posted again', async () => {
  const rig = await startWebhookRig();
  const hook = await startHook();
  try {
    const { store } = rig.ctx;
    const finishCall = store.finishCall.bind(store);
    let refusals = 1;
    store.finishCall = (end) => {
      if (refusals === 0) return finishCall(end);
      refusals -= 1;
      return Promise.reject(new StoreFullError('the disk is full'));
    };
    const { endpoint } = await rig.endpoint(hook.url);
    const [event] = await rig.happen(1);
    await rig.ended.first(({ call }) => call.eventId === event?.id);
    expect(hook.calls.items).toHaveLength(1);
    const page = { limit: 10, after: null, before: null };
    const { rows } = await store.callAttempts(endpoint.id, page);
    expect(rows.map(({ ok, attempt }) => [ok, attempt])).toEqual([[true, 1]]);
    expect(rig.logLines.join('\n')).toContain('"step":"full"');
  } finally {
    await rig.stop();
    await hook.stop();
  }
});
