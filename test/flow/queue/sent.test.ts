/** `sent` and its event, and who may take over, while a first attempt is in the hands of a receiver that does not answer. */
import { afterEach, describe, expect, spyOn, test } from 'bun:test';

import { Lane } from '../../../src/flow/pacing/lane.ts';
import { startQueueRig } from './queue-rig.ts';
import type { QueueRig, QueueRigOptions } from './queue-rig.ts';
import { newEndpoint, newEvent } from '../../store/samples.ts';
import { startScriptedSmtp } from '../../rig/scripted-smtp.ts';
import type { ScriptedSmtp } from '../../rig/scripted-smtp.ts';

const ended: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0).toReversed()) await end();
});

/** By now an attempt that began before has been recorded as sent. */
const TWO_ROUNDS_MS = 500;
const MINUTE = 60_000;

interface Hanging {
  rig: QueueRig;
  mx: ScriptedSmtp;
  /** Resolves when MAIL has come `count` times; no reply was given. */
  mailed: (count: number) => Promise<void>;
  /** Replies to the MAIL that waits. */
  answer: (reply: string) => void;
}

/** A receiver that greets and never answers MAIL by itself. */
async function start(options: QueueRigOptions = {}): Promise<Hanging> {
  const mx = await startScriptedSmtp({
    reply: (line) => (line.startsWith('MAIL') ? null : undefined),
  });
  const rig = await startQueueRig({ ...options, delivery: { port: mx.port } });
  // The receiver ends first: what hangs at it would hold up the queue's end.
  ended.push(
    () => rig.stop(),
    () => mx.stop(),
  );
  for (const domain of ['example.com', 'example.net']) {
    rig.names.set(domain, 'MX', [`10 mx.${domain}`]);
    rig.names.set(`mx.${domain}`, 'A', ['127.0.0.1']);
  }
  const mails = (): number => mx.lines.filter((line) => line.startsWith('MAIL')).length;
  return {
    rig,
    mx,
    async mailed(count) {
      while (mails() < count) await new Promise((resolve) => setTimeout(resolve, 5));
    },
    answer: (reply) => mx.say(`${reply}\r\n`),
  };
}

/** Resolves when the message has this status. */
async function until(rig: QueueRig, messageId: string, status: string): Promise<void> {
  while ((await rig.ctx.store.messageById(messageId))?.status !== status) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const typesOf = (events: { type: string }[]): string[] => events.map((event) => event.type);

describe('a first attempt that hangs', () => {
  test('shows `sent`, with its event and the event’s webhook call, before it ends', async () => {
    const { rig, mailed, answer } = await start();
    const accountId = (await rig.ctx.store.accounts())[0]?.id ?? '';
    rig.ctx.subscribers.note(accountId);
    await rig.ctx.store.createEndpoint(newEndpoint(accountId), 10);
    const message = await rig.send(['ann@example.com']);
    const beganAt = rig.clock.now();
    await mailed(1);
    expect((await rig.ctx.store.messageById(message.id))?.status).toBe('queued');
    await rig.clock.advance(TWO_ROUNDS_MS);
    await until(rig, message.id, 'sent');
    const [open] = await rig.state(message.id);
    expect(open?.recipient).toMatchObject({ status: 'sent', attempts: 1 });
    expect(open?.recipient.nextAttemptAt).not.toBeNull();
    expect(open?.attempts).toEqual([]);
    expect(open?.events).toMatchObject([{ type: 'email.sent', occurredAt: beganAt }]);
    // They are handed over when the commit is reported, which is a moment after it can be read.
    while (rig.calls.length === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(rig.calls).toHaveLength(1);

    answer('451 4.3.0 not now');
    const [deferred] = await rig.attempted(message.id, 1);
    expect(deferred?.recipient.status).toBe('delivery_delayed');
    expect(typesOf(deferred?.events ?? [])).toEqual(['email.sent', 'email.delivery_delayed']);
    // The second attempt hangs too: no second `email.sent`, and the status says what happened last.
    await rig.clock.advance(MINUTE + 300);
    await mailed(2);
    await rig.clock.advance(TWO_ROUNDS_MS);
    answer('550 5.7.1 no');
    const [bounced] = await rig.attempted(message.id, 2);
    expect(typesOf(bounced?.events ?? [])).toEqual([
      'email.sent',
      'email.delivery_delayed',
      'email.bounced',
    ]);
    expect(rig.calls).toHaveLength(3);
  });

  test('and that another queue has taken over changes nothing when it ends, and is logged', async () => {
    const { rig, mailed, answer } = await start();
    const message = await rig.send(['ann@example.com']);
    await mailed(1);
    const { store } = rig.ctx;
    const id = (await store.recipients(message.id))[0]?.id ?? '';
    // As when this process was taken for dead: what it has is freed, and another begins it.
    const now = rig.clock.now() + MINUTE;
    await store.releaseLeases(null, now);
    const claim = { owner: 'another', leaseUntil: now + MINUTE, nextAttemptAt: now + MINUTE };
    const [taken] = await store.begin([{ recipientId: id, ...claim }], now);
    answer('550 5.1.1 who?');
    const overtaken = (): string[] =>
      rig.logLines.filter((line) => line.includes('attempt_overtaken'));
    while (overtaken().length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await rig.idle();
    expect(JSON.parse(overtaken().join())).toMatchObject({
      level: 'warn',
      recipient_id: id,
      message_id: message.id,
      outcome: 'failed',
    });
    const [left] = await rig.state(message.id);
    expect([left?.recipient, left?.attempts, left?.events]).toEqual([taken, [], []]);
    expect(await store.suppressed(message.accountId, ['ann@example.com'])).toEqual(new Map());
    expect(rig.logLines.filter((line) => line.includes('"event":"attempt"'))).toEqual([]);
  });

  test('and is cut off by a crash has no second `email.sent` afterwards', async () => {
    const { rig, mx, mailed } = await start({ isStarted: false });
    const made = await rig.accept(['ann@example.com']);
    const id = made.recipients[0]?.id ?? '';
    // What the dead process left: the mark of the attempt, `sent`, and nothing of its end.
    const now = rig.clock.now();
    const claim = { owner: 'dead', leaseUntil: now + 60 * MINUTE, nextAttemptAt: now + 15_000 };
    await rig.ctx.store.begin([{ recipientId: id, ...claim }], now);
    const event = newEvent(made.message, id, 'email.sent');
    const { id: messageId, accountId } = made.message;
    await rig.ctx.store.noteSent([{ recipientId: id, messageId, accountId, now, event }]);
    await rig.queue.start();
    await rig.clock.advance(16_000);
    await mailed(1);
    await rig.clock.advance(TWO_ROUNDS_MS);
    mx.say('550 5.1.1 gone\r\n');
    const [settled] = await rig.attempted(made.message.id, 1);
    expect(settled?.recipient).toMatchObject({ status: 'bounced', attempts: 2 });
    // Sorted: the ids of this one's events come from two clocks.
    const types = typesOf(settled?.events ?? []).toSorted();
    expect(types).toEqual(['email.bounced', 'email.sent']);
  });

  test('and ends while `sent` is being written has its outcome after that, and one `email.sent`', async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const writing = Promise.withResolvers<void>();
    const { rig, mailed, answer } = await start({
      faults: {
        async noteSent() {
          writing.resolve();
          await released;
        },
      },
    });
    const message = await rig.send(['ann@example.com']);
    await mailed(1);
    await rig.clock.advance(TWO_ROUNDS_MS);
    await writing.promise;
    answer('451 4.3.0 not now');
    // Far longer than the outcome takes to be written where nothing holds it up.
    for (let reads = 0; reads < 100; reads += 1) {
      expect((await rig.state(message.id))[0]?.attempts).toEqual([]);
    }
    release();
    const [deferred] = await rig.attempted(message.id, 1);
    expect(deferred?.recipient.status).toBe('delivery_delayed');
    expect(typesOf(deferred?.events ?? [])).toEqual(['email.sent', 'email.delivery_delayed']);
  });

  test('and fails by a fault of ours while `sent` is being written is put back after that, as sent', async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const writing = Promise.withResolvers<void>();
    const put: (string | undefined)[] = [];
    const { rig, mailed, answer } = await start({
      faults: {
        async noteSent() {
          writing.resolve();
          await released;
        },
        finish: ({ status }) => put.push(status),
      },
    });
    const message = await rig.send(['ann@example.com']);
    await mailed(1);
    await rig.clock.advance(TWO_ROUNDS_MS);
    await writing.promise;
    const fault = spyOn(Lane.prototype, 'noteAnswer').mockImplementationOnce(() => {
      throw new Error('a bug of ours');
    });
    answer('451 4.3.0 not now');
    while (fault.mock.calls.length === 0) await new Promise((resolve) => setImmediate(resolve));
    for (let reads = 0; reads < 100; reads += 1) await rig.state(message.id);
    expect(put).toEqual([]);
    release();
    await rig.idle();
    fault.mockRestore();
    const [ann] = await rig.state(message.id);
    expect(ann?.recipient).toMatchObject({ status: 'sent', attempts: 1 });
    expect([put, ann?.attempts, typesOf(ann?.events ?? [])]).toEqual([
      ['sent'],
      [],
      ['email.sent'],
    ]);
  });

  test('is recorded with its outcome when the store could not write it', async () => {
    const { rig, mailed, answer } = await start({
      faults: {
        noteSent: () => {
          throw new Error('the writer is out of order');
        },
      },
    });
    const message = await rig.send(['ann@example.com']);
    await mailed(1);
    await rig.clock.advance(TWO_ROUNDS_MS);
    answer('550 5.1.1 gone');
    const [settled] = await rig.attempted(message.id, 1);
    expect(typesOf(settled?.events ?? [])).toEqual(['email.sent', 'email.bounced']);
    expect(rig.logLines.join('\n')).toContain('sent_not_recorded');
  });

  test('costs one commit together with the others of its time', async () => {
    const sizes: number[] = [];
    const { rig, mailed } = await start({ faults: { noteSent: (all) => sizes.push(all.length) } });
    const sent = [
      await rig.send(['a@example.com', 'b@example.com']),
      await rig.send(['c@example.net']),
    ];
    await mailed(3);
    await rig.clock.advance(TWO_ROUNDS_MS);
    for (const message of sent) await until(rig, message.id, 'sent');
    expect(sizes).toEqual([3]);
  });
});

test('an attempt that ends at once is recorded once, with its outcome', async () => {
  const sizes: number[] = [];
  const mx = await startScriptedSmtp();
  ended.push(() => mx.stop());
  const rig = await startQueueRig({
    delivery: { port: mx.port },
    faults: { noteSent: (all) => sizes.push(all.length) },
  });
  ended.push(() => rig.stop());
  rig.names.set('example.com', 'MX', ['10 mx.example.com']);
  rig.names.set('mx.example.com', 'A', ['127.0.0.1']);
  const message = await rig.send(['ann@example.com']);
  const [settled] = await rig.attempted(message.id, 1);
  await rig.clock.advance(TWO_ROUNDS_MS);
  expect(typesOf(settled?.events ?? [])).toEqual(['email.sent', 'email.delivered']);
  expect(sizes).toEqual([]);
});

test('what is put off because its site asked for a pause does not show `sent`', async () => {
  const { rig, mailed, answer } = await start();
  const first = await rig.send(['ann@example.com']);
  await mailed(1);
  answer('421 4.7.0 too many messages, slow down');
  await rig.attempted(first.id, 1);
  const second = await rig.send(['bob@example.com']);
  const [putOff] = await rig.attempted(second.id, 1);
  await rig.clock.advance(TWO_ROUNDS_MS);
  expect(putOff?.attempts[0]).toMatchObject({ stage: 'throttled' });
  const [still] = await rig.state(second.id);
  expect(still?.recipient.status).toBe('delivery_delayed');
  expect(typesOf(still?.events ?? [])).toEqual(['email.delivery_delayed']);
});
