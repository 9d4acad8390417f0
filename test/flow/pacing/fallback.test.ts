/** When the smarthost stands in, and when mail goes directly again. */
import { describe, expect, test } from 'bun:test';

import { createLog } from '../../../src/base/log.ts';
import { Fallback } from '../../../src/flow/pacing/fallback.ts';
import { TestClock } from '../../rig/clock.ts';

const HOUR = 3_600_000;
const MINUTE = 60_000;

function start(hasSmarthost = true) {
  const clock = new TestClock();
  const lines: string[] = [];
  const log = createLog(
    (line) => lines.push(line),
    () => clock.now(),
  );
  return { clock, lines, fallback: new Fallback({ clock, log, hasSmarthost }) };
}

describe('a closed port 25', () => {
  test('is believed only when several sites were silent and none answered', () => {
    const { fallback, lines } = start();
    for (const key of ['a', 'b', 'a', 'b', 'a']) fallback.noteSilent(key);
    expect(fallback.isRelayed('a')).toBe(false);
    fallback.noteReached();
    fallback.noteSilent('c');
    expect(fallback.isRelayed('a')).toBe(false);
    for (const key of ['a', 'b']) fallback.noteSilent(key);
    expect(fallback.isRelayed('z')).toBe(true);
    expect(lines.filter((line) => line.includes('port_25_closed'))).toHaveLength(1);
  });

  test('is probed every ten minutes, and one answer opens it for every site', async () => {
    const { fallback, clock, lines } = start();
    for (const key of ['a', 'b', 'c']) fallback.noteSilent(key);
    expect(fallback.isRelayed('a')).toBe(true);
    expect(fallback.takeProbe('a')).toBe(false);
    await clock.advance(10 * MINUTE);
    // However often it is asked who is relayed, as after each attempt that began directly: the probe is still there.
    for (const key of ['a', 'b', 'c']) expect(fallback.isRelayed(key)).toBe(true);
    // A provider that refuses us would not be probed, so it does not use the probe up either.
    fallback.noteRefused('refuser', 'Refuser', '550 5.7.1 blocked');
    expect(fallback.takeProbe('refuser')).toBe(false);
    expect(fallback.takeProbe('a')).toBe(true);
    // It is one site's; mail for every other site still goes through the smarthost.
    expect(fallback.takeProbe('b')).toBe(false);
    expect(fallback.isRelayed('b')).toBe(true);
    fallback.noteReached();
    expect(fallback.isRelayed('b')).toBe(false);
    expect(fallback.takeProbe('b')).toBe(false);
    expect(lines.some((line) => line.includes('port_25_open'))).toBe(true);
  });

  test('without a smarthost is only said', () => {
    const { fallback, lines } = start(false);
    for (const key of ['a', 'b', 'c']) fallback.noteSilent(key);
    expect(fallback.isPortClosed).toBe(true);
    expect(fallback.isRelayed('a')).toBe(false);
    expect(lines.join()).toContain('configure delivery.smarthost');
  });
});

describe('a provider that refuses us', () => {
  test('is relayed to for hours, longer each time, and alone', async () => {
    const { fallback, clock } = start();
    const hours: number[] = [];
    for (let time = 0; time < 6; time += 1) {
      fallback.noteRefused('provider:Rig', 'Rig', '550 5.7.1 blocked');
      expect(fallback.isRelayed('mx:other')).toBe(false);
      const begin = clock.now();
      while (fallback.isRelayed('provider:Rig')) await clock.advance(HOUR);
      hours.push((clock.now() - begin) / HOUR);
    }
    expect(hours).toEqual([4, 8, 16, 32, 48, 48]);
  });

  test('that refuses again while it is relayed to neither lengthens that nor counts twice', async () => {
    const { fallback, clock, lines } = start();
    const refuse = (): void => fallback.noteRefused('provider:Rig', 'Rig', '550 5.7.1 blocked');
    refuse();
    await clock.advance(4 * HOUR - 1);
    refuse();
    expect(fallback.isRelayed('provider:Rig')).toBe(true);
    await clock.advance(1);
    expect(fallback.isRelayed('provider:Rig')).toBe(false);
    refuse();
    await clock.advance(8 * HOUR - 1);
    expect(fallback.isRelayed('provider:Rig')).toBe(true);
    await clock.advance(1);
    expect(fallback.isRelayed('provider:Rig')).toBe(false);
    expect(lines.filter((line) => line.includes('provider_relayed'))).toHaveLength(2);
  });

  test('is relayed to for that long whatever becomes of the wall clock, which says until when', async () => {
    const { fallback, clock, lines } = start();
    clock.jump(24 * HOUR);
    fallback.noteRefused('provider:Rig', 'Rig', '550 5.7.1 blocked');
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ until: '2026-01-16T16:00:00.000Z' });
    clock.jump(-48 * HOUR);
    await clock.advance(4 * HOUR - 1);
    expect(fallback.isRelayed('provider:Rig')).toBe(true);
    clock.jump(72 * HOUR);
    expect(fallback.isRelayed('provider:Rig')).toBe(true);
    await clock.advance(1);
    expect(fallback.isRelayed('provider:Rig')).toBe(false);
  });

  test('is relayed to although another one takes mail again', () => {
    const { fallback } = start();
    for (const key of ['a', 'b']) fallback.noteRefused(key, key, '550 5.7.1 blocked');
    fallback.noteTaken('a');
    expect(['a', 'b'].map((key) => fallback.isRelayed(key))).toEqual([false, true]);
  });

  test('gets its mail directly again once it took one', () => {
    const { fallback } = start();
    fallback.noteRefused('provider:Rig', 'Rig', '550 5.7.1 blocked');
    fallback.noteTaken('provider:Rig');
    expect(fallback.isRelayed('provider:Rig')).toBe(false);
  });
});

test('nothing is a probe while port 25 is open', () => {
  const { fallback } = start();
  expect(fallback.takeProbe('a')).toBe(false);
});

test('one site is probed ten minutes after the port was found closed, and then each ten minutes', async () => {
  const { clock, fallback } = start();
  // Ten minutes that have really passed: the wall clock is an hour behind.
  clock.jump(-3_600_000);
  for (const key of ['a', 'b', 'c']) fallback.noteSilent(key);
  const probes: number[] = [];
  for (let minute = 1; minute <= 31; minute += 1) {
    await clock.advance(MINUTE);
    if (fallback.takeProbe('a')) probes.push(minute);
    expect(fallback.takeProbe('b')).toBe(false);
  }
  expect(probes).toEqual([10, 20, 30]);
});

test('a provider that goes on refusing is relayed to for 4, 8, 16, 32 and then 48 hours', async () => {
  const { clock, fallback } = start();
  const hours: number[] = [];
  for (let time = 0; time < 6; time += 1) {
    fallback.noteRefused('a', 'A', 'refused');
    let lasted = 0;
    for (; fallback.isRelayed('a'); lasted += 1) await clock.advance(HOUR);
    hours.push(lasted);
  }
  expect(hours).toEqual([4, 8, 16, 32, 48, 48]);
});

test('each change is logged once, with what the operator can do and until when', async () => {
  const linesOf = (hasSmarthost: boolean): unknown[] => {
    const { clock, lines, fallback } = start(hasSmarthost);
    fallback.noteRefused('provider:Rig', 'Rig', '550 5.7.1 blocked');
    fallback.noteRefused('provider:Rig', 'Rig', 'again');
    for (const key of ['a', 'b', 'c', 'd', 'e', 'f']) fallback.noteSilent(key);
    clock.pass(MINUTE);
    fallback.noteReached();
    fallback.noteReached();
    return lines.map((line) => JSON.parse(line) as unknown);
  };
  const relayed = {
    time: '2026-01-15T12:00:00.000Z',
    level: 'warn',
    event: 'provider_relayed',
    provider: 'Rig',
    reason: '550 5.7.1 blocked',
    until: '2026-01-15T16:00:00.000Z',
  };
  const closed = (hint: string) => ({
    time: '2026-01-15T12:00:00.000Z',
    level: 'error',
    event: 'port_25_closed',
    hint,
  });
  const open = { time: '2026-01-15T12:01:00.000Z', level: 'info', event: 'port_25_open' };
  expect(linesOf(true)).toEqual([
    relayed,
    closed(
      'No mail host answers on port 25; mail goes through the smarthost until one does. Ask the network for port 25.',
    ),
    open,
  ]);
  expect(linesOf(false)).toEqual([
    closed(
      'No mail host answers on port 25. Ask the network to open it (postrider doctor says where), or configure delivery.smarthost.',
    ),
    open,
  ]);
});

test('after an answer the port counts as closed only when three further sites were silent', () => {
  const { fallback } = start();
  const closedAfter = (): number => {
    for (let sites = 1; ; sites += 1) {
      fallback.noteSilent(`site ${sites}`);
      if (fallback.isPortClosed) return sites;
    }
  };
  const first = closedAfter();
  // What is silent while it is closed does not count towards the next time.
  for (const key of ['x', 'y']) fallback.noteSilent(key);
  fallback.noteReached();
  expect([first, closedAfter()]).toEqual([3, 3]);
});
