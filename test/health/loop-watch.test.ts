/** The watch over the event loop: a tick that takes long is logged with what was under way. */
import { expect, test } from 'bun:test';
import { Activities } from '../../src/base/activities.ts';
import { Metrics } from '../../src/base/metrics.ts';
import { LoopWatch } from '../../src/health/loop-watch.ts';
import { Arrivals } from '../rig/arrivals.ts';
import { TestClock } from '../rig/clock.ts';

/** Uses `ms` of the processor, without giving the loop back, however busy the machine is. */
function block(ms: number): void {
  const used = (): number => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  };
  const until = used() + ms;
  while (used() < until);
}

const nextTick = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 40));

/** A watch whose clock has moved by `stepMs` at every look. */
function watch(stepMs: number) {
  const lines = new Arrivals<Record<string, unknown>>('log lines');
  const log = {
    info: (event: string, fields: object = {}) => lines.push({ event, ...fields }),
    error() {},
    warn: (event: string, fields: object = {}) => lines.push({ event, ...fields }),
  };
  const clock = new (class extends TestClock {
    #looks = 0;
    override steady(): number {
      return (this.#looks += 1) * stepMs;
    }
  })();
  const [doing, metrics] = [new Activities(), new Metrics()];
  return { lines, doing, metrics, watch: new LoopWatch({ clock, doing, log, metrics }) };
}

test('a tick that takes long is logged with what ran in it, and counted', async () => {
  const { lines, doing, metrics, watch: loop } = watch(60_000);
  loop.start();
  await nextTick();
  const waiting = doing.begin('a request that waits');
  const end = doing.begin('the work');
  block(400);
  end();
  const line = await lines.first(({ event }) => event === 'loop_blocked');
  loop.stop();
  waiting();
  expect(line).toMatchObject({ event: 'loop_blocked', what: 'the work, a request that waits' });
  expect(line['cpu_ms']).toBeGreaterThan(250);
  expect(await metrics.render()).toMatch(/^postrider_event_loop_blocked_total [1-9]/m);
});

test('what is late for less than the promise, or while others have the processor, is no warning', async () => {
  const { lines, watch: loop } = watch(60_000);
  loop.start();
  await nextTick();
  block(120);
  const line = await lines.first(({ cpu_ms: used }) => Number(used) >= 90);
  loop.stop();
  expect(line['event']).toBe('loop_late');
});

test('of many such ticks one is logged in ten seconds, and the others are numbered', async () => {
  const { lines, watch: loop } = watch(4_000);
  loop.start();
  await nextTick();
  for (let tick = 0; tick < 8; tick += 1) {
    block(150);
    await nextTick();
  }
  loop.stop();
  expect(lines.items.length).toBeGreaterThanOrEqual(2);
  const blocked =
    lines.items.length + lines.items.reduce((sum, line) => sum + Number(line['unsaid']), 0);
  expect(blocked).toBeGreaterThan(lines.items.length);
  expect(lines.items[0]).toMatchObject({ unsaid: 0 });
  expect(lines.items[1]).toMatchObject({ unsaid: 2 });
  // The number begins anew with each line.
  expect(lines.items[2]).toMatchObject({ unsaid: 2 });
});

test('names are bounded, each once', () => {
  const doing = new Activities();
  for (let at = 0; at < 100; at += 1) doing.begin(`work ${at % 10}`)();
  expect(doing.take()).toBe('work 0, work 1, work 2, work 3, work 4, work 5, 4 more');
  expect(doing.take()).toBe('');
});
