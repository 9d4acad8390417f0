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

test('an address that could not be reached is dialled again, although its pause is not over', async () => {
  const mx = await startReceiver();
  const rig = await startQueueRig({ delivery: { port: mx.port } });
  rig.names.set('example.com', 'MX', ['10 mx.example.com']);
  rig.names.set('mx.example.com', 'A', ['127.0.0.9']);
  const message = await rig.send(['ann@example.com']);
  const [dead] = await rig.attempted(message.id, 1);
  expect(dead?.attempts[0]).toMatchObject({ outcome: 'deferred', address: '127.0.0.9' });
  const repaired = await startReceiver({ host: '127.0.0.9', port: mx.port });
  await rig.queue.retry({ id: message.id, domain: null });
  const [done] = await rig.attempted(message.id, 2);
  expect(done?.recipient.status).toBe('delivered');
  await rig.stop();
  await repaired.stop();
  await mx.stop();
});

test('a site that asked us to slow down is asked again at once', async () => {
  const mx = await startReceiver();
  const rig = await startQueueRig({ delivery: { port: mx.port } });
  rig.names.set('example.com', 'MX', ['10 mx.example.com']);
  rig.names.set('mx.example.com', 'A', ['127.0.0.1']);
  mx.script.rcpt = () => '421 4.7.0 Too many messages, slow down';
  const message = await rig.send(['ann@example.com']);
  await rig.attempted(message.id, 1);
  expect(rig.queue.throttles()).toHaveLength(1);
  mx.script.rcpt = () => null;
  await rig.queue.retry({ id: message.id, domain: null });
  expect(rig.queue.throttles()).toEqual([]);
  const [done] = await rig.attempted(message.id, 2);
  expect(done?.recipient.status).toBe('delivered');
  await rig.stop();
  await mx.stop();
});
