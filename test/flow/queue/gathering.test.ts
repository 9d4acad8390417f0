/** Emails that are accepted one after another begin together, and one that comes alone begins at once. */
import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test';

import { Gathering } from '../../../src/flow/queue/gathering.ts';
import { startQueueWithMx } from './queue-rig.ts';

const undo: (() => unknown)[] = [];
/** Milliseconds since time was stopped, and what waits for it. */
let now = 0;
let timers: { at: number; fire: () => void }[] = [];

/** Timers of 15 to 40 ms, which are the gathering's: others, such as the writer's, run in real time. */
function stopTime(): void {
  const [real, end] = [globalThis.setTimeout, globalThis.clearTimeout];
  // What began before began long ago.
  const stoppedAt = performance.now() + 1_000;
  const set = spyOn(globalThis, 'setTimeout').mockImplementation(((
    fire: () => void,
    ms: number,
  ) => {
    if (ms > 40 || ms < 15) return real(fire, ms);
    const timer = { at: now + ms, fire };
    timers.push(timer);
    return timer;
  }) as typeof setTimeout);
  const clear = spyOn(globalThis, 'clearTimeout').mockImplementation(((timer: Timer) => {
    const at = timers.indexOf(timer as unknown as (typeof timers)[number]);
    if (at < 0) end(timer);
    else timers.splice(at, 1);
  }) as typeof clearTimeout);
  const time = spyOn(performance, 'now').mockImplementation(() => stoppedAt + now);
  undo.push(
    () => set.mockRestore(),
    () => clear.mockRestore(),
    () => time.mockRestore(),
  );
}

function pass(ms: number): void {
  now += ms;
  const due = timers.filter(({ at }) => at <= now);
  timers = timers.filter(({ at }) => at > now);
  for (const { fire } of due) fire();
}

beforeEach(() => {
  [now, timers] = [0, []];
});
afterEach(async () => {
  for (const step of undo.splice(0).toReversed()) await step();
});

function start() {
  stopTime();
  let ends = 0;
  const gathering = new Gathering(() => (ends += 1));
  return { gathering, ends: () => ends };
}

test('one that comes alone does not wait, nor does the next one 40 ms later', () => {
  const { gathering, ends } = start();
  gathering.noteAccepted();
  expect(gathering.holds(1)).toBe(false);
  pass(40);
  gathering.noteAccepted();
  expect([gathering.holds(1), timers.length, ends()]).toEqual([false, 0, 0]);
});

test('those that come at one moment wait for each other, and for nobody else', () => {
  const { gathering } = start();
  for (let count = 0; count < 3; count += 1) gathering.noteAccepted();
  expect([gathering.holds(3), timers.length]).toEqual([false, 0]);
  pass(20);
  gathering.noteAccepted();
  expect(gathering.holds(1)).toBe(true);
});

test('those that come sooner wait until 40 ms have passed since the last ones began', () => {
  const { gathering, ends } = start();
  gathering.noteAccepted();
  gathering.holds(1);
  pass(20);
  gathering.noteAccepted();
  gathering.noteAccepted();
  expect([gathering.holds(2), timers.map(({ at }) => at)]).toEqual([true, [40]]);
  pass(19);
  expect([gathering.holds(9), ends()]).toEqual([true, 0]);
  pass(1);
  // One that comes between the end of the wait and the beginning begins with them.
  gathering.noteAccepted();
  expect([gathering.holds(3), ends(), timers.length]).toEqual([false, 1, 0]);
  // Counted from these, not from the first.
  pass(10);
  gathering.noteAccepted();
  expect([gathering.holds(1), timers.map(({ at }) => at)]).toEqual([true, [80]]);
});

test('ten in line begin at once, and the next ones wait anew', () => {
  const { gathering, ends } = start();
  gathering.noteAccepted();
  gathering.holds(1);
  pass(5);
  gathering.noteAccepted();
  expect([gathering.holds(9), gathering.holds(10), timers.length]).toEqual([true, false, 0]);
  pass(10);
  gathering.noteAccepted();
  expect([gathering.holds(1), timers.map(({ at }) => at), ends()]).toEqual([true, [45], 0]);
});

test('an end leaves no timer, and ending twice changes nothing', () => {
  const { gathering, ends } = start();
  gathering.noteAccepted();
  gathering.holds(1);
  pass(5);
  gathering.noteAccepted();
  gathering.stop();
  gathering.stop();
  expect([gathering.holds(1), timers.length]).toEqual([false, 0]);
  pass(100);
  expect(ends()).toBe(0);
});

async function startQueue() {
  const { rig, mx, stop } = await startQueueWithMx([]);
  undo.push(stop);
  // The site is known from now on, and its session kept.
  const first = await rig.send(['first@example.com']);
  await rig.attempted(first.id, 1);
  await rig.idle();
  stopTime();
  return { rig, mx };
}

const round = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Recipients that the receiver was told. */
const told = (lines: readonly string[]): string[] =>
  lines.flatMap((line) => /^RCPT TO:<(\w+)@/.exec(line)?.[1] ?? []);

test('the queue begins with the second and third email together, marked and in line meanwhile', async () => {
  const { rig, mx } = await startQueue();
  const sent = [await rig.send(['one@example.com'])];
  await rig.attempted(sent[0]?.id ?? '', 1);
  await rig.idle();
  for (const name of ['two', 'three']) sent.push(await rig.send([`${name}@example.com`]));
  await round();
  await round();
  expect(rig.queue.counts()).toEqual({ inLines: 2, inFlight: 0 });
  const [waiting] = await rig.state(sent[1]?.id ?? '');
  expect([waiting?.recipient.status, waiting?.recipient.attempts]).toEqual(['queued', 1]);
  pass(40);
  await round();
  expect(rig.queue.counts()).toEqual({ inLines: 0, inFlight: 2 });
  for (const { id } of sent) await rig.attempted(id, 1);
  expect(told(mx.lines).toSorted()).toEqual(['first', 'one', 'three', 'two']);
});

test('an email for ten recipients waits for no others', async () => {
  const { rig } = await startQueue();
  const one = await rig.send(['one@example.com']);
  await rig.attempted(one.id, 1);
  const to = Array.from({ length: 10 }, (_, index) => `r${index}@example.com`);
  const { id } = await rig.send(to);
  const ended = await rig.attempted(id, 10);
  expect(ended.map(({ recipient }) => recipient.status)).toEqual(to.map(() => 'delivered'));
  expect(timers).toEqual([]);
});

test('a stop with emails that wait leaves them due at once', async () => {
  const { rig } = await startQueue();
  const one = await rig.send(['one@example.com']);
  await rig.attempted(one.id, 1);
  const { id } = await rig.send(['two@example.com']);
  await round();
  expect(timers).toHaveLength(1);
  await rig.queue.stop();
  expect(timers).toEqual([]);
  const [left] = await rig.state(id);
  expect(left?.recipient).toMatchObject({ status: 'queued', attempts: 0 });
  expect(left?.recipient.nextAttemptAt).toBeLessThanOrEqual(rig.clock.steady());
});
