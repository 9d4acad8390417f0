/** How long the row of an endpoint is used for its calls: what a burst costs the store, and when a change is seen. */
import { afterEach, expect, spyOn, test } from 'bun:test';

import { CallPoster, RECEIPT_TIMEOUT_MS } from '../../../src/flow/webhooks/post.ts';
import { endpointLabel } from '../../../src/flow/seal-labels.ts';
import type { Endpoint } from '../../../src/store/rows.ts';
import { found, startWebhookRig } from './webhook-rig.ts';

const ended: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0).toReversed()) await end();
});

/** A poster whose endpoints are all there but for `gone`, at a name that the guard refuses without a connection. */
async function start(gone: Partial<Endpoint> | null = null) {
  let address = '8.8.8.8';
  const rig = await startWebhookRig({ a: () => found(address), isStarted: false });
  const { endpoint } = await rig.endpoint('https://hook.example/');
  address = '10.0.0.1';
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
  const read: string[] = [];
  const { ctx } = rig;
  const endpointById = async (id: string): Promise<Endpoint | null> => {
    read.push(id);
    const row = { ...endpoint, id, sealedSecret: ctx.secrets.seal(secret, endpointLabel(id)) };
    if (id !== 'gone') return row;
    return gone === null ? null : { ...row, ...gone };
  };
  const watched = { ...ctx, store: { ...ctx.store, endpointById } };
  const poster = new CallPoster(watched, RECEIPT_TIMEOUT_MS);
  let now = 5_000;
  const clock = spyOn(performance, 'now').mockImplementation(() => now);
  ended.push(
    () => rig.stop(),
    () => poster.close(),
    () => clock.mockRestore(),
  );
  return {
    poster,
    read,
    pass: (ms: number) => (now += ms),
    post: (id: string) => poster.post(id, 'call', '{}'),
  };
}

test('for a second, for each endpoint, and no longer than until it is changed', async () => {
  const { poster, read, pass, post } = await start();
  await post('a');
  await post('b');
  pass(999);
  await post('a');
  await post('b');
  expect(read).toEqual(['a', 'b']);
  pass(1);
  await post('a');
  expect(read).toEqual(['a', 'b', 'a']);
  poster.forget('a');
  await post('a');
  expect(read).toEqual(['a', 'b', 'a', 'a']);
});

test('of a thousand endpoints at most', async () => {
  const { read, post } = await start();
  for (let number = 0; number < 1_000; number += 1) await post(String(number));
  await post('0');
  expect(read).toHaveLength(1_000);
  await post('one more');
  await post('0');
  expect(read.slice(1_000)).toEqual(['one more', '0']);
});

test.each([
  ['that is not there', null],
  ['that was removed', { deletedAt: 1 }],
])('one %s is posted nothing, and is looked for again', async (_, row) => {
  const { read, post } = await start(row);
  const end = { kind: 'failed' as const, reason: 'the endpoint is gone', durationMs: 0 };
  expect(await post('gone')).toEqual({ ...end, isRefused: false, isLocal: false });
  await post('gone');
  expect(read).toEqual(['gone', 'gone']);
});
