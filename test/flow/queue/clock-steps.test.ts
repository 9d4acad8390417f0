/** A wall clock that steps back during an attempt, and forth again: what was put off meanwhile is not overlooked. */
import { expect, test } from 'bun:test';

import { startReceiver } from '../../rig/receiver.ts';
import { startQueueRig } from './queue-rig.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

test('a recipient put off to a time before the last look is tried again within a minute or so', async () => {
  const mx = await startReceiver();
  const rig = await startQueueRig({ delivery: { port: mx.port } });
  rig.names.set('example.com', 'MX', ['10 mx.example.com']);
  rig.names.set('mx.example.com', 'A', ['127.0.0.1']);
  // The first one makes the queue look, and what it has seen lies at the present time.
  const first = await rig.send(['first@example.com']);
  await rig.attempted(first.id, 1);
  await rig.clock.advance(2 * MINUTE);
  let steps = 0;
  mx.script.rcpt = () => {
    if (steps > 0) return null;
    steps += 1;
    rig.clock.jump(-HOUR);
    return '451 4.3.0 later';
  };
  const { message } = await rig.accept(['ann@example.com']);
  await rig.queue.retry({ id: null, domain: null });
  const [put] = await rig.attempted(message.id, 1);
  const nextAt = put?.recipient.nextAttemptAt ?? 0;
  expect(nextAt).toBeLessThan(rig.clock.now() + HOUR);
  rig.clock.jump(HOUR);
  await rig.clock.advance(2 * MINUTE);
  const [done] = await rig.attempted(message.id, 2);
  expect(done?.recipient.status).toBe('delivered');
  await rig.stop();
  await mx.stop();
});
