/** A queue whose node may have lost what it owns: nothing is begun, and nothing handed over, until it knows better. */
import { afterEach, expect, test } from 'bun:test';

import { NodeSession } from '../../../src/flow/node-session.ts';
import type { FinishAttempt } from '../../../src/store/journey.ts';
import { Arrivals } from '../../rig/arrivals.ts';
import { FakeNodes } from '../../rig/fake-nodes.ts';
import { startScriptedSmtp } from '../../rig/scripted-smtp.ts';
import type { ScriptedOptions, ScriptedSmtp } from '../../rig/scripted-smtp.ts';
import { startQueueRig } from './queue-rig.ts';
import type { QueueRig } from './queue-rig.ts';

const ended: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0).toReversed()) await end();
});

interface Stage {
  rig: QueueRig;
  nodes: FakeNodes;
  mx: ScriptedSmtp;
}

async function start(
  reply: ScriptedOptions['reply'],
  isNode = true,
  finish: (end: FinishAttempt) => unknown = () => undefined,
): Promise<Stage> {
  const mx = await startScriptedSmtp(reply === undefined ? {} : { reply });
  ended.push(() => mx.stop());
  const nodes = new FakeNodes();
  const rig = await startQueueRig({
    delivery: { port: mx.port },
    faults: { finish },
    ...(isNode && {
      node: ({ clock, log }) =>
        NodeSession.begin(
          { id: 'this', name: 'n', directory: 'd', addresses: [], version: '1' },
          { nodes, clock, log, ended: () => undefined },
        ),
    }),
  });
  ended.push(() => rig.stop());
  rig.names.set('a.example', 'MX', ['10 mx.a.example']);
  rig.names.set('mx.a.example', 'A', ['127.0.0.1']);
  return { rig, nodes, mx };
}

for (const isNode of [true, false]) {
  const what = isNode ? 'is not handed over by a node' : 'is by a process that has the store alone';
  test(`mail whose lease goes while the receiver is about to take it ${what}`, async () => {
    const stage: { rig?: QueueRig; nodes?: FakeNodes } = {};
    const { rig, nodes, mx } = await start((line) => {
      if (line !== 'DATA' || stage.nodes === undefined) return undefined;
      // As when the machine has slept, or the process was stopped.
      stage.nodes.isAway = true;
      stage.rig?.clock.jump(20_000);
      return undefined;
    }, isNode);
    Object.assign(stage, { rig, nodes });
    const { id } = await rig.send(['ann@a.example']);
    const [settled] = await rig.attempted(id, 1);
    expect(settled?.recipient.status).toBe(isNode ? 'delivery_delayed' : 'delivered');
    expect(mx.bodies).toHaveLength(isNode ? 0 : 1);
    // The receiver may hear of the end of a connection later than the store of that of the attempt.
    while (mx.connections > (isNode ? 0 : 1)) await Bun.sleep(1);
    expect(mx.connections).toBe(isNode ? 0 : 1);
  });
}

test('nothing is begun, or marked by acceptance, while the lease is over; all of it goes when it is regained', async () => {
  const { rig, nodes, mx } = await start(undefined);
  nodes.isAway = true;
  await rig.clock.advance(13_000);
  const { id } = await rig.send(['ann@a.example']);
  await rig.clock.advance(60_000);
  await rig.idle();
  const [before] = await rig.state(id);
  expect([before?.recipient.attempts, mx.lines]).toEqual([0, []]);
  nodes.isAway = false;
  await rig.clock.advance(2_000);
  const [after] = await rig.attempted(id, 1);
  expect([after?.recipient.status, after?.recipient.attempts]).toEqual(['delivered', 1]);
});

test('what waits for a session when the lease goes is neither begun nor dialled, and is due again', async () => {
  const { rig, nodes, mx } = await start((line) => (line.startsWith('MAIL') ? null : undefined));
  const mails = (): number => mx.lines.filter((line) => line.startsWith('MAIL')).length;
  // A new lane has five sessions.
  const to = Array.from({ length: 6 }, (_, at) => `r${at}@a.example`);
  const { id } = await rig.send(to);
  while (mails() < 5) await Bun.sleep(1);
  nodes.isAway = true;
  rig.clock.jump(20_000);
  mx.say('451 4.3.0 later\r\n');
  await rig.idle();
  const settled = await rig.state(id);
  const untried = settled.filter(({ attempts }) => attempts.length === 0);
  expect([mails(), untried.length]).toEqual([5, 1]);
  expect([untried[0]?.recipient, untried[0]?.events]).toMatchObject([
    { status: 'queued', attempts: 0, nextAttemptAt: rig.clock.steady() },
    [],
  ]);
});

test('what others accept is found within a second, and what a lost node had as soon as its session has ended', async () => {
  const { rig, nodes } = await start(undefined);
  await rig.clock.advance(5_000);
  const { message } = await rig.accept(['ann@a.example']);
  await rig.clock.advance(1_000);
  await rig.attempted(message.id, 1);
  // Due before the position that looks have reached.
  const lost = await rig.accept(['bob@a.example'], {}, ({ recipients }) => {
    for (const one of recipients) one.nextAttemptAt = rig.clock.steady() - 5_000;
  });
  await rig.clock.advance(2_000);
  nodes.endings = 'one';
  await rig.clock.advance(3_000);
  await rig.attempted(lost.message.id, 1);
});

for (const isNode of [true, false]) {
  const what = isNode ? 'carries no other message' : 'may carry the next one';
  test(`a session whose message has no end in the store yet ${what}`, async () => {
    const open = Promise.withResolvers<undefined>();
    const asked = new Arrivals<string>('ends that were asked for');
    const { rig, mx } = await start(undefined, isNode, () => {
      asked.push('end');
      return open.promise;
    });
    const first = await rig.send(['ann@a.example']);
    await asked.atLeast(1);
    const second = await rig.send(['bob@a.example']);
    await asked.atLeast(2);
    expect([mx.bodies.length, mx.connections]).toEqual([2, isNode ? 2 : 1]);
    open.resolve(undefined);
    for (const { id } of [first, second]) await rig.attempted(id, 1);
    await rig.idle();
    // Both carry on once their ends stand.
    await rig.attempted((await rig.send(['cy@a.example'])).id, 1);
    expect([mx.bodies.length, mx.connections]).toEqual([3, isNode ? 2 : 1]);
  });
}

test('sessions of messages whose ends the store does not take serve others all the same', async () => {
  const refused = new Arrivals<string>('ends that were refused');
  const { rig, mx } = await start(undefined, true, ({ attempt, recipientId }) => {
    if (attempt === null || refused.items.length === 6) return;
    refused.push(recipientId);
    throw new Error('a constraint failed');
  });
  // One more than a new lane has sessions.
  await rig.send(Array.from({ length: 6 }, (_, at) => `r${at}@a.example`));
  await refused.atLeast(6);
  await rig.idle();
  const { id } = await rig.send(['ann@a.example']);
  const [ann] = await rig.attempted(id, 1);
  expect([ann?.recipient.status, mx.bodies.length]).toEqual(['delivered', 7]);
});
