/** The watch over the event loop, tick by tick: what is late, by how much, and what of it is told. */
import { afterEach, beforeEach, expect, mock, spyOn, test } from 'bun:test';

import { Activities } from '../../src/base/activities.ts';
import { Metrics } from '../../src/base/metrics.ts';
import { LoopWatch } from '../../src/health/loop-watch.ts';
import { TestClock } from '../rig/clock.ts';

/** Milliseconds: of the machine, and what the thread has used of the processor. */
let time = { at: 0, cpu: 0 };
let tick: (() => void) | null = null;
let everyMs = 0;
/** How often its timer was set, and how often it was cleared. */
let armed = 0;
let cleared = 0;
/** Whether its timer keeps the process alive. */
let isHolding = false;

beforeEach(() => {
  time = { at: 1_000, cpu: 500 };
  spyOn(performance, 'now').mockImplementation(() => time.at);
  spyOn(process, 'threadCpuUsage').mockImplementation(() => {
    // Of user and system, in microseconds.
    return { user: time.cpu * 600, system: time.cpu * 400 };
  });
  spyOn(globalThis, 'setTimeout').mockImplementation(((work: () => void, ms: number) => {
    [tick, everyMs, isHolding, armed] = [work, ms, true, armed + 1];
    return { unref: () => void (isHolding = false) };
  }) as never);
  spyOn(globalThis, 'clearTimeout').mockImplementation(() => {
    [tick, cleared] = [null, cleared + 1];
  });
});
afterEach(() => mock.restore());

function started() {
  const lines: unknown[] = [];
  const say = (level: string) => (event: string, fields: object) =>
    void lines.push({ level, event, ...fields });
  const log = { info: say('info'), warn: say('warn'), error: say('error') } as never;
  const [clock, doing, metrics] = [new TestClock(), new Activities(), new Metrics()];
  const watch = new LoopWatch({ clock, doing, log, metrics });
  watch.start();
  /** A tick `ms` after the last one, of which the thread has used `cpu`. */
  const after = (ms: number, cpu: number): void => {
    time = { at: time.at + ms, cpu: time.cpu + cpu };
    tick?.();
  };
  const number = async (name: string): Promise<number> => {
    const text = await metrics.render();
    const line = text.split('\n').find((one) => one.startsWith(`${name} `));
    return Number(line?.split(' ')[1]);
  };
  return { watch, clock, doing, lines, after, number };
}

test('what is late by more than 50 ms is counted and told; the lag of every tick is measured', async () => {
  const { watch, lines, after, number } = started();
  expect([everyMs, isHolding]).toEqual([25, false]);
  // In time, early, late by exactly what may be.
  for (const ms of [25, 20, 75]) after(ms, 1);
  expect(lines).toEqual([]);
  expect(await number('postrider_event_loop_blocked_total')).toBe(0);
  after(75.6, 40.4);
  expect(lines).toEqual([
    {
      level: 'info',
      event: 'loop_late',
      ms: 51,
      cpu_ms: 40,
      what: 'mail under way, or the collection of garbage',
      unsaid: 0,
    },
  ]);
  expect(await number('postrider_event_loop_blocked_total')).toBe(1);
  expect(await number('postrider_event_loop_lag_seconds_count')).toBe(4);
  expect(await number('postrider_event_loop_lag_seconds_sum')).toBeCloseTo(0.1006, 6);
  watch.stop();
  expect(tick).toBeNull();
  watch.stop();
});

test('the thread is idle after four ticks of which it used less than a twentieth, until it uses more', () => {
  const { lines, doing, after } = started();
  const every = (count: number, ms: number, cpu: number): number => {
    for (let at = 0; at < count; at += 1) after(ms, cpu);
    return everyMs;
  };
  expect(every(3, 25, 1.24)).toBe(25);
  // The count begins anew.
  expect(every(1, 25, 1.26)).toBe(25);
  expect(every(3, 25, 1.24)).toBe(25);
  expect(every(1, 25, 1.24)).toBe(250);
  expect(isHolding).toBe(false);
  expect(every(5, 250, 12.4)).toBe(250);
  expect(every(1, 250, 12.6)).toBe(25);
  expect(every(3, 25, 0)).toBe(25);
  expect(every(1, 25, 0)).toBe(250);
  // However little it takes: what is under way may take more later.
  const end = doing.begin('a long wait');
  expect(every(50, 25, 0)).toBe(25);
  end();
  expect(every(4, 25, 0)).toBe(250);
  expect(lines).toEqual([]);
});

test('an idle thread is late by its slower timer; what begins and has a name is looked at as before', async () => {
  const { watch, lines, clock, doing, after } = started();
  for (let at = 0; at < 4; at += 1) after(25, 0);
  after(300, 0);
  expect(lines).toEqual([]);
  after(301, 0);
  expect(lines).toMatchObject([{ event: 'loop_late', ms: 51 }]);
  expect(everyMs).toBe(250);
  // Long after the last look: only from here on it counts.
  time = { at: time.at + 200, cpu: time.cpu + 100 };
  const slow = cleared;
  const end = doing.begin('the work');
  expect([everyMs, isHolding, cleared]).toEqual([25, false, slow + 1]);
  const before = armed;
  doing.begin('more')();
  expect(armed).toBe(before);
  await clock.advance(10_000);
  after(325, 260);
  expect(lines[1]).toMatchObject({ ms: 300, cpu_ms: 260, what: 'more, the work' });
  end();
  for (let at = 0; at < 4; at += 1) after(25, 0);
  expect(everyMs).toBe(250);
  const last = armed;
  watch.stop();
  doing.begin('after the end');
  expect([tick, armed]).toEqual([null, last]);
});

test('what begins in an idle thread, however short, ends its idleness for four looks', () => {
  const { lines, doing, after } = started();
  for (let at = 0; at < 8; at += 1) after(everyMs, 0);
  doing.begin('the work')();
  for (let at = 0; at < 3; at += 1) after(25, 0);
  expect(everyMs).toBe(25);
  after(25, 0);
  expect(everyMs).toBe(250);
  expect(lines).toEqual([]);
});

test('a warning is what used the processor for more than 250 ms, by its name', () => {
  for (const [cpu, level, event] of [
    [250, 'info', 'loop_late'],
    [251, 'warn', 'loop_blocked'],
    [2_000, 'warn', 'loop_blocked'],
  ] as const) {
    const { doing, lines, after } = started();
    doing.begin('what ended in time')();
    after(25, 1);
    doing.begin('the work')();
    after(425, cpu);
    const line = { level, event, ms: 400, cpu_ms: cpu, what: 'the work', unsaid: 0 };
    const hint = 'Work of the appliance stopped everything else for so long. Please report it.';
    expect(lines).toEqual([level === 'warn' ? { ...line, hint } : line]);
  }
});

test('one line in ten seconds, with how many were not told since', async () => {
  const { clock, lines, after, number } = started();
  after(200, 20);
  // By steady time: a wall clock that is set ends the ten seconds neither early nor late.
  clock.jump(60_000);
  await clock.advance(9_999);
  for (const ms of [200, 300]) after(ms, 20);
  await clock.advance(1);
  after(200, 20);
  clock.jump(-120_000);
  await clock.advance(10_000);
  after(200, 20);
  expect(lines.map((line) => (line as { unsaid: number }).unsaid)).toEqual([0, 2, 0]);
  // Measured from the start on.
  expect(lines[0]).toMatchObject({ ms: 175, cpu_ms: 20 });
  expect(await number('postrider_event_loop_blocked_total')).toBe(5);
});
