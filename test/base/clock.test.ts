/** The machine's clock: waits that end although the wall clock is set back while they last. */
import { afterEach, expect, setSystemTime, test } from 'bun:test';

import { systemClock } from '../../src/base/clock.ts';

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
  const script = `import { systemClock } from ${module}; systemClock.after(20_000, () => {});`;
  const child = Bun.spawn([process.execPath, '-e', script], { stderr: 'pipe' });
  const since = performance.now();
  expect([await child.exited, await child.stderr.text()]).toEqual([0, '']);
  expect(performance.now() - since).toBeLessThan(19_000);
});
