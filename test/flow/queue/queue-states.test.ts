/** What the queue does with accepted mail in each of its states: not started, at rest, told of another hand, stopped. */
import { afterEach, expect, test } from 'bun:test';

import { NodeSession } from '../../../src/flow/node-session.ts';
import { failByOperator } from '../../../src/flow/queue/operator.ts';
import type { NewMessage } from '../../../src/store/journey.ts';
import { FakeNodes } from '../../rig/fake-nodes.ts';
import { startScriptedSmtp } from '../../rig/scripted-smtp.ts';
import type { ScriptedSmtp } from '../../rig/scripted-smtp.ts';
import { dueRequest, newEndpoint } from '../../store/samples.ts';
import { NO_ATTEMPTS, startQueueRig } from './queue-rig.ts';
import type { QueueRig, QueueRigOptions } from './queue-rig.ts';

const HOUR_MS = 3_600_000;

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).toReversed()) await step();
});

async function start(options: QueueRigOptions = {}): Promise<{ rig: QueueRig; mx: ScriptedSmtp }> {
  const mx = await startScriptedSmtp();
  undo.push(() => mx.stop());
  const rig = await startQueueRig({ ...options, delivery: { port: mx.port } });
  undo.push(() => rig.stop());
  rig.names.set('example.com', 'MX', ['10 mx.example.com']);
  rig.names.set('mx.example.com', 'A', ['127.0.0.1']);
  return { rig, mx };
}

test('acceptance marks attempts ahead only while the queue runs and does not rest', async () => {
  const { rig } = await start({ isStarted: false });
  const marked = async (): Promise<number | undefined> => {
    const made = await rig.accept(['ann@example.com'], {}, (one) => rig.queue.markAhead([one]));
    return made.recipients[0]?.attempts;
  };
  const seen = [await marked()];
  await rig.queue.start();
  seen.push(await marked());
  rig.queue.setResting(true);
  seen.push(await marked());
  rig.queue.setResting(false);
  seen.push(await marked());
  await rig.queue.stop();
  seen.push(await marked());
  expect(seen).toEqual([0, 1, 0, 1, 0]);
});

test('what ended at its acceptance is put into no line', async () => {
  const { rig } = await start({ queue: { concurrency: NO_ATTEMPTS } });
  const made = await rig.accept(['ann@example.com', 'bob@example.com'], {}, ({ recipients }) => {
    const [ann] = recipients;
    if (ann !== undefined) Object.assign(ann, { status: 'suppressed', nextAttemptAt: null });
  });
  rig.queue.offerAccepted([made]);
  expect(rig.queue.counts()).toEqual({ inLines: 1, inFlight: 0 });
});

test('what another hand has ended is not mailed by its mark once the marks are forgotten', async () => {
  const { rig, mx } = await start();
  const message = await rig.send(['ann@example.com']);
  // Before the queue picks it: that happens in a later round of the event loop.
  rig.queue.setResting(true);
  expect(await failByOperator(rig.ctx, message.id, null)).toHaveLength(1);
  rig.queue.forgetMarks(message.accountId);
  rig.queue.setResting(false);
  const other = await rig.send(['bob@example.com']);
  await rig.attempted(other.id, 1);
  await rig.idle();
  expect(mx.lines.filter((line) => line.startsWith('RCPT'))).toEqual(['RCPT TO:<bob@example.com>']);
});

test('giving up an email, and deleting an account, leave the first attempts of all others the first', async () => {
  const { rig } = await start();
  const marked = async (...to: string[]): Promise<NewMessage> =>
    rig.accept(to, {}, (made) => rig.queue.markAhead([made]));
  const whole = await marked('ann@example.com', 'amy@example.com');
  const half = await marked('bob@example.com', 'ben@example.com');
  const other = await marked('cid@example.com');
  rig.queue.offerAccepted([whole, half, other]);
  // Before the queue picks them: that happens in a later round of the event loop.
  rig.queue.setResting(true);
  expect(await rig.queue.fail(whole.message.id)).toBe(2);
  expect(await rig.queue.fail(half.recipients[0]?.id ?? '')).toBe(1);
  rig.queue.forgetMarks('another account');
  rig.queue.setResting(false);
  await rig.attempted(half.message.id, 1);
  await rig.attempted(other.message.id, 1);
  await rig.idle();
  const settled = [whole, half, other].map(async ({ message: { id } }) =>
    (await rig.state(id)).map(({ recipient, attempts }) => [recipient.attempts, attempts.length]),
  );
  // Those given up keep the number that their acceptance gave them.
  expect(await Promise.all(settled)).toEqual([
    [
      [1, 0],
      [1, 0],
    ],
    [
      [1, 0],
      [1, 1],
    ],
    [[1, 1]],
  ]);
});

test('a stop ends the sessions that wait for more mail', async () => {
  const { rig, mx } = await start();
  const message = await rig.send(['ann@example.com']);
  await rig.attempted(message.id, 1);
  await rig.idle();
  expect(mx.lines).not.toContain('QUIT');
  await rig.queue.stop();
  expect(mx.lines.filter((line) => line === 'QUIT')).toHaveLength(1);
});

test('a node that stops keeps what is its own until its session ends', async () => {
  const { rig } = await start({
    node: ({ clock, log }) =>
      NodeSession.begin(
        { id: 'this', name: 'n', directory: 'd', addresses: [], version: '1' },
        { nodes: new FakeNodes(), clock, log, ended: () => undefined },
      ),
  });
  // Marked by an acceptance that has not told the queue of it yet.
  await rig.accept(['ann@example.com'], {}, (made) => rig.queue.markAhead([made]));
  await rig.queue.stop();
  const { store } = rig.ctx;
  const request = dueRequest('another', rig.clock.steady() + HOUR_MS / 2);
  expect((await store.takeDue(request)).ours).toEqual([]);
  await store.releaseLeases('this', rig.clock.now());
  expect((await store.takeDue(request)).ours).toHaveLength(1);
});

test('a queue hears of nodes that come and go', async () => {
  const nodes = new FakeNodes();
  const heard: string[] = [];
  const { rig } = await start({
    isStarted: false,
    async node({ clock, log }) {
      const session = await NodeSession.begin(
        { id: 'this', name: 'n', directory: 'd', addresses: [], version: '1' },
        { nodes, clock, log, ended: () => undefined },
      );
      const onLive = session.onLive.bind(session);
      session.onLive = (tell): void => {
        onLive(() => {
          heard.push('live');
          tell();
        });
      };
      return session;
    },
  });
  await rig.queue.start();
  nodes.live = 2;
  // The next beat comes within three seconds.
  await rig.clock.advance(4_000);
  expect(heard).toEqual(['live']);
});

test('what was just accepted is not read from the store, what has waited is; and marking attempts is timed', async () => {
  const reads: string[] = [];
  const { rig } = await start({
    faults: { read: (id) => void reads.push(id), begin: () => rig.clock.pass(2_000) },
  });
  // The wall clock has no part in it.
  rig.clock.jump(-3_600_000);
  const fresh = await rig.accept(['ann@example.com']);
  rig.queue.offerAccepted([fresh]);
  await rig.attempted(fresh.message.id, 1);
  expect(reads).toEqual([]);
  // Accepted by another process: a look finds it.
  const waited = await rig.accept(['bob@example.com']);
  await rig.clock.advance(60_000);
  await rig.attempted(waited.message.id, 1);
  expect(reads).toEqual([waited.message.id]);
  const text = await rig.ctx.metrics.render();
  expect(text).toContain('postrider_claim_seconds_sum{step="begin"} 4\n');
  expect(text).toContain('postrider_claim_seconds_count{step="begin"} 2\n');
});

test('the webhook calls of what is given up are handed over, one for each recipient', async () => {
  const { rig } = await start({ queue: { concurrency: NO_ATTEMPTS } });
  const { message } = await rig.accept(['ann@example.com', 'amy@example.com']);
  rig.ctx.subscribers.note(message.accountId);
  const endpoint = newEndpoint(message.accountId);
  await rig.ctx.store.createEndpoint(endpoint, 10);
  expect(await rig.queue.fail(message.id)).toBe(2);
  expect(rig.calls.map(({ endpointId }) => endpointId)).toEqual([endpoint.id, endpoint.id]);
});
