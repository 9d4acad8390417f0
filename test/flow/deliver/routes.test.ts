/** Which route a domain takes, what a 250 of its host means, and how long a domain without a host is believed to be so. */
import { afterEach, expect, test } from 'bun:test';

import { testAuthority } from '../../rig/certificates.ts';
import { startReceiver } from '../../rig/receiver.ts';
import { startQueueRig } from '../queue/queue-rig.ts';
import type { QueueRig, QueueRigOptions } from '../queue/queue-rig.ts';
import { startRelay } from './relay-rig.ts';

const LOGIN = { username: 'postrider', password: 'secret' };

const ended: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0).toReversed()) await end();
});

async function rigWith(options: QueueRigOptions): Promise<QueueRig> {
  const rig = await startQueueRig(options);
  ended.push(() => rig.stop());
  return rig;
}

async function statusOf(rig: QueueRig, to: string): Promise<string | undefined> {
  const message = await rig.send([to]);
  const [settled] = await rig.attempted(message.id, 1);
  return settled?.recipient.status;
}

test('a pattern means the names below its domain: not that domain, nor one that ends alike', async () => {
  const mx = await startReceiver();
  ended.push(() => mx.stop());
  const target = { host: '127.0.0.1', port: mx.port, username: '', password: '' };
  const routes = [{ domains: ['*.corp.example'], target: { ...target, tls: 'none' as const } }];
  // Without a route there is nowhere to go.
  const rig = await rigWith({ delivery: { routes, port: mx.port } });
  expect(await statusOf(rig, 'ann@eu.corp.example')).toBe('delivered');
  expect(await statusOf(rig, 'ann@a.b.corp.example')).toBe('delivered');
  expect(await statusOf(rig, 'ann@corp.example')).toBe('failed');
  expect(await statusOf(rig, 'ann@notcorp.example')).toBe('failed');
});

test('a host that asks for a login takes mail for others: its 250 is sent, not delivered', async () => {
  const relay = await startRelay(LOGIN);
  ended.push(() => relay.stop());
  const target = { host: 'relay.example', port: relay.port, ...LOGIN, tls: 'required' as const };
  const routes = [{ domains: ['example.com'], target }];
  const rig = await rigWith({ delivery: { routes }, extraCaFile: testAuthority().certFile });
  rig.names.set('relay.example', 'A', ['127.0.0.1']);
  expect(await statusOf(rig, 'ann@example.com')).toBe('sent');
  expect(relay.messages.items).toHaveLength(1);
});

test('a domain whose DNS failed a moment ago is tried for the next message, not after a minute', async () => {
  const mx = await startReceiver();
  ended.push(() => mx.stop());
  const rig = await rigWith({ delivery: { port: mx.port } });
  rig.names.fail('example.com', 'servfail');
  expect(await statusOf(rig, 'ann@example.com')).toBe('delivery_delayed');
  rig.names.fail('example.com', null);
  rig.names.set('example.com', 'MX', ['10 mx.example.com']);
  rig.names.set('mx.example.com', 'A', ['127.0.0.1']);
  await rig.clock.advance(30_000);
  expect(await statusOf(rig, 'bob@example.com')).toBe('delivered');
});
