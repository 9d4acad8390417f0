/** Recipients that were claimed and are put off without an attempt: by a site that slows us down, and by a stop. */
import { afterEach, expect, test } from 'bun:test';

import { addSuppression } from '../../../src/flow/suppressions/suppressions.ts';
import { Arrivals } from '../../rig/arrivals.ts';
import { dueRequest } from '../../store/samples.ts';
import { startReceiver } from '../../rig/receiver.ts';
import type { Receiver } from '../../rig/receiver.ts';
import { startQueueRig } from './queue-rig.ts';
import type { QueueRig } from './queue-rig.ts';

/** What one lane claims at once. */
const CLAIMS = 20;
/** The sessions that a new lane begins with. */
const SESSIONS = 5;

let mx: Receiver;
let rig: QueueRig;
afterEach(async () => {
  await rig.stop();
  await mx.stop();
});

async function start(): Promise<void> {
  mx = await startReceiver({ hostname: 'mx.example.com' });
  rig = await startQueueRig({ delivery: { port: mx.port } });
  rig.names.set('example.com', 'MX', ['10 mx.example.com']);
  rig.names.set('mx.example.com', 'A', ['127.0.0.1']);
}

const to = Array.from({ length: CLAIMS }, (_, at) => `r${at}@example.com`);

test('those that wait for a session when the site slows us down are deferred without being dialled', async () => {
  await start();
  mx.script.rcpt = () => '421 4.7.0 Too many messages, slow down';
  const message = await rig.send(to);
  const settled = await rig.attempted(message.id, CLAIMS);
  const stages = settled.map(({ attempts }) => attempts[0]?.stage);
  expect(mx.connections()).toBeLessThanOrEqual(SESSIONS);
  expect(stages.filter((stage) => stage === 'rcpt')).toHaveLength(mx.connections());
  expect(new Set(stages)).toEqual(new Set(['rcpt', 'throttled']));
  for (const { recipient, attempts } of settled) {
    expect([recipient.status, attempts.length]).toEqual(['delivery_delayed', 1]);
  }
});

test('those that wait for a session when the queue stops are due at once for the next process', async () => {
  await start();
  const asked = new Arrivals<string>('RCPT commands');
  mx.script.rcpt = (address) => {
    asked.push(address);
    return 'stall';
  };
  const message = await rig.send(to);
  await asked.atLeast(SESSIONS);
  const stopping = rig.queue.stop();
  // The receiver goes: the sessions end, and those that waited for them find the queue stopped.
  await mx.stop();
  await stopping;
  const settled = await rig.state(message.id);
  const untried = settled.filter(({ attempts }) => attempts.length === 0);
  expect(untried).toHaveLength(CLAIMS - asked.items.length);
  for (const { recipient, events } of untried) {
    expect(recipient).toMatchObject({
      status: 'queued',
      attempts: 0,
      nextAttemptAt: rig.clock.now(),
    });
    expect(events).toEqual([]);
  }
  const { ours } = await rig.ctx.store.takeDue(dueRequest('next', rig.clock.now()));
  expect(ours).toHaveLength(untried.length);
});

test('those that were suppressed while they waited end without being dialled, and give back what they had of their lane', async () => {
  await start();
  // More than a lane that has answered often claims at once: the last one waits for what the others give back.
  const all = Array.from({ length: 41 }, (_, at) => `r${at}@example.com`);
  mx.script.rcpt = () => '451 4.3.0 later';
  const message = await rig.send(all);
  await rig.attempted(message.id, all.length);
  await rig.idle();
  mx.script.rcpt = () => null;
  const heard: unknown[] = [];
  rig.ctx.followers.follow(({ type, recipientId }) => heard.push(`${type} ${recipientId}`));
  for (const email of all.slice(0, -1)) {
    await addSuppression(rig.ctx, message.accountId, { email, reason: 'complaint' });
  }
  await rig.clock.advance(61_000);
  await rig.attempted(message.id, all.length + 1);
  await rig.idle();
  const settled = await rig.state(message.id);
  const last = settled.pop();
  expect(last?.recipient).toMatchObject({ address: all.at(-1), status: 'delivered' });
  expect(mx.messages.items.map((mail) => mail.to)).toEqual([[all.at(-1) ?? '']]);
  for (const { recipient, attempts, events } of settled) {
    expect(recipient).toMatchObject({
      status: 'suppressed',
      nextAttemptAt: null,
      lastReason: 'The recipient is suppressed (complaint).',
    });
    expect(attempts).toHaveLength(1);
    expect(events.map(({ type }) => type)).toEqual([
      'email.sent',
      'email.delivery_delayed',
      'email.suppressed',
    ]);
    expect(heard).toContain(`email.suppressed ${recipient.id}`);
  }
});
