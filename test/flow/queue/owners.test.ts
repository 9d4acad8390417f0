/** Two queues on one store, and what a process left that wrote no owners: each recipient is mailed once. */
import { afterEach, expect, test } from 'bun:test';

import { Queue } from '../../../src/flow/queue/queue.ts';
import { PRODUCTION_DEADLINES } from '../../../src/wire/smtp/deadlines.ts';
import { dueRequest } from '../../store/samples.ts';
import { startReceiver } from '../../rig/receiver.ts';
import type { Receiver } from '../../rig/receiver.ts';
import { startQueueRig } from './queue-rig.ts';
import type { QueueRig } from './queue-rig.ts';

const ended: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0).toReversed()) await end();
});

const CRASH_WAIT_MS = 15_000;

async function start(): Promise<{ rig: QueueRig; mx: Receiver }> {
  const mx = await startReceiver({ hostname: 'mx.example.com' });
  ended.push(() => mx.stop());
  const rig = await startQueueRig({ isStarted: false, delivery: { port: mx.port } });
  ended.push(() => rig.stop());
  rig.names.set('mx.example.com', 'A', ['127.0.0.1']);
  for (const domain of ['a.example', 'b.example']) {
    rig.names.set(domain, 'MX', ['10 mx.example.com']);
  }
  return { rig, mx };
}

/** Resolves when nothing of the message is open any more. */
async function over(rig: QueueRig, messageId: string): Promise<void> {
  const isOpen = async (): Promise<boolean> =>
    (await rig.ctx.store.recipients(messageId)).some((r) => r.nextAttemptAt !== null);
  while (await isOpen()) await new Promise((resolve) => setTimeout(resolve, 10));
}

test('of two queues that look at the same due mail each mails its own, and none twice', async () => {
  const { rig, mx } = await start();
  const to = Array.from({ length: 400 }, (_, at) => `r${at}@${at % 2 === 0 ? 'a' : 'b'}.example`);
  const { message, recipients } = await rig.accept(to);
  const options = { captureAt: null, deadlines: PRODUCTION_DEADLINES, random: () => 0.5 };
  const other = new Queue(rig.ctx, { offer: () => undefined }, options);
  ended.push(() => other.stop());
  // The second start frees what the first has taken: both have it in memory, and the claim decides.
  await Promise.all([rig.queue.start(), other.start()]);
  await over(rig, message.id);
  expect(mx.messages.items.flatMap((mail) => mail.to).toSorted()).toEqual(to.toSorted());
  const attempts = await rig.ctx.store.attempts(message.id);
  expect(attempts.map((attempt) => [attempt.number, attempt.outcome])).toEqual(
    recipients.map(() => [1, 'delivered']),
  );
  expect(rig.logLines.filter((line) => line.includes('overtaken'))).toEqual([]);
}, 60_000);

test('what an earlier version marked ahead, without an owner, is mailed when the mark has run out', async () => {
  const { rig, mx } = await start();
  const { message } = await rig.accept(['ann@a.example'], {}, ({ recipients }) => {
    for (const recipient of recipients) {
      recipient.attempts = 1;
      recipient.nextAttemptAt = rig.clock.steady() + CRASH_WAIT_MS;
    }
  });
  await rig.queue.start();
  await rig.clock.advance(CRASH_WAIT_MS - 1_000);
  expect(mx.connections()).toBe(0);
  await rig.clock.advance(2_000);
  await over(rig, message.id);
  expect(mx.messages.items).toHaveLength(1);
});

test('what a dead process owned is due for the next from its start on', async () => {
  const { rig, mx } = await start();
  const { message, recipients } = await rig.accept(['ann@a.example', 'bob@b.example']);
  const { store } = rig.ctx;
  const request = dueRequest('dead', rig.clock.steady());
  expect((await store.takeDue(request)).ours).toHaveLength(recipients.length);
  await rig.queue.start();
  await over(rig, message.id);
  expect(mx.messages.items).toHaveLength(2);
});

test('what acceptance marked ahead is the queue’s from that commit on, until the queue ends', async () => {
  const { rig } = await start();
  await rig.queue.start();
  const { recipients } = await rig.accept(['ann@a.example'], {}, (made) => {
    rig.queue.markAhead([made]);
  });
  const { store } = rig.ctx;
  const later = dueRequest('another', rig.clock.steady() + CRASH_WAIT_MS + 1_000);
  expect((await store.takeDue(later)).ours).toEqual([]);
  await rig.queue.stop();
  expect((await store.takeDue(later)).ours.map(({ id }) => id)).toEqual(
    recipients.map(({ id }) => id),
  );
});
