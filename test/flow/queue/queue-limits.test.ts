/** The queue's own figures: marks and leases, what acceptance marks ahead, the words for a store that fails, and its end. */
import { afterEach, expect, spyOn, test } from 'bun:test';

import type { BeginAttempt } from '../../../src/store/journey.ts';
import { StoreAwayError, StoreFullError } from '../../../src/store/store.ts';
import { startScriptedSmtp } from '../../rig/scripted-smtp.ts';
import type { ScriptedOptions } from '../../rig/scripted-smtp.ts';
import { NO_ATTEMPTS, startQueueRig } from './queue-rig.ts';
import type { QueueRigOptions } from './queue-rig.ts';

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).toReversed()) await step();
});

async function start(options: QueueRigOptions = {}, reply?: ScriptedOptions['reply']) {
  const mx = await startScriptedSmtp(reply === undefined ? {} : { reply });
  undo.push(() => mx.stop());
  const rig = await startQueueRig({ ...options, delivery: { port: mx.port } });
  rig.names.set('example.com', 'MX', ['10 mx.example.com']);
  rig.names.set('mx.example.com', 'A', ['127.0.0.1']);
  return { rig, mx };
}

test('an attempt is marked for an hour, and is due in fifteen seconds if the process dies in it', async () => {
  const marks: BeginAttempt[] = [];
  const { rig } = await start({ faults: { begin: (begun) => void marks.push(...begun) } });
  undo.push(() => rig.stop());
  const now = rig.clock.steady();
  const made = await rig.accept(['ann@example.com']);
  rig.queue.offerAccepted([made]);
  await rig.attempted(made.message.id, 1);
  expect(marks).toEqual([
    {
      recipientId: made.recipients[0]?.id ?? '',
      owner: expect.stringMatching(/^[0-9a-f-]{36}$/),
      leaseUntil: now + 3_600_000,
      nextAttemptAt: now + 15_000,
      isFirst: false,
    },
  ]);
});

test('with 400 in its lines acceptance marks nothing ahead, with one less it does', async () => {
  const { rig } = await start({ queue: { concurrency: NO_ATTEMPTS } });
  undo.push(() => rig.stop());
  const markedAttempts = async (count: number): Promise<number | undefined> => {
    const to = Array.from({ length: count }, (_, at) => `r${at}@example.com`);
    const made = await rig.accept(to, {}, (message) => rig.queue.markAhead([message]));
    rig.queue.offerAccepted([made]);
    return made.recipients[0]?.attempts;
  };
  expect(await markedAttempts(399)).toBe(1);
  expect(rig.queue.counts()).toEqual({ inLines: 399, inFlight: 0 });
  expect([await markedAttempts(1), await markedAttempts(1)]).toEqual([1, 0]);
  rig.queue.setResting(true);
  expect(rig.queue.counts()).toEqual({ inLines: 401, inFlight: 0 });
});

const FAULTS = [
  [
    new StoreFullError('no space'),
    'queue_paused',
    'The disk is full. Free space on the disk of data_dir; the queue goes on by itself.',
  ],
  [
    new StoreAwayError('gone'),
    'queue_paused',
    'The database cannot be reached, or has no primary. Look at its server; the queue goes on by itself.',
  ],
  [
    new Error('a bug'),
    'claim_failed',
    'A fault of the appliance: the recipients stay queued and are claimed again in a moment. Please report it.',
  ],
] as const;

test('a store that fails is logged with what to do, and the mail goes out afterwards', async () => {
  let fail: (() => void) | null = null;
  const { rig } = await start({ faults: { begin: () => fail?.() } });
  undo.push(() => rig.stop());
  for (const [error] of FAULTS) {
    const made = await rig.accept(['ann@example.com']);
    const failed = Promise.withResolvers<undefined>();
    fail = () => {
      fail = null;
      failed.resolve(undefined);
      throw error;
    };
    rig.queue.offerAccepted([made]);
    await failed.promise;
    await rig.clock.advance(6_000);
    const [ann] = await rig.attempted(made.message.id, 1);
    expect(ann?.recipient).toMatchObject({ status: 'delivered', attempts: 1 });
  }
  const lines = rig.logLines.map((line) => JSON.parse(line) as { event: string });
  expect(lines.filter(({ event }) => event !== 'attempt')).toMatchObject(
    FAULTS.map(([{ message }, event, hint]) => ({
      level: 'error',
      event,
      error: { message },
      hint,
    })),
  );
});

test('a stop gives sessions that do not end 20 s, then ends them: what they carried waits for another attempt', async () => {
  const asked = Promise.withResolvers<undefined>();
  const { rig, mx } = await start({}, (line) => {
    if (!line.startsWith('MAIL')) return undefined;
    asked.resolve(undefined);
    return null;
  });
  undo.push(() => rig.stop());
  const { id } = await rig.send(['ann@example.com']);
  await asked.promise;
  const waits: number[] = [];
  const real = globalThis.setTimeout;
  const spy = spyOn(globalThis, 'setTimeout').mockImplementation(((
    fire: () => void,
    waitMs: number,
  ) => {
    waits.push(waitMs);
    return real(fire, waitMs === 20_000 ? 0 : waitMs);
  }) as typeof setTimeout);
  undo.push(() => spy.mockRestore());
  await rig.queue.stop();
  expect(waits).toContain(20_000);
  const [ann] = await rig.state(id);
  expect(ann?.recipient).toMatchObject({ status: 'delivery_delayed', attempts: 1 });
  expect(ann?.attempts).toMatchObject([{ outcome: 'deferred', stage: 'mail' }]);
  while (mx.connections > 0) await new Promise((resolve) => setImmediate(resolve));
});

test.each(['for a session', 'in a line'])(
  'a stop waits until what waited %s is given back to the next process',
  async (waited) => {
    const giving = Promise.withResolvers<undefined>();
    const written = Promise.withResolvers<undefined>();
    const { rig, mx } = await start(
      {
        faults: {
          finish({ isUnbegun }) {
            if (isUnbegun !== true) return undefined;
            giving.resolve(undefined);
            return written.promise;
          },
        },
      },
      (line) => (line.startsWith('MAIL') ? null : undefined),
    );
    undo.push(() => rig.stop());
    // A new lane has five sessions.
    const { id } = await rig.send(Array.from({ length: 6 }, (_, at) => `r${at}@example.com`));
    const mails = (): number => mx.lines.filter((line) => line.startsWith('MAIL')).length;
    // What is accepted is picked in a later round of the event loop.
    if (waited === 'in a line') rig.queue.setResting(true);
    else while (mails() < 5) await new Promise((resolve) => setTimeout(resolve, 1));
    let isStopped = false;
    const stopping = rig.queue.stop().then(() => (isStopped = true));
    mx.say('451 4.3.0 later\r\n');
    await giving.promise;
    // The store takes writes one after the other: the last one of a stop would be made by now.
    for (let writes = 0; writes < 3; writes += 1) await rig.accept(['bob@example.com']);
    expect(isStopped).toBe(false);
    written.resolve(undefined);
    await stopping;
    const attempts = (await rig.state(id)).map(({ recipient }) => recipient.attempts);
    expect(attempts.filter((count) => count === 0)).toHaveLength(waited === 'in a line' ? 6 : 1);
  },
);

test('a stop waits for the word of farewell of each receiver', async () => {
  const asked = Promise.withResolvers<undefined>();
  const { rig, mx } = await start({}, (line) => {
    if (line !== 'QUIT') return undefined;
    asked.resolve(undefined);
    return null;
  });
  undo.push(() => rig.stop());
  const { id } = await rig.send(['ann@example.com']);
  await rig.attempted(id, 1);
  await rig.idle();
  let isStopped = false;
  const stopping = rig.queue.stop().then(() => (isStopped = true));
  await asked.promise;
  // The store takes writes one after the other: the last one of a stop would be made by now.
  for (let writes = 0; writes < 3; writes += 1) await rig.accept(['bob@example.com']);
  expect(isStopped).toBe(false);
  mx.say('221 2.0.0 bye\r\n');
  await stopping;
});

test('a stop by force waits for no disk: what could not be written is due by the mark of its attempt', async () => {
  const { rig } = await start({
    faults: {
      finish() {
        throw new StoreFullError('no space');
      },
    },
  });
  undo.push(() => rig.stop());
  // Neither the time of a stop nor the pause of a full disk is waited for.
  const real = globalThis.setTimeout;
  const spy = spyOn(globalThis, 'setTimeout').mockImplementation(((
    fire: () => void,
    waitMs: number,
  ) => real(fire, [2_000, 20_000].includes(waitMs) ? 0 : waitMs)) as typeof setTimeout);
  undo.push(() => spy.mockRestore());
  const { id } = await rig.send(['ann@example.com']);
  const dueAt = rig.clock.steady() + 15_000;
  while (!rig.logLines.join().includes('queue_paused')) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  await rig.queue.stop();
  const [ann] = await rig.state(id);
  expect(ann?.recipient).toMatchObject({ status: 'queued', attempts: 1, nextAttemptAt: dueAt });
  expect(ann?.attempts).toEqual([]);
});

test('a stop of a queue at rest leaves no timer behind', async () => {
  const { rig } = await start();
  undo.push(() => rig.stop());
  const cleared: unknown[] = [];
  const made: unknown[] = [];
  const [arm, disarm] = [globalThis.setTimeout, globalThis.clearTimeout];
  const armed = spyOn(globalThis, 'setTimeout').mockImplementation(((
    fire: () => void,
    waitMs: number,
  ) => {
    const timer = arm(fire, waitMs);
    if (waitMs === 20_000) made.push(timer);
    return timer;
  }) as typeof setTimeout);
  const disarmed = spyOn(globalThis, 'clearTimeout').mockImplementation(((timer: Timer) => {
    cleared.push(timer);
    disarm(timer);
  }) as typeof clearTimeout);
  undo.push(() => {
    armed.mockRestore();
    disarmed.mockRestore();
  });
  await rig.queue.stop();
  expect(made).toHaveLength(1);
  expect(cleared).toContain(made[0]);
});
