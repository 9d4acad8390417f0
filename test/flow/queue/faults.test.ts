/**
 * What the queue does when the store fails: a full disk pauses it, any other fault harms one recipient's attempt only.
 * Nothing is lost, nothing spins.
 */
import { afterEach, expect, test } from 'bun:test';

import { StoreFullError } from '../../../src/store/store.ts';
import { Arrivals } from '../../rig/arrivals.ts';
import { startReceiver } from '../../rig/receiver.ts';
import type { Receiver } from '../../rig/receiver.ts';
import { startQueueRig } from './queue-rig.ts';
import type { QueueRig, QueueRigOptions } from './queue-rig.ts';

const MINUTE = 60_000;

const undo: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).toReversed()) await step();
});

async function start(options: QueueRigOptions): Promise<{ rig: QueueRig; mx: Receiver }> {
  const mx = await startReceiver({ hostname: 'mx.example.com' });
  undo.push(() => mx.stop());
  const rig = await startQueueRig({ ...options, delivery: { port: mx.port } });
  undo.push(() => rig.stop());
  rig.names.set('example.com', 'MX', ['10 mx.example.com']);
  rig.names.set('mx.example.com', 'A', ['127.0.0.1']);
  return { rig, mx };
}

/** The names of the log's lines, in order, without those of ordinary work. */
function eventsOf(rig: QueueRig): string[] {
  return rig.logLines
    .map((line) => (JSON.parse(line) as { event: string }).event)
    .filter((event) => event !== 'attempt');
}

test('an end that the store does not accept stops no other message, and the recipient is tried again', async () => {
  let faulty = '';
  const { rig, mx } = await start({
    faults: {
      finish(end) {
        if (end.messageId !== faulty || end.attempt === null) return;
        faulty = '';
        throw new Error('a constraint failed');
      },
    },
  });
  const made = await rig.accept(['ann@example.com']);
  faulty = made.message.id;
  rig.queue.offerAccepted([made]);
  await mx.messages.first(({ to }) => to[0] === 'ann@example.com');
  await rig.idle();
  expect(eventsOf(rig)).toEqual(['attempt_failed']);
  expect(rig.logLines.join()).toContain('a constraint failed');
  const [put] = await rig.state(made.message.id);
  expect(put?.recipient).toMatchObject({ status: 'queued', attempts: 1 });
  expect(put?.recipient.nextAttemptAt).toBe(rig.clock.now() + MINUTE);

  // The clock stands still: a pause of the queue would not end.
  const other = await rig.send(['bob@example.com']);
  const [bob] = await rig.attempted(other.id, 1);
  expect(bob?.recipient.status).toBe('delivered');

  await rig.clock.advance(MINUTE + 300);
  const [ann] = await rig.attempted(made.message.id, 1);
  expect(ann?.recipient).toMatchObject({ status: 'delivered', attempts: 2 });
});

test('a fault before the dialogue keeps neither the lane nor the recipient', async () => {
  const asked = new Arrivals<number>('questions about suppressions');
  const { rig, mx } = await start({
    isStarted: false,
    faults: {
      suppressed() {
        asked.push(asked.items.length);
        if (asked.items.length <= 25) throw new Error('no such table');
      },
    },
  });
  // Waited before: the queue asks the store whether they were suppressed meanwhile.
  const made = await rig.accept(Array.from({ length: 25 }, (_, at) => `r${at}@example.com`));
  await rig.clock.advance(2 * MINUTE);
  await rig.queue.start();
  await asked.atLeast(25);
  await rig.idle();
  expect(mx.messages.items).toHaveLength(0);
  // More than the claims of one lane have failed: had they kept them, nothing could be claimed any more.
  await rig.clock.advance(MINUTE + 300);
  const settled = await rig.attempted(made.message.id, 25);
  expect(settled.map(({ recipient }) => recipient.status)).toEqual(Array(25).fill('delivered'));
});

test('a claim that fails is made again after a pause, without a loop and without loss', async () => {
  const claims = new Arrivals<number>('claims');
  const { rig } = await start({
    isStarted: false,
    faults: {
      begin() {
        claims.push(claims.items.length);
        if (claims.items.length <= 2) throw new Error('a bug of ours');
      },
    },
  });
  const made = await rig.accept(['ann@example.com']);
  await rig.queue.start();
  for (const failed of [1, 2]) {
    await claims.atLeast(failed);
    await rig.clock.advance(4_700);
    expect(claims.items).toHaveLength(failed);
    await rig.clock.advance(400);
  }
  const [ann] = await rig.attempted(made.message.id, 1);
  expect(ann?.recipient).toMatchObject({ status: 'delivered', attempts: 1 });
  expect(claims.items).toHaveLength(3);
  expect(eventsOf(rig)).toEqual(['claim_failed', 'claim_failed']);
});

test('claims that fail give their lane back, however many they were', async () => {
  const claims = new Arrivals<number>('claims');
  let isFailing = true;
  const { rig } = await start({
    isStarted: false,
    faults: {
      begin() {
        claims.push(claims.items.length);
        if (isFailing) throw new Error('a bug of ours');
      },
    },
  });
  const to = Array.from({ length: 25 }, (_, at) => `r${at}@example.com`);
  const made = await rig.accept(to);
  await rig.queue.start();
  for (let failed = 1; failed <= 3; failed += 1) {
    await claims.atLeast(failed);
    if (failed === 3) isFailing = false;
    await rig.clock.advance(5_100);
  }
  const settled = await rig.attempted(made.message.id, to.length);
  expect(settled.map(({ recipient }) => recipient.status)).toEqual(to.map(() => 'delivered'));
});

test('a full disk pauses the queue, and what a receiver has taken is written when there is space', async () => {
  let isFull = false;
  const { rig, mx } = await start({
    faults: {
      finish() {
        if (isFull) throw new StoreFullError('the disk is full');
      },
      begin() {
        if (isFull) throw new StoreFullError('the disk is full');
      },
    },
  });
  isFull = true;
  const first = await rig.send(['ann@example.com']);
  await mx.messages.first(({ to }) => to[0] === 'ann@example.com');
  const made = await rig.accept(['bob@example.com']);
  rig.queue.offerAccepted([made]);
  await rig.clock.advance(10_000);
  expect(mx.messages.items).toHaveLength(1);
  isFull = false;
  const [ann] = await rig.attempted(first.id, 1);
  expect(ann?.recipient).toMatchObject({ status: 'delivered', attempts: 1 });
  await rig.clock.advance(3_000);
  const [bob] = await rig.attempted(made.message.id, 1);
  expect(bob?.recipient).toMatchObject({ status: 'delivered', attempts: 1 });
  expect(mx.messages.items.map(({ to }) => to[0])).toEqual(['ann@example.com', 'bob@example.com']);
  expect(new Set(eventsOf(rig))).toEqual(new Set(['queue_paused']));
});

test('a queue that cannot put back what it never attempted still ends, and says so', async () => {
  let isStopping = false;
  const { rig } = await start({
    faults: {
      finish() {
        if (isStopping) throw new Error('a bug of ours');
      },
    },
  });
  const message = await rig.send(['ann@example.com']);
  // Before the queue picks it: that happens in a later round of the event loop.
  rig.queue.setResting(true);
  isStopping = true;
  await rig.restart();
  isStopping = false;
  expect(eventsOf(rig)).toEqual(['recipient_not_put_back']);
  // Its acceptance marked it as begun: it is due again when that mark runs out.
  await rig.clock.advance(16_000);
  const [ann] = await rig.attempted(message.id, 1);
  expect(ann?.recipient.status).toBe('delivered');
});
