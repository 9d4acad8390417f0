/** When the queue looks at the store, by which clock it marks what is due, and what it leaves to others at its end. */
import { afterEach, expect, spyOn, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Waiting } from '../../../src/flow/queue/waiting.ts';
import { StoreFullError } from '../../../src/store/store.ts';
import { GuardedAgent } from '../../../src/wire/https/guarded-agent.ts';
import { newId } from '../../rig/ids.ts';
import { startScriptedSmtp } from '../../rig/scripted-smtp.ts';
import { dueRequest } from '../../store/samples.ts';
import { openTestStore } from '../../store/test-store.ts';
import { NO_ATTEMPTS, startQueueRig } from './queue-rig.ts';
import type { QueueRig, QueueRigOptions } from './queue-rig.ts';

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).toReversed()) await step();
});

async function start(options: QueueRigOptions = {}): Promise<QueueRig> {
  const mx = await startScriptedSmtp();
  undo.push(() => mx.stop());
  const rig = await startQueueRig({ ...options, delivery: { port: mx.port } });
  undo.push(() => rig.stop());
  rig.names.set('example.com', 'MX', ['10 mx.example.com']);
  rig.names.set('mx.example.com', 'A', ['127.0.0.1']);
  return rig;
}

/** The positions from which looks have begun. */
function watchLooks(rig: QueueRig) {
  const spy = spyOn(rig.ctx.store, 'takeDue');
  undo.push(() => spy.mockRestore());
  return () => spy.mock.calls.map(([{ after }]) => after?.id ?? null);
}

const settle = async (): Promise<void> => {
  for (let round = 0; round < 20; round += 1) await new Promise((next) => setImmediate(next));
};

test('two looks are a quarter of a second apart, however soon the next recipient is due', async () => {
  const rig = await start({ isStarted: false });
  const { message } = await rig.accept(['ann@example.com'], {}, ({ recipients }) => {
    for (const one of recipients) one.nextAttemptAt = rig.clock.steady() + 1;
  });
  const looks = watchLooks(rig);
  await rig.queue.start();
  await rig.clock.advance(249);
  expect(looks()).toEqual([null]);
  await rig.clock.advance(1);
  expect(looks()).toEqual([null, null]);
  await rig.attempted(message.id, 1);
});

test('a look that fails is logged with what happens next, and is made again after five seconds', async () => {
  const rig = await start({ isStarted: false });
  const { message } = await rig.accept(['ann@example.com']);
  const failing = spyOn(rig.ctx.store, 'takeDue').mockRejectedValueOnce(new Error('no such table'));
  undo.push(() => failing.mockRestore());
  await rig.queue.start();
  await rig.clock.advance(4_999);
  expect(failing).toHaveBeenCalledTimes(1);
  expect(rig.logLines.map((line) => JSON.parse(line) as unknown)).toEqual([
    {
      time: expect.any(String),
      level: 'error',
      event: 'queue_read_failed',
      error: expect.objectContaining({ message: 'no such table' }),
      hint: 'The store could not be read; the queue looks again by itself.',
    },
  ]);
  await rig.clock.advance(1);
  const [ann] = await rig.attempted(message.id, 1);
  expect(ann?.recipient.status).toBe('delivered');
});

test('a stop ends a look that has more to read', async () => {
  const rig = await start({ isStarted: false });
  const endless = { ours: [], left: [], last: null, isEnd: false };
  const reading = spyOn(rig.ctx.store, 'takeDue').mockImplementation(async () => endless);
  undo.push(() => reading.mockRestore());
  await rig.queue.start();
  while (reading.mock.calls.length < 3) await settle();
  await rig.queue.stop();
  const pages = reading.mock.calls.length;
  await settle();
  expect(reading).toHaveBeenCalledTimes(pages);
});

test('what was turned away from full lines is looked for from the beginning once there is space', async () => {
  const rig = await start({ isStarted: false });
  const { message, recipients } = await rig.accept(['ann@example.com']);
  const looks = watchLooks(rig);
  await rig.queue.start();
  await rig.attempted(message.id, 1);
  await rig.idle();
  await rig.clock.advance(60_000);
  // A look goes on where the last one ended.
  expect(looks()).toEqual([null, recipients[0]?.id ?? '']);
  const missed = spyOn(Waiting.prototype, 'takeMissed').mockReturnValueOnce(true);
  undo.push(() => missed.mockRestore());
  rig.queue.setResting(false);
  await settle();
  expect(looks()).toEqual([null, recipients[0]?.id ?? '', null]);
});

test('while the end of an attempt cannot be written nothing else is begun', async () => {
  let isFull = true;
  const begun: string[] = [];
  const rewrites: (() => void)[] = [];
  const real = globalThis.setTimeout;
  const timers = spyOn(globalThis, 'setTimeout').mockImplementation(((
    fire: () => void,
    waitMs: number,
  ) => {
    if (waitMs !== 2_000) return real(fire, waitMs);
    rewrites.push(fire);
    return real(() => undefined, 0);
  }) as typeof setTimeout);
  undo.push(() => timers.mockRestore());
  const rig = await start({
    faults: {
      begin: (marks) => void begun.push(...marks.map(({ recipientId }) => recipientId)),
      finish() {
        if (isFull) throw new StoreFullError('the disk is full');
      },
    },
  });
  const first = await rig.send(['ann@example.com']);
  while (rewrites.length === 0) await new Promise((resolve) => setImmediate(resolve));
  const second = await rig.accept(['bob@example.com']);
  rig.queue.offerAccepted([second]);
  await settle();
  expect([begun, rig.queue.counts().inFlight]).toEqual([[], 1]);
  isFull = false;
  for (const rewrite of rewrites.splice(0)) rewrite();
  await rig.attempted(first.id, 1);
  await rig.clock.advance(2_000);
  await rig.attempted(second.message.id, 1);
  expect(begun).toEqual([second.recipients[0]?.id ?? '']);
  const lines = rig.logLines.map((line) => (JSON.parse(line) as { event: string }).event);
  expect(lines).toEqual(['queue_paused', 'attempt', 'attempt']);
});

test('content of mail that ended at its acceptance is not kept for an attempt', async () => {
  const reads: string[] = [];
  const rig = await start({ faults: { read: (id) => void reads.push(id) } });
  const made = await rig.accept(['ann@example.com']);
  const ended = Array.from({ length: 2_000 }, () => ({
    ...made,
    message: { ...made.message, id: newId(rig.clock.now()) },
    recipients: made.recipients.map((one) => ({ ...one, nextAttemptAt: null })),
  }));
  rig.queue.offerAccepted([...ended, made]);
  await rig.attempted(made.message.id, 1);
  expect(reads).toEqual([]);
});

test('marks of acceptance, and a try that an operator asks for, are due by the time that has really passed', async () => {
  const rig = await start();
  rig.clock.jump(3_600_000);
  const made = await rig.accept(['ann@example.com'], {}, (one) => rig.queue.markAhead([one]));
  expect(made.recipients[0]?.nextAttemptAt).toBe(rig.clock.steady() + 15_000);
  rig.queue.setResting(true);
  expect(await rig.queue.retry({ id: made.message.id, domain: null })).toBe(1);
  const [ann] = await rig.state(made.message.id);
  expect(ann?.recipient.nextAttemptAt).toBe(rig.clock.steady());
});

test('what is freed at a start, and at an end, has changed by the wall clock', async () => {
  const rig = await start({ isStarted: false, queue: { concurrency: NO_ATTEMPTS } });
  const { message } = await rig.accept(['ann@example.com']);
  const { ours } = await rig.ctx.store.takeDue(dueRequest('dead', rig.clock.steady()));
  expect(ours).toHaveLength(1);
  rig.clock.jump(3_600_000);
  const changedAt = async () => (await rig.state(message.id))[0]?.recipient.updatedAt;
  await rig.queue.start();
  expect(await changedAt()).toBe(rig.clock.now());
  // The look takes it.
  await rig.clock.advance(5_000);
  expect(rig.queue.counts()).toEqual({ inLines: 1, inFlight: 0 });
  await rig.queue.stop();
  expect(await changedAt()).toBe(rig.clock.now());
});

test('a queue starts, and ends, only when the store has freed what it should', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'queue-looks-'));
  undo.push(() => rmSync(dir, { recursive: true, force: true }));
  const real = await openTestStore(dir);
  const freed: (string | null)[] = [];
  const last = Promise.withResolvers<void>();
  const store = {
    ...real,
    async releaseLeases(owner: string | null): Promise<void> {
      freed.push(owner);
      if (freed.length === 1) throw new Error('away');
      if (freed.length === 3) await last.promise;
    },
  };
  const rig = await start({ isStarted: false, store });
  const marked = async (): Promise<number | undefined> => {
    const made = await rig.accept(['ann@example.com'], {}, (one) => rig.queue.markAhead([one]));
    return made.recipients[0]?.attempts;
  };
  expect(await rig.queue.start().catch(String)).toBe('Error: away');
  expect(await marked()).toBe(0);
  await rig.queue.start();
  expect(await marked()).toBe(1);
  let isStopped = false;
  const stopping = rig.queue.stop().then(() => (isStopped = true));
  while (freed.length < 3) await settle();
  await settle();
  expect([freed, isStopped]).toEqual([[null, null, expect.any(String)], false]);
  last.resolve();
  await stopping;
});

test('a stop closes the connections to hosts of policies', async () => {
  const rig = await start();
  const closed = spyOn(GuardedAgent.prototype, 'destroy');
  undo.push(() => closed.mockRestore());
  await rig.queue.stop();
  expect(closed).toHaveBeenCalledTimes(1);
});
