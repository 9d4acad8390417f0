/** Mail that was accepted before its account was paused: it is delivered, retries included (docs/decisions.md D172). */
import { afterEach, expect, test } from 'bun:test';

import { setAccountStatus } from '../../../src/flow/accounts/accounts.ts';
import { startReceiver } from '../../rig/receiver.ts';
import { startQueueRig } from './queue-rig.ts';

const ended: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0).toReversed()) await end();
});

test.each(['paused', 'payment_required'] as const)(
  'the queued mail of an account that is %s is retried and delivered, also after a restart',
  async (status) => {
    const mx = await startReceiver({ hostname: 'mx.example.com' });
    ended.push(() => mx.stop());
    const rig = await startQueueRig({ delivery: { port: mx.port } });
    ended.push(() => rig.stop());
    rig.names.set('example.com', 'MX', ['10 mx.example.com']);
    rig.names.set('mx.example.com', 'A', ['127.0.0.1']);
    mx.script.rcpt = () => '450 4.2.1 try later';
    const message = await rig.send(['ann@example.com']);
    await rig.attempted(message.id, 1);

    await setAccountStatus(rig.ctx, message.accountId, status, 'Too many bounces.');
    await rig.restart();
    mx.script.rcpt = () => null;
    await rig.queue.retry({ id: message.id, domain: null });
    const [settled] = await rig.attempted(message.id, 2);
    expect(settled?.recipient.status).toBe('delivered');
    expect(mx.messages.items).toHaveLength(1);
  },
);
