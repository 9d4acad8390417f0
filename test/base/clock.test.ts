/** The machine's clock: waits that end although the wall clock is set back while they last. */
import { afterEach, expect, setSystemTime, spyOn, test } from 'bun:test';
import * as fs from 'node:fs';
import * as os from 'node:os';
import { uptime } from 'node:os';

import { systemClock, wallTime, wallTimeOrNull } from '../../src/base/clock.ts';

const HOUR_MS = 3_600_000;

afterEach(() => {
  setSystemTime();
});

const passed = (waitMs: number): Promise<void> =>
  new Promise((resolve) => void systemClock.after(waitMs, resolve));

test('a wait is not shorter than it was asked to be', async () => {
  const since = performance.now();
  await passed(30);
  expect(performance.now() - since).toBeGreaterThanOrEqual(29);
  await passed(0);
  await passed(-5);
});

test('a wait ends in time although the wall clock is set back by an hour', async () => {
  setSystemTime(new Date());
  const waiting = passed(30);
  setSystemTime(new Date(Date.now() - HOUR_MS));
  await waiting;
});

test('a wait that is cancelled never ends', async () => {
  let hasFired = false;
  const cancel = systemClock.after(5, () => (hasFired = true));
  cancel();
  await passed(20);
  expect(hasFired).toBe(false);
});

test('a wait keeps no process alive', async () => {
  const module = JSON.stringify(new URL('../../src/base/clock.ts', import.meta.url).href);
  const script = `import { systemClock, wallTime, wallTimeOrNull } from ${module}; systemClock.after(20_000, () => {});`;
  const child = Bun.spawn([process.execPath, '-e', script], { stderr: 'pipe' });
  const since = performance.now();
  expect([await child.exited, await child.stderr.text()]).toEqual([0, '']);
  expect(performance.now() - since).toBeLessThan(19_000);
});

test('a long wait looks at the time again within 30 seconds, a short one when it is over', () => {
  const arm = spyOn(globalThis, 'setTimeout');
  const asked = [29_000, 30_000, 3_600_000, -5].map((waitMs) => {
    systemClock.after(waitMs, () => undefined)();
    return Math.round(Number(arm.mock.lastCall?.[1]) / 1_000);
  });
  arm.mockRestore();
  expect(asked).toEqual([29, 30, 30, 0]);
});

test('a wait that is looked at before its end goes on for the rest, and ends once', () => {
  const arm = spyOn(globalThis, 'setTimeout');
  const steady = spyOn(performance, 'now').mockReturnValue(0);
  setSystemTime(new Date(0));
  let fired = 0;
  const cancel = systemClock.after(70_000, () => (fired += 1));
  const asked = (): unknown => arm.mock.lastCall?.[1];
  const look = (passedMs: number): void => {
    steady.mockReturnValue(passedMs);
    setSystemTime(new Date(passedMs));
    arm.mock.lastCall?.[0]();
  };
  expect(asked()).toBe(30_000);
  look(30_000);
  expect([asked(), fired]).toEqual([30_000, 0]);
  look(60_000);
  expect([asked(), fired]).toEqual([10_000, 0]);
  look(69_999);
  expect([asked(), fired]).toEqual([1, 0]);
  look(70_000);
  expect([arm.mock.calls.length, fired]).toEqual([4, 1]);
  expect(arm.mock.results.map(({ value }) => (value as NodeJS.Timeout).hasRef())).toEqual(
    Array.from({ length: 4 }, () => false),
  );
  cancel();
  for (const { value } of arm.mock.results) clearTimeout(value as NodeJS.Timeout);
  arm.mockRestore();
  steady.mockRestore();
});

test('a wait ends early where either of the two times is over', () => {
  const arm = spyOn(globalThis, 'setTimeout');
  const steady = spyOn(performance, 'now').mockReturnValue(0);
  let fired = 0;
  const begin = (): void => {
    setSystemTime(new Date(0));
    steady.mockReturnValue(0);
    systemClock.after(20_000, () => (fired += 1));
  };
  const look = (): void => arm.mock.lastCall?.[0]();
  begin();
  setSystemTime(new Date(20_000));
  look();
  expect(fired).toBe(1);
  begin();
  steady.mockReturnValue(20_000);
  look();
  expect(fired).toBe(2);
  for (const { value } of arm.mock.results) clearTimeout(value as NodeJS.Timeout);
  arm.mockRestore();
  steady.mockRestore();
});

test('a steady time is shown by the wall clock once that is 5 seconds away', () => {
  const clock = (aheadMs: number) => ({ now: () => 1_000_000 + aheadMs, steady: () => 1_000_000 });
  const shown = [0, 4_999, 5_000, -4_999, -5_000].map((aheadMs) => wallTime(clock(aheadMs), 70));
  expect(shown).toEqual([70, 70, 5_070, 70, -4_930]);
  expect([null, 70].map((at) => wallTimeOrNull(clock(9_000), at))).toEqual([null, 9_070]);
  expect(wallTime(clock(5_000.4), 70)).toBe(5_070);
});

test('steady time is in whole milliseconds', () => {
  const steady = spyOn(performance, 'now').mockReturnValue(1_234.567);
  expect(systemClock.steady()).toBe(Math.round(performance.timeOrigin + 1_234.567));
  steady.mockRestore();
});

test('uptime is in milliseconds, and the boot has an id of 32 digits', () => {
  expect(systemClock.uptime()).toBeGreaterThan(performance.now());
  expect(Math.abs(systemClock.uptime() / 1_000 - uptime())).toBeLessThan(5);
  const machine = spyOn(os, 'uptime').mockReturnValue(12_345.5);
  expect(systemClock.uptime()).toBe(12_345_500);
  machine.mockRestore();
  expect(systemClock.bootId()).toMatch(/^[0-9a-f]{32}$/);
});

test('the boot is that of the kernel, else what the unit was told, and nothing that is no id', () => {
  const [own, other] = ['0123456789abcdef0123456789ABCDEF'.toLowerCase(), 'f'.repeat(32)];
  const read = spyOn(fs, 'readFileSync');
  const kernelSays = (text: string | Error): void => {
    read.mockImplementation((() => {
      if (text instanceof Error) throw text;
      return text;
    }) as never);
  };
  const idWith = (given?: string): string | null => {
    if (given === undefined) delete process.env['POSTRIDER_BOOT_ID'];
    else process.env['POSTRIDER_BOOT_ID'] = given;
    return systemClock.bootId();
  };
  kernelSays('01234567-89ab-cdef-0123-456789abcdef\n');
  expect([idWith(), idWith(other)]).toEqual([own, own]);
  for (const none of ['', 'no id', 'f'.repeat(31), 'f'.repeat(33), new Error('ENOENT')]) {
    kernelSays(none);
    expect([idWith(), idWith(` ${other}\n`), idWith('x')]).toEqual([null, other, null]);
  }
  expect<unknown[] | undefined>(read.mock.calls[0]).toEqual([
    '/proc/sys/kernel/random/boot_id',
    'latin1',
  ]);
  read.mockRestore();
  delete process.env['POSTRIDER_BOOT_ID'];
});
