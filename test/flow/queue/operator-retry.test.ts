/** An operator who has repaired a destination and asks for another try: nothing known of before is in the way. */
import { expect, test } from 'bun:test';

import { startReceiver } from '../../rig/receiver.ts';
import { startQueueRig } from './queue-rig.ts';

test('the host of a domain is looked up anew, although it was found a moment ago', async () => {
  const mx = await startReceiver();
  const rig = await startQueueRig({ delivery: { port: mx.port } });
  // Records of a second: what keeps them for longer is the queue.
  rig.names.set('example.com', 'MX', ['10 mx.example.com'], 1);
  rig.names.set('mx.example.com', 'A', ['127.0.0.9'], 1);
  const message = await rig.send(['ann@example.com']);
  const [dead] = await rig.attempted(message.id, 1);
  expect(dead?.attempts[0]).toMatchObject({ outcome: 'deferred', address: '127.0.0.9' });
  await rig.clock.advance(2_000);
  rig.names.set('mx.example.com', 'A', ['127.0.0.1'], 1);
  expect(await rig.queue.retry({ id: null, domain: 'example.com' })).toBe(1);
  const [done] = await rig.attempted(message.id, 2);
  expect(done?.recipient.status).toBe('delivered');
  await rig.stop();
  await mx.stop();
});
