/** How many messages wait for their signature at once: what would only wait behind them is not begun. */
import { afterEach, expect, spyOn, test } from 'bun:test';

import type { ConcurrencyLimits } from '../../../src/flow/pacing/concurrency.ts';
import { Arrivals } from '../../rig/arrivals.ts';
import { startScriptedSmtp } from '../../rig/scripted-smtp.ts';
import { startQueueRig } from './queue-rig.ts';
import type { QueueRigOptions } from './queue-rig.ts';

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).toReversed()) await step();
});

const LIMITS: ConcurrencyLimits = {
  attempts: 100,
  slowMs: 60_000,
  slowMax: 0,
  reserved: 0,
  crowd: 99,
  crowdWaitMs: 9_999,
  unsigned: 2,
};

/** A queue whose signatures are made when the test says so. */
async function start(faults: QueueRigOptions['faults'] = {}) {
  const mx = await startScriptedSmtp({});
  undo.push(() => mx.stop());
  const rig = await startQueueRig({
    queue: { concurrency: LIMITS },
    faults,
    delivery: { port: mx.port },
  });
  undo.push(() => rig.stop());
  rig.names.set('example.com', 'MX', ['10 mx.example.com']);
  rig.names.set('mx.example.com', 'A', ['127.0.0.1']);
  const asked = new Arrivals<() => void>('signatures asked for');
  const signing = spyOn(rig.ctx.signing, 'run').mockImplementation(async (task) => {
    await new Promise<void>((sign) => asked.push(sign));
    return task.bySelf();
  });
  undo.push(() => signing.mockRestore());
  /** Accepts one message; `isMarked`: its acceptance marks its attempts as begun. */
  const accept = (to: string[], isMarked: boolean) =>
    rig.accept(to, {}, (message) => {
      if (isMarked) rig.queue.markAhead([message]);
    });
  /** What else may be begun has asked by then: the loop goes round without anything to wait for. */
  const settle = async (): Promise<void> => {
    for (let round = 0; round < 50; round += 1) await new Promise((next) => setImmediate(next));
  };
  return { rig, accept, asked, settle };
}

test('what acceptance has marked is begun up to the limit, then one for each that is signed', async () => {
  const { rig, accept, asked, settle } = await start();
  const made = [];
  for (let n = 0; n < 5; n += 1) made.push(await accept([`r${n}@example.com`], true));
  rig.queue.offerAccepted(made);
  await asked.atLeast(2);
  await settle();
  expect([asked.items.length, rig.queue.counts()]).toEqual([2, { inLines: 3, inFlight: 2 }]);
  for (let signed = 0; signed < 5; signed += 1) {
    asked.items[signed]?.();
    await asked.atLeast(Math.min(signed + 3, 5));
  }
  for (const { message } of made) await rig.attempted(message.id, 1);
  expect(rig.queue.counts()).toEqual({ inLines: 0, inFlight: 0 });
});

test('what a commit marks first is begun in batches of eight times as many', async () => {
  const { rig, accept, asked, settle } = await start();
  const made = [];
  for (let n = 0; n < 18; n += 1) made.push(await accept([`r${n}@example.com`], false));
  rig.queue.offerAccepted(made);
  await asked.atLeast(16);
  await settle();
  expect([asked.items.length, rig.queue.counts()]).toEqual([16, { inLines: 2, inFlight: 16 }]);
  for (let signed = 0; signed < 18; signed += 1) {
    await asked.atLeast(signed + 1);
    asked.items[signed]?.();
  }
  for (const { message } of made) await rig.attempted(message.id, 1);
});

test('recipients that wait for a signature which is being made let other messages begin', async () => {
  const { rig, accept, asked } = await start();
  const many = await accept(
    ['a', 'b', 'c', 'd'].map((name) => `${name}@example.com`),
    true,
  );
  const other = await accept(['e@example.com'], true);
  rig.queue.offerAccepted([many, other]);
  await asked.atLeast(2);
  expect(rig.queue.counts()).toEqual({ inLines: 0, inFlight: 5 });
  for (const sign of asked.items) sign();
  for (const { message } of [many, other]) await rig.attempted(message.id, 1);
});

test('what ends without a signature lets another begin before its end is in the store', async () => {
  const written = Promise.withResolvers<undefined>();
  const { rig, accept, asked } = await start({ finish: () => written.promise });
  rig.names.set('nowhere.example', 'MX', ['0 .']);
  const gone = [];
  for (let n = 0; n < 6; n += 1) gone.push(await accept([`r${n}@nowhere.example`], true));
  const last = await accept(['ann@example.com'], true);
  rig.queue.offerAccepted([...gone, last]);
  await asked.atLeast(1);
  expect(rig.queue.counts()).toEqual({ inLines: 0, inFlight: 7 });
  for (const sign of asked.items) sign();
  written.resolve(undefined);
  for (const { message } of [...gone, last]) await rig.attempted(message.id, 1);
});
