/** When another attempt may begin: beside one that takes long, after one that ended, and at a site that has just answered. */
import { afterEach, expect, spyOn, test } from 'bun:test';
import { createServer } from 'node:net';

import { NodeSession } from '../../../src/flow/node-session.ts';
import { OTHERS } from '../../../src/flow/pacing/provider-limits.ts';
import type { ConcurrencyLimits } from '../../../src/flow/pacing/concurrency.ts';
import { FakeNodes } from '../../rig/fake-nodes.ts';
import { startScriptedSmtp } from '../../rig/scripted-smtp.ts';
import type { ScriptedSmtp } from '../../rig/scripted-smtp.ts';
import { startQueueRig } from './queue-rig.ts';
import type { QueueRig, QueueRigOptions } from './queue-rig.ts';

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).toReversed()) await step();
});

/** In real time: longer than any test, and no other timer’s. */
const SLOW_MS = 77_777;

const limitsOf = (change: Partial<ConcurrencyLimits>): ConcurrencyLimits => ({
  attempts: 6,
  slowMs: SLOW_MS,
  slowMax: 9,
  reserved: 0,
  crowd: 99,
  crowdWaitMs: 9_999,
  unsigned: 9_999,
  ...change,
});

interface Hanging {
  rig: QueueRig;
  mx: ScriptedSmtp;
  /** Resolves when so many recipients were named to the receiver; those with `hangs` in their name get no reply. */
  named: (count: number) => Promise<string[]>;
  /** Lets everything that is ready run. */
  settle: () => Promise<void>;
}

async function start(options: QueueRigOptions): Promise<Hanging> {
  const mx = await startScriptedSmtp({
    reply: (line) => (line.startsWith('RCPT') && line.includes('hangs') ? null : undefined),
  });
  const rig = await startQueueRig({ ...options, delivery: { port: mx.port, ...options.delivery } });
  // The receiver ends first: what hangs at it would hold up the queue's end.
  undo.push(
    () => rig.stop(),
    () => mx.stop(),
  );
  for (const domain of ['a.example', 'b.example']) {
    rig.names.set(domain, 'MX', [`10 mx.${domain}`]);
    rig.names.set(`mx.${domain}`, 'A', ['127.0.0.1']);
  }
  const names = (): string[] =>
    mx.lines.flatMap((line) => /^RCPT TO:<(.*)@/.exec(line)?.[1] ?? []).sort();
  return {
    rig,
    mx,
    async named(count) {
      while (names().length < count) await new Promise((resolve) => setTimeout(resolve, 2));
      return names();
    },
    async settle() {
      for (let round = 0; round < 20; round += 1) await new Promise((next) => setImmediate(next));
    },
  };
}

/** The timers that say that an attempt takes long; none ends by itself. */
function slowTimers(): (() => void)[] {
  const timers: (() => void)[] = [];
  const real = globalThis.setTimeout;
  const spy = spyOn(globalThis, 'setTimeout').mockImplementation(((
    fire: () => void,
    waitMs: number,
  ) => {
    if (waitMs !== SLOW_MS) return real(fire, waitMs);
    timers.push(fire);
    return real(() => undefined, 0);
  }) as typeof setTimeout);
  undo.push(() => spy.mockRestore());
  return timers;
}

const to = Array.from({ length: 6 }, (_, at) => `hangs${at}@${at % 2 === 0 ? 'a' : 'b'}.example`);

test('beside an attempt that takes long another one of its account begins', async () => {
  const timers = slowTimers();
  const { rig, named, settle } = await start({ queue: { concurrency: limitsOf({}) } });
  await rig.send(to);
  await named(5);
  await settle();
  // One account may not have all six.
  expect(rig.queue.counts()).toEqual({ inLines: 1, inFlight: 5 });
  timers[0]?.();
  expect(await named(6)).toEqual(to.map((address) => address.replace(/@.*/, '')));
  expect(rig.queue.counts()).toEqual({ inLines: 0, inFlight: 6 });
});

test('after an attempt that ended the next one of its account begins', async () => {
  const { rig, mx, named, settle } = await start({ queue: { concurrency: limitsOf({}) } });
  const message = await rig.send(to);
  await named(5);
  await settle();
  expect(rig.queue.counts()).toEqual({ inLines: 1, inFlight: 5 });
  mx.say('550 5.7.1 no\r\n');
  await rig.attempted(message.id, 5);
  await named(6);
  expect(rig.queue.counts()).toEqual({ inLines: 0, inFlight: 1 });
});

/** Whether each outcome, in the order they were written, may wait for the next write. */
async function waits(attempts: number): Promise<Hanging & { mayWait: unknown[] }> {
  const mayWait: unknown[] = [];
  const hanging = await start({
    queue: { concurrency: limitsOf({ attempts }) },
    faults: { finish: (_, may) => mayWait.push(may) },
  });
  return { ...hanging, mayWait };
}

test('an outcome may wait for the next write when no other attempt is under way', async () => {
  const { rig, mx, named, mayWait } = await waits(6);
  const alone = await rig.send(['ann@a.example']);
  await rig.attempted(alone.id, 1);
  const hanging = await rig.send(['hangs@b.example']);
  await named(2);
  const beside = await rig.send(['bob@a.example']);
  await rig.attempted(beside.id, 1);
  mx.say('550 5.7.1 no\r\n');
  await rig.attempted(hanging.id, 1);
  expect(mayWait).toEqual([true, false, true]);
});

test('an outcome waits for nothing while a recipient is in line', async () => {
  const { rig, mayWait } = await waits(1);
  const message = await rig.send(['ann@a.example', 'bob@b.example', 'cat@a.example']);
  await rig.attempted(message.id, 3);
  expect(mayWait).toEqual([false, false, true]);
});

test('what waits for a site that has just answered takes no slot of unproven sites, also while its answer is written', async () => {
  const written = Promise.withResolvers<undefined>();
  const { rig, named, settle } = await start({
    queue: { concurrency: limitsOf({ attempts: 12, reserved: 10 }) },
    faults: { finish: () => written.promise },
  });
  undo.push(() => written.resolve(undefined));
  await rig.send(['hangs@b.example']);
  await named(1);
  await rig.send(['first@a.example', 'second@a.example', 'third@a.example']);
  // The first one has the last slot of those for unproven sites, and keeps it until its end is written.
  expect(await named(4)).toEqual(['first', 'hangs', 'second', 'third']);
  await settle();
  expect(rig.queue.counts()).toEqual({ inLines: 0, inFlight: 4 });
});

test('an unproven site is not tried while others of its kind have all slots that they may have', async () => {
  const { rig, mx, named, settle } = await start({
    queue: { concurrency: limitsOf({ attempts: 12, reserved: 11 }) },
  });
  await rig.send(['hangs@b.example']);
  await named(1);
  const message = await rig.send(['ann@a.example']);
  await settle();
  expect(rig.queue.counts()).toEqual({ inLines: 1, inFlight: 1 });
  mx.say('450 4.2.1 later\r\n');
  await rig.attempted(message.id, 1);
});

test('in a crowd of unproven sites one that does not greet is waited for as long as told', async () => {
  const { rig, mx } = await start({
    queue: { concurrency: limitsOf({ crowd: 1, crowdWaitMs: 20, unsigned: 9_999 }) },
  });
  const silent = createServer((socket) => void socket.on('error', () => undefined));
  await new Promise<void>((resolve) => silent.listen(mx.port, '127.0.0.67', resolve));
  undo.push(() => silent.close());
  rig.names.set('silent.example', 'A', ['127.0.0.67']);
  const message = await rig.send(['ann@silent.example']);
  // Without a crowd it has minutes.
  const [ann] = await rig.attempted(message.id, 1);
  expect(ann?.attempts[0]?.outcome).toBe('deferred');
  // A busy machine may not even connect in that time.
  expect(['connect', 'banner']).toContain(ann?.attempts[0]?.stage ?? '');
});

test('with a node less its part of the sessions is used at once by what waits for one', async () => {
  const nodes = new FakeNodes();
  nodes.live = 2;
  const relay = { ...OTHERS, name: 'Relay', mx: ['relay.example'], connections: 2 };
  const { rig, mx, named, settle } = await start({
    node: ({ clock, log }) =>
      NodeSession.begin(
        { id: 'this', name: 'n', directory: 'd', addresses: [], version: '1' },
        { nodes, clock, log, ended: () => undefined },
      ),
    delivery: { mode: 'smarthost', providers: [relay] },
  });
  const smarthost = { host: 'relay.example', port: mx.port, tls: 'none', username: '' } as const;
  Object.assign(rig.ctx.config.live.delivery, { smarthost: { ...smarthost, password: '' } });
  rig.names.set('relay.example', 'A', ['127.0.0.1']);
  await rig.send(['hangs1@a.example', 'hangs2@b.example']);
  await named(1);
  // The other one's look-up may take longer.
  while (rig.queue.counts().inFlight < 2) await settle();
  expect([mx.connections, rig.queue.counts().inFlight]).toEqual([1, 2]);
  nodes.live = 1;
  // The next beat comes within three seconds.
  await rig.clock.advance(3_000);
  expect(await named(2)).toEqual(['hangs1', 'hangs2']);
});
