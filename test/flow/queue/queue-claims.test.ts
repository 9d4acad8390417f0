/** What the queue begins when the store has changed meanwhile, and what an operator may end of what it has in memory. */
import { afterEach, expect, spyOn, test } from 'bun:test';

import { OutdatedError } from '../../../src/store/revision.ts';
import type { FinishAttempt } from '../../../src/store/journey.ts';
import { startScriptedSmtp } from '../../rig/scripted-smtp.ts';
import type { ScriptedSmtp } from '../../rig/scripted-smtp.ts';
import { NO_ATTEMPTS, startQueueRig } from './queue-rig.ts';
import type { QueueRig, QueueRigOptions } from './queue-rig.ts';

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).toReversed()) await step();
});

/** A receiver that answers all but recipients with `hangs` in their name. */
async function start(options: QueueRigOptions = {}): Promise<{ rig: QueueRig; mx: ScriptedSmtp }> {
  const mx = await startScriptedSmtp({
    reply: (line) => (line.startsWith('RCPT') && line.includes('hangs') ? null : undefined),
  });
  const rig = await startQueueRig({ ...options, delivery: { port: mx.port } });
  // The receiver ends first: what hangs at it would hold up the queue's end.
  undo.push(
    () => rig.stop(),
    () => mx.stop(),
  );
  rig.names.set('example.com', 'MX', ['10 mx.example.com']);
  rig.names.set('mx.example.com', 'A', ['127.0.0.1']);
  return { rig, mx };
}

test('attempts that are marked on what another node has changed are marked again on what is there now', async () => {
  let refusals = 2;
  const { rig } = await start({
    faults: {
      begin() {
        if ((refusals -= 1) >= 0) throw new OutdatedError();
      },
    },
  });
  const checked = spyOn(rig.ctx.revision, 'check');
  const made = await rig.accept(['ann@example.com']);
  rig.queue.offerAccepted([made]);
  const [ann] = await rig.attempted(made.message.id, 1);
  expect([ann?.recipient.status, ann?.recipient.attempts]).toEqual(['delivered', 1]);
  expect([checked.mock.calls.length, refusals]).toEqual([2, -1]);
  const events = rig.logLines.map((line) => (JSON.parse(line) as { event: string }).event);
  expect(events).toEqual(['attempt']);
  // Only the commit that stands is timed.
  const metrics = await rig.ctx.metrics.render();
  expect(metrics).toContain('postrider_claim_seconds_count{step="begin"} 1\n');
});

test('what another node has halted is given back unbegun, and is found when the halt ends', async () => {
  let halt: (() => void) | null = null;
  const { rig, mx } = await start({
    isStarted: false,
    faults: {
      begin() {
        if (halt === null) return;
        halt();
        halt = null;
        throw new OutdatedError();
      },
    },
  });
  const halted = Promise.withResolvers<undefined>();
  halt = () => {
    rig.queue.setResting(true);
    halted.resolve(undefined);
  };
  const made = await rig.accept(['ann@example.com']);
  // A look takes it: the next one would go on behind it.
  await rig.queue.start();
  await halted.promise;
  await rig.idle();
  expect([rig.queue.counts(), mx.lines]).toEqual([{ inLines: 0, inFlight: 0 }, []]);
  // The clock stands still: it is looked for at once.
  rig.queue.setResting(false);
  const [ann] = await rig.attempted(made.message.id, 1);
  expect([ann?.recipient.status, ann?.recipient.attempts]).toEqual(['delivered', 1]);
});

test('an operator ends nothing that is in an attempt, by message or recipient, and all else of the same message', async () => {
  const { rig, mx } = await start({ queue: { concurrency: { ...NO_ATTEMPTS, attempts: 2 } } });
  const made = await rig.accept(['hangs@example.com', 'ann@example.com']);
  const [hanging, ann] = made.recipients;
  rig.queue.offerAccepted([{ ...made, recipients: made.recipients.slice(0, 1) }]);
  while (!mx.lines.some((line) => line.startsWith('RCPT'))) await Bun.sleep(1);
  expect(await rig.queue.fail(hanging?.id ?? '')).toBe(0);
  expect(await rig.queue.fail(made.message.id)).toBe(1);
  expect(await rig.queue.fail(ann?.id ?? '')).toBe(0);
  mx.say('250 2.1.5 ok\r\n');
  const settled = await rig.attempted(made.message.id, 1);
  expect(settled.map(({ recipient }) => recipient.status)).toEqual(['delivered', 'failed']);
});

test('where nodes share the store an operator spares what others are at, and not what is this queue’s own', async () => {
  const ends: FinishAttempt[] = [];
  const { rig } = await start({
    queue: { concurrency: NO_ATTEMPTS },
    faults: { finish: (end) => ends.push(end) },
  });
  const taken = spyOn(rig.ctx.store, 'takeDue');
  undo.push(() => taken.mockRestore());
  Object.defineProperty(rig.ctx.revision, 'number', { value: 7 });
  const { message } = await rig.accept(['ann@example.com']);
  rig.clock.jump(-3_600_000);
  await rig.clock.advance(61_000);
  expect(await rig.queue.fail(message.id)).toBe(1);
  const owner = taken.mock.calls[0]?.[0].owner ?? '';
  expect(owner).toMatch(/^[0-9a-f-]{36}$/);
  expect(ends.map(({ spares }) => spares)).toEqual([{ owner, now: rig.clock.steady() }]);
});
